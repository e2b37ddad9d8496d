"""How much time and energy each solver's plans save against the uniform plan, instance by instance."""

from __future__ import annotations

from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.reporting.frames import BASELINE
from bench.reporting.plots.style import NUMBER, Style, legend_above, panels, plain, styles

MEASURES = {"time_saving": "iteration time saved [%]", "energy_saving": "energy saved [%]"}
SQUEEZED_FROM = -400
"""Per cent; losses beyond this make the axis logarithmic below -100, or nothing else would be seen."""


def savings_by_row(runs: pd.DataFrame) -> pd.DataFrame:
    """Savings in per cent of all runs that are compared; `row` names instance and objective."""
    compared = runs[(runs["solver"] != BASELINE) & (runs["objective"] != "front")].copy()
    compared["row"] = compared["instance"].map(plain) + "\n" + compared["objective"]
    compared[list(MEASURES)] *= 100
    return compared


def savings_figure(runs: pd.DataFrame) -> Figure:
    """Two panels, one row per instance and objective; what cannot be drawn is written."""
    savings, look = savings_by_row(runs), styles(runs["solver"])
    rows = max(1, savings["row"].nunique())
    figure, axes = panels(["", ""], (5.5, 0.7 + (0.55 if rows <= 20 else 0.42) * rows), sharey=True)
    for ax, (measure, title) in zip(axes, MEASURES.items(), strict=True):
        draw_savings(savings, measure, look, ax)
        ax.set_xlabel(f"{title}, against {BASELINE}")
    legend_above(figure, look, savings["solver"])
    return figure


def draw_savings(savings: pd.DataFrame, measure: str, look: dict[str, Style], ax: Axes) -> Axes:
    """One point per solver and row: the median over seeds, with the range; `n/a` where no run has a figure."""
    solvers, rows = (list(dict.fromkeys(savings[column])) for column in ("solver", "row"))
    sns.pointplot(
        savings,
        x=measure,
        y="row",
        order=rows,
        hue="solver",
        palette={solver: look[solver].colour for solver in solvers},
        markers=[look[solver].marker for solver in solvers],
        linestyles="none",
        dodge=0.7 * (1 - 1 / len(solvers)) if len(solvers) > 1 else False,
        estimator="median",
        errorbar=("pi", 100),
        err_kws={"linewidth": 1},
        markersize=5,
        legend=False,
        ax=ax,
    )
    missing = savings.groupby(["row", "solver"], sort=False)[measure].count().eq(0)
    for row, names in missing[missing].reset_index().groupby("row", sort=False)["solver"]:
        place: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": 7}
        who = ", ".join(names) if len(names) <= 3 else f"{len(names)} of {len(solvers)} solvers"
        ax.annotate(plain(f"{who}: n/a"), (0, rows.index(str(row)) + 0.36), **place).set_in_layout(False)
    if savings[measure].min() < SQUEEZED_FROM:
        ax.set_xscale("symlog", linthresh=100)
        ax.xaxis.set_major_formatter(NUMBER)
    ax.axvline(0, color="0.6", linewidth=1, zorder=0)
    for border in range(len(rows) - 1):
        ax.axhline(border + 0.5, color="0.95", linewidth=1, zorder=0)
    ax.set(ylabel="", ylim=(len(rows) - 0.5, -0.5))
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelsize=8)
    return ax
