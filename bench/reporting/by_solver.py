"""How good each solver is and what its plans save: a row for each solver, and what the rows say in words.

Medians are over problems (instance and objective), of the medians over a problem's runs with a plan; counts are of all
runs, failed and missing ones included (docs/measuring.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bench.reporting.formatting import Cell, about, as_about, as_text, of_all, seconds, table
from bench.reporting.frames import SOLVED, saved
from instances.objective import parse_objective
from solvers.core.gap import OPTIMAL_GAP
from solvers.core.interface import Proof
from solvers.core.registry import solver_types

PROBLEM = ["instance", "objective"]
MINIMISED = {"time": ("time", "time@", "weighted"), "energy": ("energy", "energy@", "weighted")}
"""The kinds of objectives under which time, or energy, is what a plan is made to save."""
QUALITY: Mapping[str, Cell] = {
    "solver": as_text("solver"),
    "problems": as_text("problems"),
    "runs with a plan": of_all("with_plan", "runs"),
    "runs proven": of_all("proven", "runs"),
    "optimum hit": of_all("hits", "known_runs"),
    "gap to optimum": as_about("optimality_gap"),
    "gap to best known": as_about("best_known_gap"),
    "certified gap": as_about("certified_gap"),
    "search time": lambda row: seconds(row["wall_s"]),
}
"""How good the plans are."""
NOTES = (
    "summary: medians over problems (an instance under an objective), and within a problem over the runs with a plan; "
    "counts are of all runs, failed and missing ones included.",
    "optimum hit: runs that prove the optimum or meet it within 1e-6, of those on problems whose optimum is known; gap "
    "to optimum: on the same problems. Gap to best known and certified gap, in the summary: on open problems, with "
    "neither a known optimum nor a proof that there is no plan; fronts have no gap.",
    "saved, in the summary: median and, in brackets, largest; time on problems that minimise time, energy on those "
    "that minimise energy, both for weighted sums.",
)


def by_solver(runs: pd.DataFrame, baselines: Sequence[str]) -> pd.DataFrame:
    """One row for each solver of `runs` (of `with_truth`), in their order.

    Counts: `problems`, `runs`, `with_plan`, `proven` (runs that prove their plan or that there is none); on problems
    whose optimum is known `known`, `known_runs` and `hits` (runs that prove or meet it); `open`, problems with neither
    an optimum nor a proof that there is no plan, fronts left out. Shares: `optimality_gap`; on open problems
    `best_known_gap` and `certified_gap`; for each baseline the median and largest saving of time and energy. `wall_s`
    in s.
    """
    rows = []
    infeasible = runs["status"].eq("infeasible").groupby([runs[name] for name in PROBLEM]).transform("any")
    is_open = runs["optimum"].isna() & ~infeasible & runs["objective"].ne("front")
    for solver in dict.fromkeys(runs["solver"]):
        own = runs[runs["solver"] == solver]
        known, unknown = own[own["optimum"].notna()], own[is_open.loc[own.index]]
        hit = known["status"].eq("optimal") | known["optimality_gap"].le(OPTIMAL_GAP)
        rows.append(
            {
                "solver": solver,
                "problems": len(own.drop_duplicates(PROBLEM)),
                "runs": len(own),
                "with_plan": int(own["status"].isin(SOLVED).sum()),
                "proven": int(own["status"].isin(("optimal", "infeasible")).sum()),
                "known": len(known.drop_duplicates(PROBLEM)),
                "known_runs": len(known),
                "open": len(unknown.drop_duplicates(PROBLEM)),
                "hits": int(hit.sum()),
                "optimality_gap": _of_problems(known, "optimality_gap").median(),
                "best_known_gap": _of_problems(unknown, "best_known_gap").median(),
                "certified_gap": _of_problems(unknown, "certified_gap").median(),
                "wall_s": _of_problems(own, "wall_s").median(),
                **_savings(own, baselines),
            }
        )
    return pd.DataFrame(rows)


def _of_problems(runs: pd.DataFrame, column: str) -> pd.Series[float]:
    """The median of each problem."""
    return runs.groupby(PROBLEM, sort=False)[column].median()


def _savings(own: pd.DataFrame, baselines: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    kinds = own["objective"].map(lambda text: parse_objective(text).kind)
    for baseline in baselines:
        for measure, minimising in MINIMISED.items():
            name = saved(measure, baseline)
            of_problems = _of_problems(own[kinds.isin(minimising)], name)
            found |= {name: of_problems.median(), f"{name}_largest": of_problems.max()}
    return found


def savings_columns(baselines: Sequence[str]) -> dict[str, Cell]:
    """What the plans save of each baseline's."""
    columns: dict[str, Cell] = {"solver": as_text("solver")}
    for baseline in baselines:
        columns |= {f"{measure} saved vs {baseline}": _median_and_largest(measure, baseline) for measure in MINIMISED}
    return columns


def summary_text(rows: pd.DataFrame, baselines: Sequence[str]) -> str:
    """Two tables, and what they say in words, as Markdown."""
    entries = rows.to_dict("records")
    tables = [table(each, entries, ("solver",)) for each in (QUALITY, savings_columns(baselines))]
    return "\n\n".join([*tables, in_words(rows, baselines)])


def _median_and_largest(measure: str, baseline: str) -> Cell:
    name = saved(measure, baseline)

    def cell(row: Mapping[str, Any]) -> str:
        if row["solver"] == baseline:
            return "baseline"
        if pd.isna(row[name]):
            return about(None)
        return f"{about(row[name], signed=True)} ({about(row[f'{name}_largest'], signed=True)})"

    return cell


def in_words(rows: pd.DataFrame, baselines: Sequence[str]) -> str:
    """What the rows say of the best planner: how good it is where the optimum is known and elsewhere, what it saves."""
    best = _best(rows, baselines)
    if best is None:
        return "No plan of any solver but the baselines: there is nothing to compare."
    parts = [_where_known(best, rows, baselines), _elsewhere(best), *_saved(best, baselines)]
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts)


def _best(rows: pd.DataFrame, baselines: Sequence[str]) -> dict[str, Any] | None:
    """Of heuristics that are no baseline, or else of exact methods: fewest failures, most optima, smallest gaps."""
    if rows.empty:
        return None
    plain = rows["solver"].str.partition("[")[0]
    variant = (plain != rows["solver"]) & plain.isin(
        rows["solver"]
    )  # beside the solver itself it says what a part does
    others = rows[~rows["solver"].isin(baselines) & ~variant & (rows["with_plan"] > 0)]
    if others.empty:
        return None
    exact = {name for name, kind in solver_types().items() if kind.proves is not Proof.NOTHING}
    ranked = others.assign(
        exact=others["solver"].map(lambda label: label.partition("[")[0] in exact),
        failed=1 - others["with_plan"] / others["runs"],
        missed=1 - others["hits"] / others["known_runs"],
    )
    order = ["exact", "failed", "missed", "optimality_gap", "best_known_gap"]
    first = ranked.sort_values(order, kind="stable", na_position="last").iloc[0]
    return {str(name): value for name, value in first.items()}


def _where_known(best: Mapping[str, Any], rows: pd.DataFrame, baselines: Sequence[str]) -> str:
    if not best["known"]:
        return f"no optimum is known for any problem of {best['solver']}"
    known = f"on {_problems(best['known'], 'whose optimum is known')}, {best['solver']} finds it in "
    others = rows[rows["solver"].isin(baselines) & rows["optimality_gap"].notna()]
    above = [f"{row['solver']} is {about(row['optimality_gap'])}" for row in others.to_dict("records")]
    beside = f"; {' and '.join(above)} above it (median)" if above else ""
    return f"{known}{best['hits']} of {best['known_runs']} runs{beside}"


def _elsewhere(best: Mapping[str, Any]) -> str:
    if not best["open"]:
        return "no problem is left open"
    where = f"on {_problems(best['open'], 'without a known optimum')}"
    if pd.isna(best["certified_gap"]):
        return f"{where}, no lower bound is known"
    return f"{where}, the optimum is at most {about(best['certified_gap'])} below the value of its plans (median)"


def _saved(best: Mapping[str, Any], baselines: Sequence[str]) -> list[str]:
    parts, missing = [], []
    for baseline in baselines:
        names = {measure: saved(measure, baseline) for measure in MINIMISED}
        said = [
            f"{about(best[name])} of the {'iteration time' if measure == 'time' else 'energy'} "
            f"(up to {about(best[f'{name}_largest'])})"
            for measure, name in names.items()
            if not pd.isna(best[name])
        ]
        parts += [f"against {baseline} it saves {' and '.join(said)}"] if said else []
        missing += [] if said else [baseline]
    lines = ["; ".join(parts)] if parts else []
    return lines + ([f"savings against {' and '.join(missing)}: n/a, nothing to compare with"] if missing else [])


def _problems(count: int, which: str) -> str:
    return f"the one problem {which}" if count == 1 else f"the {count} problems {which}"
