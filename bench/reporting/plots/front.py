"""The trade-off between time and energy: fronts, and where the plans of the other solvers lie."""

from __future__ import annotations

from math import ceil

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from bench.reporting.plots.style import NUMBER, Style, legend_above, plain, styles, tidy

LOGARITHMIC_FROM = 4.0
"""Ratio of the largest to the smallest figure of an axis from which it is logarithmic."""


def fronts_figure(runs: pd.DataFrame, fronts: pd.DataFrame) -> Figure | None:
    """A panel for each instance that has a front."""
    instances = list(dict.fromkeys(fronts["instance"]))
    if not instances:
        return None
    look = styles(runs["solver"])
    across = min(3, len(instances))
    down = ceil(len(instances) / across)
    figure = Figure(figsize=(max(6.5, 4.4 * across), 0.7 + 3.5 * down), layout="constrained")
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for ax, instance in zip(panels, instances, strict=False):
        draw_front(fronts[fronts["instance"] == instance], runs[runs["instance"] == instance], look, ax)
        ax.set_title(plain(instance), fontsize=9, loc="left")
    for ax in panels[len(instances) :]:
        ax.remove()
    legend_above(figure, 4)
    return figure


def front_figure(front: pd.DataFrame) -> Figure:
    """One front, alone."""
    figure = Figure(figsize=(7, 4.6), layout="constrained")
    nothing = pd.DataFrame(columns=["solver", "time_s", "energy_j"])
    ax = draw_front(front, nothing, styles(front["solver"]), figure.add_subplot())
    ax.set_title(plain(front["instance"].iloc[0]), fontsize=10, loc="left")
    ax.legend(fontsize=8, frameon=False)
    return figure


def draw_front(fronts: pd.DataFrame, runs: pd.DataFrame, look: dict[str, Style], ax: Axes) -> Axes:
    """Fronts of one instance as staircases, one per run, and as points the plans of solvers that gave none."""
    drawn = list(dict.fromkeys(fronts["solver"]))
    for number, solver in enumerate(drawn):
        style = look[solver]
        first = True
        for (_, status), points in fronts[fronts["solver"] == solver].groupby(["seed", "status"], sort=False):
            complete = status == "optimal"
            points = points.sort_values("time_s")
            ax.plot(
                points["time_s"],
                points["energy_j"] / 1000,
                drawstyle="steps-post",
                color=style.colour,
                linestyle=style.dashes,
                linewidth=1.2,
                marker=style.marker,
                markersize=9 if complete else max(3.0, 6.5 - 2 * number),
                markerfacecolor="none" if complete else style.colour,
                alpha=1 if complete else 0.8,
                zorder=2 + number,
                label=plain(f"{solver}: front{', proven complete' if complete else ''}") if first else "_again",
            )
            first = False
    others = runs[runs["time_s"].notna() & ~runs["solver"].isin(drawn)]
    for solver in dict.fromkeys(others["solver"]):
        plans, style = others[others["solver"] == solver], look[solver]
        ax.plot(
            plans["time_s"],
            plans["energy_j"] / 1000,
            linestyle="none",
            marker=style.marker,
            markersize=7,
            color=style.colour,
            alpha=0.8,
            label=plain(f"{solver}: plans"),
        )
    times = pd.concat([fronts["time_s"], others["time_s"]])
    energies = pd.concat([fronts["energy_j"], others["energy_j"]])
    for axis, scale, values in ((ax.xaxis, ax.set_xscale, times), (ax.yaxis, ax.set_yscale, energies)):
        if values.max() > LOGARITHMIC_FROM * values.min():
            scale("log")
            axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
            axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(NUMBER)
    ax.set_xlabel("iteration time [s]")
    ax.set_ylabel("energy [kJ]")
    return tidy(ax)
