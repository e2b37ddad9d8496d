"""How good the best plan so far is after so many seconds of search."""

from __future__ import annotations

from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from bench.reporting.plots.style import NUMBER, PERCENT, Style, legend_above, plain, styles, tidy
from bench.runs.judge import OPTIMALITY_GAP

SHOWN_FROM = 1e-4
FIRST = 1e-3
"""Seconds; what is found sooner is drawn here."""


def median_gaps(runs: pd.DataFrame, traces: pd.DataFrame) -> pd.DataFrame:
    """Gap to the best known value, median over all runs of a solver at one size, whenever it changes.

    A run without a plan so far counts as infinitely bad; rows are left out until half the runs have a plan.
    Solvers without a trace and problems of which no plan is known are left out.
    """
    keys = ["instance", "objective", "solver", "seed"]
    known = runs[runs["best_value"].notna()]
    points = traces.merge(known[[*keys, "best_value"]], on=keys)
    points["gap"] = (points["value"] / points["best_value"] - 1).clip(lower=0)
    points["run"] = points["instance"] + "\n" + points["objective"] + "\n" + points["seed"].astype(str)
    rows = []
    for (gpus, solver), own in points.groupby(["gpus", "solver"], sort=False):
        of = known[(known["gpus"] == gpus) & (known["solver"] == solver)]
        so_far = dict.fromkeys(range(len(of)), np.inf)
        place = {run: number for number, run in enumerate(dict.fromkeys(own["run"]))}
        end = max(own["seconds"].max(), of["wall_s"].max())
        for point in own.sort_values("seconds").itertuples():
            so_far[place[str(point.run)]] = float(point.gap)  # type: ignore[arg-type]
            median = float(np.median(list(so_far.values())))
            if np.isfinite(median):
                rows.append({"gpus": gpus, "solver": solver, "seconds": point.seconds, "gap": median, "end": end})
    return pd.DataFrame(rows, columns=["gpus", "solver", "seconds", "gap", "end"])


def anytime_figure(runs: pd.DataFrame, traces: pd.DataFrame) -> Figure | None:
    """A panel for each size of instance, so that solvers are compared on much the same problems."""
    medians = median_gaps(runs, traces)
    if medians.empty:
        return None
    look = styles(runs["solver"])
    sizes = sorted(set(medians["gpus"]))
    across = min(3, len(sizes))
    down = ceil(len(sizes) / across)
    figure = Figure(figsize=(max(6.5, 4.2 * across), 0.6 + 3.2 * down), layout="constrained")
    panels = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
    for ax, size in zip(panels, sizes, strict=False):
        own = medians[medians["gpus"] == size]
        draw_anytime(own, look, ax)
        ax.set_title(f"{size} GPUs", fontsize=9, loc="left")
        asked = runs.loc[(runs["gpus"] == size) & (runs["objective"] != "front"), "solver"]
        absent = [solver for solver in dict.fromkeys(asked) if solver not in set(own["solver"])]
        if absent:
            ax.set_xlabel(plain(f"n/a, too few plans: {', '.join(absent)}"), fontsize=8)
    for ax in panels[len(sizes) :]:
        ax.remove()
    legend_above(figure, 6)
    figure.supxlabel("search seconds (log scale)", fontsize=9)
    figure.supylabel("median gap to the best known value", fontsize=9)
    return figure


def draw_anytime(medians: pd.DataFrame, look: dict[str, Style], ax: Axes) -> Axes:
    """A falling staircase per solver, from when half its runs have a plan to when its last run ended."""
    solvers = list(dict.fromkeys(medians["solver"]))
    for number, solver in enumerate(solvers):
        own = medians[medians["solver"] == solver]
        xs = np.append(own["seconds"], own["end"].iloc[-1]).clip(min=FIRST)
        ys = np.append(own["gap"], own["gap"].iloc[-1])
        ys[ys <= OPTIMALITY_GAP] = 0.0
        ax.step(
            xs,
            ys,
            where="post",
            color=look[solver].colour,
            linestyle=look[solver].dashes,
            marker=look[solver].marker,
            markevery=[len(xs) - 1],
            markersize=6,
            linewidth=1.6 + 0.6 * (len(solvers) - 1 - number),
            label=plain(solver),
            clip_on=False,
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(NUMBER)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_yscale("symlog", linthresh=SHOWN_FROM, linscale=0.4)
    ax.yaxis.set_major_locator(FixedLocator([0, *(SHOWN_FROM * 10**power for power in range(8))]))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(PERCENT)
    ax.set_ylim(0, max(ax.get_ylim()[1], 1.3 * medians["gap"].max(), 10 * SHOWN_FROM))
    return tidy(ax)
