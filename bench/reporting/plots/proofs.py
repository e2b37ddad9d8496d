"""How long proofs take as pools grow, and where exact methods stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from bench.reporting.names import short_labels
from bench.reporting.plots.style import NUMBER, Style, entry, legend_below, panels, styles
from solvers.core.interface import Proof
from solvers.core.registry import solver_types

SHORTEST = 1e-3
"""Seconds; shorter runs are drawn here."""


def proof_times(runs: pd.DataFrame) -> pd.DataFrame:
    """`solver`, `gpus`, `seconds` (missing without a record) and `proven` of each run of a method that can prove."""
    exact = {name for name, kind in solver_types().items() if kind.proves in (Proof.OPTIMUM, Proof.OPTIMUM_AND_BOUND)}
    chosen = runs[runs["solver"].map(lambda label: label.partition("[")[0] in exact).astype(bool)]
    seconds = chosen["wall_s"].astype("float64").clip(lower=SHORTEST)
    return chosen[["solver", "gpus"]].assign(seconds=seconds, proven=chosen["status"].isin(("optimal", "infeasible")))


def proofs_by_size(times: pd.DataFrame) -> pd.DataFrame:
    """By `solver` and `gpus` the `share` of runs that end with a proof, and the median `seconds` to one.

    A run without a proof counts as never; the median is missing where it is one of those.
    """
    endless = times.assign(seconds=times["seconds"].where(times["proven"], np.inf))
    alike = endless.groupby(["gpus", "solver"], as_index=False)
    found = alike.agg(share=("proven", "mean"), seconds=("seconds", lambda own: own.quantile(0.5, "higher")))
    return found.assign(seconds=found["seconds"].where(np.isfinite(found["seconds"])))


def proofs_figure(runs: pd.DataFrame) -> Figure | None:
    """A panel for the time and one for the share of proofs; None without a run of an exact method that has a record."""
    times = proof_times(runs)
    if times["seconds"].isna().all():
        return None
    figure, (time, share) = panels(["each run; hollow: ended without a proof", "all runs"], (6.2, 4.2))
    look = styles(runs["solver"])
    draw_times(times, look, time)
    draw_shares(proofs_by_size(times), look, share)
    names, counts = short_labels(look), times.groupby("solver")["proven"].agg(["sum", "size"])
    shown = [solver for solver in look if solver in counts.index]
    texts = [f"{names[s]}: {counts['sum'][s]} of {counts['size'][s]} proven" for s in shown]
    legend_below(time, [entry(look[solver], text) for solver, text in zip(shown, texts, strict=True)])
    return figure


def draw_times(times: pd.DataFrame, look: dict[str, Style], ax: Axes) -> Axes:
    """A mark for each run, hollow where it ended without a proof, and a line through the medians of proofs.

    Solvers stand beside each other at one size, so that equal times stay visible.
    """
    shift = _shifts(times)
    for (solver, proven), own in times.groupby(["solver", "proven"], sort=False):
        style, x = look[str(solver)], own["gpus"] * shift[str(solver)]
        face = style.colour if proven else "none"
        mark: dict[str, Any] = {
            "marker": style.marker,
            "s": 26,
            "facecolor": face,
            "edgecolor": style.colour,
            "alpha": 0.6,
        }
        ax.scatter(x, own["seconds"], gid=f"{solver} {'proven' if proven else 'open'}", **mark)
    medians = proofs_by_size(times).dropna()
    _lines(medians.assign(gpus=medians["gpus"] * medians["solver"].map(shift)), "seconds", look, ax)
    ax.set_yscale("log")
    _sizes(times["gpus"], ax)
    ax.yaxis.set_major_formatter(NUMBER)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylabel("search seconds (log scale)")
    return ax


def draw_shares(proofs: pd.DataFrame, look: dict[str, Style], ax: Axes) -> Axes:
    """A line for each solver, which falls where its proofs stop."""
    shift = _shifts(proofs)
    shown = proofs.assign(gpus=proofs["gpus"] * proofs["solver"].map(shift))
    _lines(shown, "share", look, ax, clip_on=False)
    _sizes(proofs["gpus"], ax)
    ax.set(ylim=(0, 1.04), ylabel="share of runs that end with a proof")
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    return ax


def _lines(frame: pd.DataFrame, y: str, look: dict[str, Style], ax: Axes, **line: bool) -> None:
    for solver, own in frame.groupby("solver", sort=False):
        style = look[str(solver)]
        drawn = {"color": style.colour, "linestyle": style.line, "marker": style.marker, **line}
        sns.lineplot(own, x="gpus", y=y, estimator=None, legend=False, ax=ax, **drawn)


def _shifts(frame: pd.DataFrame) -> dict[str, float]:
    """By solver, the factor by which its marks stand to the right of their size."""
    solvers = list(dict.fromkeys(frame["solver"]))
    sizes = frame["gpus"]
    step = (1.3 * sizes.max() / sizes.min()) ** 0.01
    return {solver: step ** (place - (len(solvers) - 1) / 2) for place, solver in enumerate(sorted(solvers))}


def _sizes(gpus: pd.Series[int], ax: Axes) -> None:
    """An axis of pool sizes with no more of them named than there is room for."""
    sizes = sorted(set(gpus))
    named = [sizes[0]]
    for size in sizes[1:]:
        named += [size] if size >= named[-1] * (sizes[-1] / sizes[0]) ** (1 / 20) else []
    margin = (1.3 * sizes[-1] / sizes[0]) ** 0.05
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(named))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(NUMBER)
    ax.set(xlabel="GPUs (log scale)", xlim=(sizes[0] / margin, sizes[-1] * margin))
