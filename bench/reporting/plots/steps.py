"""A saving taken apart: what each step from one planner to another adds."""

from __future__ import annotations

from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from bench.reporting.formatting import about
from bench.reporting.names import short_names
from bench.reporting.plots.style import ALARM, HATCHES, MOST_ROWS, REGIONS, panels, plain

SAVED = "#0072b2"


def steps_figure(steps: pd.DataFrame, of: str = "the iteration time of megatron") -> Figure | None:
    """The mean over all problems as a waterfall, and a stacked bar for each problem, as many as fit a page.

    Parameters
    ----------
    steps
        One row per problem and step, steps in their order: `step` (its name), `instance`, `objective`, and `saving`,
        the share of the first planner's figure that the step takes off, negative where it adds to it. A problem with a
        saving missing is left out.
    of
        What the savings are a share of, in words.

    Returns
    -------
    The figure; None without a problem that has all its savings.
    """
    problems = steps.pivot_table("saving", ["instance", "objective"], "step", sort=False, dropna=False)
    problems = problems.dropna(how="any").astype("float64") if len(problems.columns) else problems
    if problems.empty:
        return None
    names, several = short_names(steps["instance"]), len(set(steps["objective"])) > 1
    index = [names[instance] + (f", {objective}" if several else "") for instance, objective in problems.index]
    problems = problems.set_axis(index)
    shown = problems.iloc[:MOST_ROWS]
    count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
    rest = "" if len(shown) == len(problems) else f" (the first {len(shown)} of {len(problems)})"
    titles = [f"mean over {count}", f"each problem{rest}; dot: all steps together"]
    figure, (waterfall, bars) = panels(titles, (6.2, max(3.0, 0.9 + 0.22 * len(shown))))
    draw_waterfall(problems.mean(), waterfall)
    draw_bars(shown, bars)
    figure.supxlabel(plain(f"saved of {of}"), fontsize=9)
    entries = [Patch(**_look(number), label=plain(str(step))) for number, step in enumerate(problems.columns)]
    figure.legend(handles=entries, loc="outside upper right", ncols=min(5, len(entries)), fontsize=8, frameon=False)
    return figure


def draw_waterfall(savings: pd.Series[float], ax: Axes) -> Axes:
    """[step] Bars that begin where the one before ends, and their sum below."""
    ends = savings.cumsum()
    rows = [*zip(savings.index, ends - savings, savings, strict=True), ("all", 0.0, ends.iloc[-1])]
    for place, (_, begin, saving) in enumerate(rows):
        last, lost = place == len(rows) - 1, saving < 0
        colour, hatch = "0.35" if last else ALARM if lost else SAVED, "///" if lost else None
        ax.barh(place, saving, left=begin, height=0.62, facecolor=colour, hatch=hatch, edgecolor="white", gid="step")
        beside: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": 8}
        ax.annotate(about(saving, signed=True), (max(begin, begin + saving), place), **beside)
        if not last:
            ax.plot([begin + saving] * 2, [place, place + 1], color="0.5", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(rows)), [plain(str(step)) for step, *_ in rows], fontsize=8)
    _finish(len(rows), ax)
    return ax


def draw_bars(problems: pd.DataFrame, ax: Axes) -> Axes:
    """[problem, step] A bar for each problem: what steps save to the right of 0, what they lose to the left; a dot at
    their sum.
    """
    right = left = pd.Series(0.0, problems.index)
    places = range(len(problems))
    for number, step in enumerate(problems.columns):
        own = problems[step]
        begin = right.where(own >= 0, left)
        ax.barh(places, own, left=begin, height=0.75, gid=f"step {step}", **_look(number))
        right, left = right + own.clip(lower=0), left + own.clip(upper=0)
    total = problems.sum(axis=1)
    sns.scatterplot(x=total.to_numpy(), y=list(places), color="black", s=22, zorder=3, ax=ax, gid="all")
    ax.set_yticks(places, [plain(str(problem)) for problem in problems.index], fontsize=7)
    _finish(len(problems), ax)
    return ax


def _look(number: int) -> dict[str, Any]:
    """Of a step's bars; hatched, so that they are told apart in grey."""
    fill, hatch = REGIONS[number % len(REGIONS)], HATCHES[number % len(HATCHES)]
    return {"facecolor": fill, "hatch": hatch, "edgecolor": "0.3", "linewidth": 0.4}


def _finish(rows: int, ax: Axes) -> None:
    ax.axvline(0, color="0.4", linewidth=0.8)
    ax.set(ylim=(rows - 0.5, -0.5), ylabel="")
    ax.margins(x=0.12)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
