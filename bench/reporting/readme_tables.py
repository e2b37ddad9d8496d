"""The tables of README.md, from results that are kept: a run folder and the hardness of the suites."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bench.reporting.formatting import NOTHING, markdown, percent, significant
from bench.reporting.frames import runs_table, summary_table, with_truth
from bench.runs.judge import OPTIMALITY_GAP
from bench.runs.store import Store
from solvers.core.interface import Proof
from solvers.core.registry import solver_types

HEADLINE = ("instance", "GPUs", "objective", "solver", "time [s]", "energy [kJ]", "gap", "time saved", "energy saved")
HARDNESS = (
    "suite",
    "family",
    "problems",
    "GPUs",
    "proven",
    "1/4 left out",
    "pipelines > 1",
    "left out",
    "compute spread",
    "bandwidth spread",
    "memory slack",
    "comm/comp",
    "megatron gap",
    "contiguous gap",
)
QUARTER = 0.25


def headline_table(folder: Path) -> str:
    """A run folder in brief: a row per instance, objective and heuristic; the exact methods speak through the gap."""
    store = Store(folder)
    runs = with_truth(runs_table(store.asked()["runs"], store.records()))
    exact = {name for name, solver in solver_types().items() if solver.proves is not Proof.NOTHING}
    rows = [row for row in summary_table(runs).to_dict("records") if row["solver"].partition("[")[0] not in exact]
    return markdown(HEADLINE, [_headline(row) for row in rows], [name not in _TEXT for name in HEADLINE])


def hardness_table(file: Path) -> str:
    """The file of `make hardness` in brief: a row per suite and family, counts and medians."""
    table = pd.read_csv(file)
    table["family"] = table["instance"].str.partition("-")[0]
    rows = [
        _hardness(str(suite), str(family), group)
        for (suite, family), group in table.groupby(["suite", "family"], sort=False)
    ]
    return markdown(HARDNESS, rows, [name not in _TEXT for name in HARDNESS])


_TEXT = ("instance", "objective", "solver", "suite", "family")


def _headline(row: Mapping[Any, Any]) -> list[str]:
    return [
        row["instance"],
        str(row["gpus"]),
        row["objective"],
        row["solver"],
        significant(row["time_s"]),
        significant(row["energy_j"] / 1000),
        _gap(row["optimality_gap"]),
        percent(row["time_saving"], signed=True),
        percent(row["energy_saving"], signed=True),
    ]


def _gap(gap: float) -> str:
    """To the proven optimum; a value that is one says so."""
    if pd.isna(gap):
        return NOTHING
    return "= optimum" if gap <= OPTIMALITY_GAP else percent(gap)


def _hardness(suite: str, family: str, group: pd.DataFrame) -> list[str]:
    smallest, largest = group["gpus"].min(), group["gpus"].max()
    middle = group.median(numeric_only=True)
    return [
        suite,
        family,
        str(len(group)),
        str(smallest) if smallest == largest else f"{smallest}-{largest:,}",
        str((group["known"] == "optimum").sum()),
        str((group["left_out"] >= QUARTER).sum()),
        str((group["pipelines"] > 1).sum()),
        percent(middle["left_out"]),
        significant(middle["compute_spread"], 3),
        significant(middle["bandwidth_spread"], 3),
        percent(middle["memory_slack"]),
        significant(middle["communication"], 3),
        percent(middle["megatron_gap"]),
        percent(middle["contiguous_gap"]),
    ]
