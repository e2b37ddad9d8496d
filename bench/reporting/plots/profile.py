"""Performance profile (Dolan and Moré 2002): on how many problems a solver comes within a ratio of the best value."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bench.reporting.names import short_labels
from bench.reporting.plots.style import (
    GAPS_FROM,
    RATIO,
    Style,
    draw_marks,
    draw_steps,
    entry,
    gap_axis,
    legend_below,
    panels,
    styles,
)
from solvers.core.gap import OPTIMAL_GAP

PROBLEM = ["instance", "objective"]


def profile_shares(runs: pd.DataFrame) -> pd.DataFrame:
    """The corners of the step curves: by `solver`, the `share` of its problems whose ratio is at most 1 + `gap`.

    The ratio of a problem is the median over the solver's runs of value / best known value, where a run without a plan
    is infinitely bad. Problems of which no plan is known are left out, and so are fronts. `within` and `problems` count
    the solver's problems with a ratio, and all.
    """
    known = runs[runs["best_value"].notna()]
    gaps = known["best_known_gap"].astype("float64").fillna(np.inf)
    # The upper of two middle runs: the mean with an infinite one would be none.
    by_problem = gaps.groupby([known["solver"], *(known[name] for name in PROBLEM)], sort=False)
    medians = by_problem.quantile(0.5, interpolation="higher").clip(lower=0).rename("gap").reset_index()
    medians["gap"] = medians["gap"].mask(medians["gap"] <= OPTIMAL_GAP, 0.0)
    finite = medians.loc[np.isfinite(medians["gap"]), "gap"]
    end = max(10 * GAPS_FROM, 1.5 * finite.max()) if len(finite) else 10 * GAPS_FROM
    found = []
    for solver, own in medians.groupby("solver", sort=False)["gap"]:
        within = own[np.isfinite(own)].sort_values()
        steps = [*range(len(within) + 1), len(within)]
        corners = {"gap": [0.0, *within, end], "share": [step / len(own) for step in steps]}
        found.append(pd.DataFrame({"solver": solver, **corners, "within": len(within), "problems": len(own)}))
    return pd.concat(found) if found else pd.DataFrame(columns=["solver", "gap", "share", "within", "problems"])


def profile_figure(runs: pd.DataFrame) -> Figure | None:
    """One panel; None where no plan is known of any problem."""
    shares = profile_shares(runs)
    if shares.empty:
        return None
    problems = len(runs[runs["best_value"].notna()].drop_duplicates(PROBLEM))
    figure, (ax,) = panels([f"{problems} problem{'s' if problems != 1 else ''} (instance and objective)"], (8, 4.8))
    draw_profile(shares, styles(runs["solver"]), ax)
    unknown = len(runs[runs["best_value"].isna() & (runs["objective"] != "front")].drop_duplicates(PROBLEM))
    note = f"left out, as no plan is known: {unknown} problem{'s' if unknown != 1 else ''}" if unknown else ""
    figure.supxlabel(note, fontsize=8, x=0.01, ha="left")
    return figure


def draw_profile(shares: pd.DataFrame, look: dict[str, Style], ax: Axes) -> Axes:
    """A step curve per solver; its markers are where no other has any, so that curves that coincide stay visible."""
    draw_steps(shares, "gap", "share", look, ax)
    draw_marks(_marks(shares), "gap", "share", look, ax)
    gap_axis(ax, "x", linear_decades=0.8)
    ax.xaxis.set_major_formatter(RATIO)
    ax.set(xlim=(-GAPS_FROM / 4, shares["gap"].max()), ylim=(0, 1.04), ylabel="share of problems within the ratio")
    ax.set_xlabel("value / best known value, median over runs (logarithmic distance from 1)")
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    counts, names = shares.drop_duplicates("solver").set_index("solver"), short_labels(look)
    shown = [solver for solver in look if solver in counts.index]
    texts = [f"{names[s]}: {counts['within'][s]} of {counts['problems'][s]}" for s in shown]
    entries = [entry(look[solver], text) for solver, text in zip(shown, texts, strict=True)]
    legend_below(ax, entries, "solver: problems with a plan in most runs, of all")
    return ax


def _marks(shares: pd.DataFrame) -> pd.DataFrame:
    """Three points on each solver's curve, all at ratios of their own."""
    solvers = list(dict.fromkeys(shares["solver"]))
    places = np.geomspace(GAPS_FROM, shares["gap"].max(), 3 * len(solvers) + 1)[:-1]
    marks = []
    for number, solver in enumerate(solvers):
        own = shares[shares["solver"] == solver]
        at = places[number :: len(solvers)]
        shown = own["share"].to_numpy()[np.searchsorted(own["gap"], at, side="right") - 1]
        marks.append(pd.DataFrame({"solver": solver, "gap": at, "share": shown}))
    return pd.concat(marks)
