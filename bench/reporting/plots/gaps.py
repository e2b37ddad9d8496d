"""How many of a solver's runs come within a gap of the optimum, or of the best known value."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bench.reporting.plots.style import (
    GAPS_FROM,
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

AGAINST = {
    "optimality_gap": "gap to the proven optimum",
    "best_known_gap": "gap to the best known value, optimum not proven",
}


def gap_shares(runs: pd.DataFrame) -> pd.DataFrame:
    """The corners of the step curves: by measure and solver, the share of all runs within each gap.

    A problem counts once: against its optimum if that is proven, else against the best value known. A run without
    a plan is never within. A problem of which no plan is known has no gap, and a front none either. The columns
    `with_plan` and `runs` count the solver's runs, `problems` those of the measure.
    """
    proven = runs["optimum"].notna()
    counted = {"optimality_gap": proven, "best_known_gap": ~proven & runs["best_value"].notna()}
    found = []
    for measure, chosen in counted.items():
        rows = runs[chosen]
        for solver, own in rows.groupby("solver", sort=False):
            gaps = own[measure].dropna().sort_values()
            gaps = gaps.where(gaps > OPTIMAL_GAP, 0.0)
            end = max(10 * GAPS_FROM, 1.2 * rows[measure].max())
            corners = {"gap": [0.0, *gaps, end], "share": [n / len(own) for n in [*range(len(gaps) + 1), len(gaps)]]}
            counts = {"with_plan": len(gaps), "runs": len(own), "problems": _problems(rows)}
            found.append(pd.DataFrame({"measure": measure, "solver": solver, **corners, **counts}))
    return pd.concat(found) if found else pd.DataFrame(columns=["measure"])


def gaps_figure(runs: pd.DataFrame) -> Figure | None:
    """One panel for proven optima, one for best known values; a panel without a problem is left out and said so."""
    shares = gap_shares(runs)
    if shares.empty:
        return None
    by_measure = dict(list(shares.groupby("measure", sort=False)))
    titles = [f"{_count(rows['problems'].iloc[0])} (instance and objective)" for rows in by_measure.values()]
    figure, axes = panels(titles, (5.6, 4.1))
    for ax, (measure, rows) in zip(axes, by_measure.items(), strict=True):
        draw_gaps(rows, styles(runs["solver"]), ax)
        ax.set_xlabel(AGAINST[str(measure)])
    notes = [f"{text}: n/a, there is no such problem" for measure, text in AGAINST.items() if measure not in by_measure]
    unknown = _problems(runs[runs["best_value"].isna() & (runs["objective"] != "front")])
    notes += [f"n/a, as no plan is known: {_count(unknown)}"] if unknown else []
    figure.supxlabel("\n".join(notes), fontsize=8, x=0.01, ha="left")
    return figure


def draw_gaps(shares: pd.DataFrame, look: dict[str, Style], ax: Axes) -> Axes:
    """A step curve per solver, with a marker at its exact hits; what has no plan stays below the top for ever."""
    draw_steps(shares, "gap", "share", look, ax)
    hits = shares[(shares["gap"] == 0) & (shares["share"] > 0)].drop_duplicates("solver", keep="last")
    draw_marks(hits, "gap", "share", look, ax)
    end = shares["gap"].max()
    gap_axis(ax, "x", linear_decades=0.8)
    ax.set(xlim=(-GAPS_FROM / 4, end), ylim=(0, 1.04), ylabel="share of all runs within the gap")
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    counts = shares.drop_duplicates("solver").sort_values("solver", key=lambda names: names.map(list(look).index))
    entries = [entry(look[str(r.solver)], f"{r.solver!s}: {r.with_plan!s} of {r.runs!s}") for r in counts.itertuples()]
    legend_below(ax, entries, "solver: runs with a plan, of all")
    return ax


def _problems(rows: pd.DataFrame) -> int:
    return len(rows.groupby(["instance", "objective"]))


def _count(problems: int) -> str:
    return f"{problems} problem{'s' if problems != 1 else ''}"
