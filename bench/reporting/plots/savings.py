"""How much time and energy each solver's plans save against the uniform plan, instance by instance."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.reporting.frames import BASELINE
from bench.reporting.plots.style import NUMBER, Style, legend_above, plain, styles, tidy

MEASURES = {"time_saving": "iteration time saved [%]", "energy_saving": "energy saved [%]"}
SQUEEZED_FROM = -400
"""Per cent; losses beyond this make the axis logarithmic below -100, or nothing else would be seen."""


def savings_figure(runs: pd.DataFrame) -> Figure:
    """Two panels, one row per instance and objective; what cannot be drawn is written."""
    compared = runs[(runs["solver"] != BASELINE) & (runs["objective"] != "front")].copy()
    compared["row"] = compared["instance"].map(plain) + "\n" + compared["objective"]
    rows = list(dict.fromkeys(compared["row"]))
    figure = Figure(figsize=(11, 1.4 + (0.55 if len(rows) <= 20 else 0.42) * max(1, len(rows))), layout="constrained")
    axes = figure.subplots(1, len(MEASURES), sharey=True)
    look = styles(runs["solver"])
    for ax, (measure, title) in zip(axes, MEASURES.items(), strict=True):
        draw_savings(compared, measure, rows, look, ax)
        ax.set_xlabel(f"{title}, against {BASELINE}")
    legend_above(figure, 6)
    return figure


def draw_savings(runs: pd.DataFrame, measure: str, rows: list[str], look: dict[str, Style], ax: Axes) -> Axes:
    """One point per solver and row: the median over seeds, with the range; `n/a` where no run has a figure."""
    solvers = list(dict.fromkeys(runs["solver"]))
    step = 0.7 / max(1, len(solvers))
    without: dict[int, list[str]] = {}
    for number, solver in enumerate(solvers):
        own = runs[runs["solver"] == solver]
        stats = [100 * own.loc[own["row"] == row, measure].dropna() for row in rows]
        drawn = [(place, values) for place, values in enumerate(stats) if len(values)]
        ax.errorbar(
            [values.median() for _, values in drawn],
            [place - 0.35 + step * (number + 0.5) for place, _ in drawn],
            xerr=[
                [values.median() - values.min() for _, values in drawn],
                [values.max() - values.median() for _, values in drawn],
            ],
            fmt=look[solver].marker,
            markersize=5,
            linewidth=1,
            color=look[solver].colour,
            label=plain(solver),
        )
        for place, (row, values) in enumerate(zip(rows, stats, strict=True)):
            if not len(values) and (own["row"] == row).any():
                without.setdefault(place, []).append(solver)
    for place, names in without.items():
        ax.annotate(
            plain(f"{', '.join(names)}: n/a"),
            (0, place + 0.36),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    if 100 * runs[measure].min() < SQUEEZED_FROM:
        ax.set_xscale("symlog", linthresh=100)
        ax.xaxis.set_major_formatter(NUMBER)
    ax.axvline(0, color="0.6", linewidth=1, zorder=0)
    for border in range(len(rows) - 1):
        ax.axhline(border + 0.5, color="0.95", linewidth=1, zorder=0)
    ax.set_yticks(range(len(rows)), rows, fontsize=8)
    ax.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    tidy(ax).grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax
