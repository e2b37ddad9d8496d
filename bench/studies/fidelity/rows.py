"""A measured iteration beside its predictions, and how good these are over many."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from scipy.stats import spearmanr

from bench.simulation.draws import share_in_order


@dataclass(frozen=True)
class Measured:
    """One measured iteration, by its seconds or by what `unit` says.

    `why_unscored` says what a row was used for, or why its source's notes rule it out; such rows are not scored.
    """

    source: str
    name: str
    measured: float
    predicted: float
    why_unscored: str = ""
    unit: str = "s"
    other: float | None = None  # the source's own prediction, or that of other rules

    @property
    def error(self) -> float:
        """(predicted - measured) / measured."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True)
class Score:
    """Over the scored rows of a source: mean absolute error and bias are shares of what was measured."""

    source: str
    rows: int
    error: float
    bias: float
    spearman: float
    pairs_in_order: float
    other_error: float | None  # of `other`


def score_of(source: str, rows: Sequence[Measured]) -> Score:
    """The score of a source's rows."""
    scored = [row for row in rows if not row.why_unscored]
    measured, predicted = (np.array([getattr(row, key) for row in scored]) for key in ("measured", "predicted"))
    others = [abs(row.other / row.measured - 1) for row in scored if row.other is not None]
    return Score(
        source=source,
        rows=len(scored),
        error=float(np.mean([abs(row.error) for row in scored])),
        bias=float(np.mean([row.error for row in scored])),
        spearman=float(spearmanr(measured, predicted).statistic),
        pairs_in_order=share_in_order(measured, predicted),
        other_error=float(np.mean(others)) if others else None,
    )


@cache
def table(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a data file as text by column."""
    text = files("bench.studies.fidelity").joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))
