"""The trade-off between time and energy: fronts, and where the plans of the other solvers lie."""

from __future__ import annotations

from math import isnan
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from bench.reporting.formatting import percent
from bench.reporting.names import short_labels, short_names
from bench.reporting.plots.style import MOST_PANELS, NUMBER, Style, entry, legend_below, panels, styles

LOGARITHMIC_FROM = 4.0
"""Ratio of the largest to the smallest figure of an axis from which it is logarithmic."""


def fronts_figure(runs: pd.DataFrame, fronts: pd.DataFrame) -> Figure | None:
    """A panel for each instance that has a front; where they are too many for a page, for some of every size."""
    if fronts.empty:
        return None
    every = list(dict.fromkeys(fronts.sort_values("gpus", kind="stable")["instance"]))
    shown = [every[place * len(every) // MOST_PANELS] for place in range(MOST_PANELS)]
    shown, names = list(dict.fromkeys(shown)), short_names(every)
    figure, axes = panels([names[instance] for instance in shown], (5.0, 4.6))
    for ax, instance in zip(axes, shown, strict=True):
        own = runs[runs["instance"] == instance]
        draw_fronts(fronts[fronts["instance"] == instance], own, styles(runs["solver"]), ax)
    legend_of_plans(figure, runs[runs["instance"].isin(shown)], fronts)
    if len(every) > len(shown):
        figure.supxlabel(f"fronts of {len(every) - len(shown)} more instances: fronts.csv", fontsize=8)
    return figure


def front_figure(front: pd.DataFrame) -> Figure:
    """One front, alone."""
    figure, (ax,) = panels([front["instance"].iloc[0]], (7, 4))
    draw_fronts(
        front,
        pd.DataFrame(columns=["instance", "solver", "objective", "time_s", "energy_j"]),
        styles(front["solver"]),
        ax,
    )
    return figure


def legend_of_plans(figure: Figure, runs: pd.DataFrame, fronts: pd.DataFrame) -> None:
    """One legend of the solvers that have plans, but no front, for all panels."""
    look, names = styles(runs["solver"]), short_labels(runs["solver"])
    solvers = [solver for solver in look if solver in set(_without_front(runs, fronts)["solver"])]
    handles = [entry(look[solver], f"{names[solver]}: plans", linestyle="none") for solver in solvers]
    if handles:
        figure.legend(handles=handles, loc="outside upper center", ncols=5, frameon=False, fontsize=8)


def _without_front(runs: pd.DataFrame, fronts: pd.DataFrame) -> pd.DataFrame:
    """The plans on instances of which their solver gave no front."""
    pairs = [pd.MultiIndex.from_frame(frame[["instance", "solver"]]) for frame in (runs, fronts)]
    return runs[runs["time_s"].notna() & ~pairs[0].isin(pairs[1])]


def draw_fronts(fronts: pd.DataFrame, runs: pd.DataFrame, look: dict[str, Style], ax: Axes) -> Axes:
    """Fronts of one instance as step curves, one per run, and as points the plans of solvers that gave none."""
    kinds = fronts["status"].eq("optimal").map({True: "front, proven complete", False: "front"})
    others = _without_front(runs, fronts)
    points = pd.concat([fronts.assign(kind=kinds), others.assign(kind="plans")])
    points["energy_kj"] = points["energy_j"] / 1000
    entries, names = list[Line2D](), short_labels(look)
    for place, ((solver, kind), own) in enumerate(points.groupby(["solver", "kind"], sort=False)):
        style = look[str(solver)]
        # Later curves and markers are smaller, and a complete front's markers hollow: all stay visible.
        line: dict[str, Any] = {
            "color": style.colour,
            "linestyle": "none" if kind == "plans" else style.line,
            "linewidth": max(1.0, 4.2 - 1.4 * place),
            "marker": style.marker,
            "markersize": 9 if kind == "front, proven complete" else max(3.5, 7 - place),
            "markerfacecolor": "none" if kind == "front, proven complete" else style.colour,
            "markeredgecolor": style.colour,
            "alpha": 0.8,
        }
        each = {"units": "seed", "estimator": None, "errorbar": None}
        sns.lineplot(own, x="time_s", y="energy_kj", drawstyle="steps-post", zorder=2 + place, ax=ax, **each, **line)
        if kind != "plans":
            asked = (runs["solver"].eq(str(solver)) & runs["objective"].eq("front")).sum()
            entries.append(entry(style, f"{names[str(solver)]}: {kind}{_measured(own, asked)}", **line))
    legend_below(ax, entries)
    for axis, scale, values in ((ax.xaxis, ax.set_xscale, "time_s"), (ax.yaxis, ax.set_yscale, "energy_kj")):
        ratio = points[values].max() / points[values].min()
        if ratio > LOGARITHMIC_FROM:
            scale("log")
            axis.set_major_locator(LogLocator(subs=(1, 2, 5) if ratio > 30 else (1, 1.5, 2, 3, 5, 7)))
            axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(NUMBER)
    ax.set(xlabel="iteration time [s]", ylabel="energy [kJ]")
    return ax


def _measured(points: pd.DataFrame, asked: int) -> str:
    """The hypervolume of a solver's fronts, and how many of its runs they are; nothing of plans."""
    runs = points.drop_duplicates("seed")
    share = runs["hypervolume"].median()
    return "" if isnan(share) else f", {percent(share)}" + (f", {len(runs)} of {asked} runs" if asked > 1 else "")
