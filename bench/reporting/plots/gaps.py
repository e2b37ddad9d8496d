"""How far from the proven optimum each solver's plans are, problem by problem."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.reporting.formatting import about
from bench.reporting.frames import summary_table
from bench.reporting.names import short_labels
from bench.reporting.plots.style import GAPS_FROM, Style, gap_axis, panels, plain, styles
from solvers.core.gap import OPTIMAL_GAP


def gaps_to_optimum(runs: pd.DataFrame) -> pd.DataFrame:
    """By `solver`, `instance` and `objective` with a known optimum, the median `gap` to it of the runs with a plan.

    Gaps within the tolerance are 0, those of problems without a plan are missing, and those above an optimum of 0 are
    infinite.
    """
    summary = summary_table(runs)
    if summary.empty:
        return pd.DataFrame(columns=["solver", "instance", "objective", "gap"])
    known = summary[summary["optimum"].notna()]
    gaps = known["optimality_gap"].astype("float64")
    return known[["solver", "instance", "objective"]].assign(gap=gaps.mask(gaps <= OPTIMAL_GAP, 0.0))


def gaps_figure(runs: pd.DataFrame) -> Figure | None:
    """One panel; None if no optimum is known, or no plan where one is."""
    gaps = gaps_to_optimum(runs)
    if gaps["gap"].isna().all():
        return None
    count, solvers = len(gaps.drop_duplicates(["instance", "objective"])), gaps["solver"].nunique()
    title = f"{count} problem{'s' if count != 1 else ''} (instance and objective) with a known optimum"
    figure, (ax,) = panels([title], (8, 0.7 + 0.45 * solvers))
    draw_gaps(gaps, styles(runs["solver"]), ax)
    return figure


def draw_gaps(gaps: pd.DataFrame, look: dict[str, Style], ax: Axes) -> Axes:
    """A row for each solver: a mark for each problem, a bar at their median, and beside its name what has no mark."""
    solvers = list(dict.fromkeys(gaps["solver"]))
    finite = gaps[np.isfinite(gaps["gap"])]
    end = max(10 * GAPS_FROM, 1.5 * finite["gap"].max()) if len(finite) else 10 * GAPS_FROM
    rng = np.random.default_rng(0)
    for place, solver in enumerate(solvers):
        own, colour = finite.loc[finite["solver"] == solver, "gap"], look[solver].colour
        beside = place + rng.uniform(-0.25, 0.25, len(own))
        sns.scatterplot(x=own, y=beside, marker=look[solver].marker, color=colour, alpha=0.55, clip_on=False, ax=ax)
        median = gaps.loc[gaps["solver"] == solver, "gap"].median()
        if np.isfinite(median):
            ax.plot([median] * 2, [place - 0.36, place + 0.36], color=colour, linewidth=2.5, gid="median")
    names = short_labels(look)
    labels = [_label(names[solver], gaps.loc[gaps["solver"] == solver, "gap"]) for solver in solvers]
    ax.set_yticks(range(len(solvers)), labels, fontsize=8)
    gap_axis(ax, "x", linear_decades=0.8)
    ax.set(xlim=(-GAPS_FROM / 4, end), ylim=(len(solvers) - 0.5, -0.5), ylabel="")
    ax.set_xlabel("gap to the proven optimum: a mark for each problem, a bar at the median")
    return ax


def _label(name: str, gaps: pd.Series[float]) -> str:
    """Who, and how many of the problems are solved to the optimum, or have no gap that can be drawn."""
    counts = f"{gaps.eq(0).sum()} of {len(gaps)} at 0, median {about(gaps.median())}"
    others = {"infinite": np.isinf(gaps).sum(), "without a plan": gaps.isna().sum()}
    return plain("\n".join([name, ", ".join([counts, *(f"{n} {what}" for what, n in others.items() if n)])]))
