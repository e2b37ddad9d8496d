"""How many of a solver's runs come within a gap of the optimum, or of the best known value."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from bench.reporting.plots.style import PERCENT, Style, plain, styles, tidy
from bench.runs.judge import OPTIMALITY_GAP

SHOWN_FROM = 1e-4
"""Gaps below this share the linear piece of the axis with the exact hits at 0."""
KINDS = {
    "optimality_gap": ("optimum", "gap to the proven optimum"),
    "best_known_gap": ("best_value", "gap to the best known value, optimum not proven"),
}


def gap_shares(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The runs that each panel counts, all of them, with the column `gap`; empty where it counts none.

    A problem is counted once: against its optimum if that is proven, else against the best value known. A problem
    of which no plan is known has no gap, and a front none either.
    """
    proven = runs["optimum"].notna()
    chosen = {"optimality_gap": proven, "best_known_gap": ~proven & runs["best_value"].notna()}
    return {measure: runs[rows].assign(gap=runs.loc[rows, measure]) for measure, rows in chosen.items()}


def gaps_figure(runs: pd.DataFrame) -> Figure | None:
    """One panel for proven optima, one for best known values; a panel without a problem is left out and said so."""
    counted = gap_shares(runs)
    shown = {measure: rows for measure, rows in counted.items() if len(rows)}
    if not shown:
        return None
    look = styles(runs["solver"])
    figure = Figure(figsize=(max(7.0, 5.6 * len(shown)), 4.8), layout="constrained")
    for ax, (measure, rows) in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown.items(), strict=True):
        draw_gaps(rows, look, ax)
        ax.set_xlabel(KINDS[measure][1])
        number = _problems(rows)
        ax.set_title(f"{number} problem{'s' if number != 1 else ''} (instance and objective)", fontsize=9, loc="left")
    notes = [f"{KINDS[measure][1]}: n/a, there is no such problem" for measure in counted if measure not in shown]
    unknown = _problems(runs[runs["best_value"].isna() & (runs["objective"] != "front")])
    notes += [f"n/a, as no plan is known: {unknown} problem{'s' if unknown != 1 else ''}"] if unknown else []
    figure.supxlabel("\n".join(notes), fontsize=8, x=0.01, ha="left")
    return figure


def draw_gaps(rows: pd.DataFrame, look: dict[str, Style], ax: Axes) -> Axes:
    """A staircase per solver; what has no plan stays below the top for ever."""
    most = max(1.2 * rows["gap"].max(), 10 * SHOWN_FROM)
    solvers = list(dict.fromkeys(rows["solver"]))
    for number, solver in enumerate(solvers):
        own = rows.loc[rows["solver"] == solver, "gap"]
        gaps = np.sort(own.dropna().to_numpy())
        gaps[gaps <= OPTIMALITY_GAP] = 0.0
        xs = np.concatenate([[0.0], gaps, [most]])
        ys = np.concatenate([[0], np.arange(1, len(gaps) + 1), [len(gaps)]]) / len(own)
        # Staircases that coincide stay visible: the later ones are thinner.
        ax.step(
            xs,
            ys,
            where="post",
            color=look[solver].colour,
            linestyle=look[solver].dashes,
            linewidth=1.5 + 0.7 * (len(solvers) - 1 - number),
            marker=look[solver].marker,
            markevery=[hits] if (hits := int((gaps == 0).sum())) else [],
            markersize=7,
            markeredgecolor="white",
            markeredgewidth=0.6,
            clip_on=False,
            label=plain(f"{solver}: {len(gaps)} of {len(own)}"),
        )
    ax.set_xscale("symlog", linthresh=SHOWN_FROM, linscale=0.8)
    ax.set_xlim(-SHOWN_FROM / 4, most)
    powers = [SHOWN_FROM * 10**power for power in range(12) if SHOWN_FROM * 10**power <= most]
    ax.xaxis.set_major_locator(FixedLocator([0, *powers]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(PERCENT)
    ax.set_ylim(0, 1.04)
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.set_ylabel("share of all runs within the gap")
    legend = ax.legend(
        title="solver: runs with a plan, of all",
        title_fontsize=8,
        fontsize=8,
        loc="upper left",
        bbox_to_anchor=(-0.02, -0.16),
        ncols=3,
        frameon=False,
    )
    legend.set_alignment("left")
    return tidy(ax)


def _problems(rows: pd.DataFrame) -> int:
    return len(rows.groupby(["instance", "objective"]))
