"""How good the best plan so far is after so many seconds of search."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from bench.reporting.metrics import optimality_gap
from bench.reporting.names import short_labels
from bench.reporting.plots.style import (
    NUMBER,
    Style,
    draw_marks,
    draw_steps,
    gap_axis,
    legend_above,
    panels,
    plain,
    size_ranges,
    styles,
)
from solvers.core.gap import OPTIMAL_GAP

FIRST = 1e-3
"""Seconds; what is found sooner is drawn here."""
MOST_BANDS = 4
"""Solvers of a panel that have a band, those that end best; the bands of more would hide each other."""
COLUMNS = ["gpus", "size", "solver", "seconds", "gap", "low", "high"]


def median_gaps(runs: pd.DataFrame, traces: pd.DataFrame) -> pd.DataFrame:
    """Gap to the best known value, median and quartiles over all runs of a solver at one size, until the last run ends.

    `size` is what `size_ranges` calls the size, and `gpus` the least number of GPUs in it.
    A run without a plan so far counts as infinitely bad; rows are left out until half the runs have a plan.
    Solvers without a trace and problems of which no plan is known are left out.
    """
    keys = ["instance", "objective", "solver", "seed"]
    known = runs.assign(size=size_ranges(runs["gpus"]))[runs["best_value"].notna()]
    points = traces.merge(known[[*keys, "best_value", "size"]], on=keys)
    points["gap"] = optimality_gap(points["value"], points["best_value"])
    points["gap"] = points["gap"].where(points["gap"] > OPTIMAL_GAP, 0.0)
    # More digits are not seen, and would make a table of all moments and runs.
    points["seconds"] = points["seconds"].clip(lower=FIRST).map(lambda seconds: float(f"{seconds:.3g}"))
    found = []
    for (size, solver), own in points.groupby(["size", "solver"], sort=False):
        of = known[(known["size"] == size) & (known["solver"] == solver)]
        so_far = own.pivot_table(
            index="seconds", columns=["instance", "objective", "seed"], values="gap", aggfunc="min"
        )
        gaps = np.full((len(so_far), len(of)), np.inf)
        gaps[:, : so_far.shape[1]] = so_far.ffill().fillna(np.inf)
        quartiles = {
            "gap": np.median(gaps, axis=1),
            "low": np.quantile(gaps, 0.25, axis=1, method="lower"),
            "high": np.quantile(gaps, 0.75, axis=1, method="higher"),
        }
        whose = {"gpus": of["gpus"].min(), "size": size, "solver": solver}
        rows = pd.DataFrame({**whose, "seconds": so_far.index, **quartiles})
        rows = rows[np.isfinite(rows["gap"])]
        end = max(own["seconds"].max(), of["wall_s"].max())
        found += [rows, rows.tail(1).assign(seconds=end)]
    return pd.concat(found)[COLUMNS] if found else pd.DataFrame(columns=COLUMNS)


def anytime_figure(runs: pd.DataFrame, traces: pd.DataFrame) -> Figure | None:
    """A panel for each size of instance or range of sizes, so that solvers are compared on much the same problems."""
    medians = median_gaps(runs, traces)
    if medians.empty:
        return None
    look, names = styles(runs["solver"]), short_labels(runs["solver"])
    sizes = list(dict.fromkeys(medians.sort_values("gpus", kind="stable")["size"]))
    figure, axes = panels(sizes, (4.2, 3.2), sharey=True)
    for ax, size in zip(axes, sizes, strict=True):
        own = medians[medians["size"] == size]
        draw_anytime(own, look, ax)
        asked = runs.loc[size_ranges(runs["gpus"]).eq(size) & (runs["objective"] != "front"), "solver"]
        absent = [names[solver] for solver in dict.fromkeys(asked) if solver not in set(own["solver"])]
        ax.set(ylabel="", xlabel=fill(plain(f"n/a, too few plans: {', '.join(absent)}"), 54) if absent else "")
        ax.xaxis.label.set_fontsize(8)
    axes[0].set_ylim(0, max(1.0, 1.3 * medians["gap"].max()))
    legend_above(figure, look, medians["solver"])
    figure.supxlabel("search seconds (log scale)", fontsize=9)
    figure.supylabel("median gap to the best known value", fontsize=9)
    return figure


def draw_anytime(medians: pd.DataFrame, look: dict[str, Style], ax: Axes) -> Axes:
    """A falling step curve per solver, from when half its runs have a plan to when its last run ended."""
    ends = medians.drop_duplicates("solver", keep="last").sort_values("gap", kind="stable")
    for solver, rows in medians[medians["solver"].isin(ends["solver"].head(MOST_BANDS))].groupby("solver"):
        shade: dict[str, Any] = {"color": look[str(solver)].colour, "alpha": 0.12, "linewidth": 0}
        ax.fill_between(rows["seconds"], rows["low"], rows["high"].clip(upper=1e9), step="post", **shade)
    draw_steps(medians, "seconds", "gap", look, ax)
    draw_marks(medians.drop_duplicates("solver", keep="last"), "seconds", "gap", look, ax)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(NUMBER)
    ax.xaxis.set_minor_locator(NullLocator())
    gap_axis(ax, "y", linear_decades=0.4)
    return ax
