"""How much time and energy each solver's plans save against the uniform plan, instance by instance."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.tables import BASELINE

MEASURES = {"time_saving": "iteration time saved [%]", "energy_saving": "energy saved [%]"}


def savings_figure(runs: pd.DataFrame) -> Figure:
    """Two panels, one row per instance and objective; what cannot be drawn is written."""
    compared = runs[runs["solver"] != BASELINE].copy()
    compared["row"] = compared["instance"] + "\n" + compared["objective"]
    rows = list(dict.fromkeys(compared["row"]))
    figure = Figure(figsize=(11, 1.4 + 0.55 * max(1, len(rows))), layout="constrained")
    axes = figure.subplots(1, len(MEASURES), sharey=True)
    solvers = list(dict.fromkeys(compared["solver"]))
    for ax, (measure, title) in zip(axes, MEASURES.items(), strict=True):
        draw_savings(compared, measure, rows, solvers, ax)
        ax.set_xlabel(f"{title}, against {BASELINE}")
    handles, labels = axes[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=min(6, len(labels)), frameon=False)
    return figure


def draw_savings(runs: pd.DataFrame, measure: str, rows: list[str], solvers: list[str], ax: Axes) -> Axes:
    """One point per solver and row: the median over seeds, with the range; `n/a` where no run has a figure."""
    palette = dict(zip(solvers, sns.color_palette("colorblind", max(1, len(solvers))), strict=False))
    step = 0.7 / max(1, len(solvers))
    for number, solver in enumerate(solvers):
        at = [position - 0.35 + step * (number + 0.5) for position in range(len(rows))]
        own = runs[runs["solver"] == solver]
        stats = [100 * own.loc[own["row"] == row, measure].dropna() for row in rows]
        drawn = [(y, values) for y, values in zip(at, stats, strict=True) if len(values)]
        ax.errorbar(
            [values.median() for _, values in drawn],
            [y for y, _ in drawn],
            xerr=[
                [values.median() - values.min() for _, values in drawn],
                [values.max() - values.median() for _, values in drawn],
            ],
            fmt="o",
            markersize=5,
            linewidth=1,
            color=palette[solver],
            label=solver,
        )
        for y, row, values in zip(at, rows, stats, strict=True):
            if not len(values) and (own["row"] == row).any():
                ax.annotate(
                    f"{solver}: n/a",
                    (0, y),
                    xytext=(4, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7,
                )
    ax.axvline(0, color="0.6", linewidth=1, zorder=0)
    ax.set_yticks(range(len(rows)), rows, fontsize=8)
    ax.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    ax.grid(axis="x", color="0.9")
    sns.despine(ax=ax, left=True)
    ax.tick_params(axis="y", length=0)
    return ax
