"""Records to tables: one row a run, then one row per instance, objective and solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import pandas as pd

from bench.records.best_known import BestKnown, Key, best_known, problem_key_of
from bench.records.record import Record
from bench.reporting.metrics import ContradictionError, optimality_gap, saving
from bench.runs.store import AskedRun
from instances.errors import InputError
from instances.instance import COST_MODEL_VERSION
from solvers.core.gap import TOLERANCE, certified_gap

BASELINE = "megatron"
BASELINES = (BASELINE, "dtfm")
"""What the summary measures savings against: the usual launch, and the strongest published scheduler."""
MISSING = "missing"
"""The status of a run without a record."""
SOLVED = ("optimal", "feasible")
MEDIANS = [
    *("value", "time_s", "energy_j", "optimality_gap", "certified_gap", "best_known_gap"),
    *("time_saving", "energy_saving"),
]
BY = ["instance", "gpus", "objective", "solver"]
NUMBERS = ["value", "bound", "gap", "time_s", "energy_j", "wall_s", "front_points"]
KNOWN = ["known_value", "known_bound", "known_optimum"]  # of the problem, by the file of best known values


def runs_table(
    asked: Sequence[AskedRun],
    records: Sequence[Record],
    known: Mapping[Key, BestKnown] | None = None,
) -> pd.DataFrame:
    """One row for each run asked for, in that order; a run without a record has the status `missing`.

    Then one for each other record of the same instances, `asked` False: what they prove or find is true of those, too.
    `known` (default: the committed file) gives each problem's best known value and bound, if it has them.
    InputError if the records mix cost-model versions or contents of one instance.
    """
    by_key = {record.key: record for record in records}
    _refuse_mixtures([by_key[run.key] for run in asked if run.key in by_key])
    rows = []
    others = [record for record in beyond(asked, records) if not _of_other_problems(record, asked)]
    wanted: list[AskedRun | Record] = [*asked, *others]
    for run in wanted:
        record = by_key.get(run.key)
        rows.append(
            {
                "asked": isinstance(run, AskedRun),
                "instance": run.instance,
                "gpus": run.gpus,
                "objective": run.objective,
                "solver": run.label,
                "seed": run.seed,
                "status": str(record.status) if record else MISSING,
                "ended": str(record.ended) if record else MISSING,
                **{name: getattr(record, name, None) for name in NUMBERS[:-1]},
                "front_points": len(record.front) if record and record.front else None,
                **_known_of(record, best_known() if known is None else known),
            }
        )
    table = pd.DataFrame(
        rows, columns=None if rows else ["asked", *BY, "seed", "status", "ended", *NUMBERS, *KNOWN, "known_by"]
    )
    table[NUMBERS + KNOWN] = table[NUMBERS + KNOWN].astype("float64")
    return table


def beyond(asked: Sequence[AskedRun], records: Sequence[Record]) -> list[Record]:
    """The records of runs that are not asked for: the suite has changed since they were made."""
    keys = {run.key for run in asked}
    return [record for record in records if record.key not in keys]


def _of_other_problems(record: Record, asked: Sequence[AskedRun]) -> bool:
    same = any((run.instance, run.instance_hash) == (record.instance, record.instance_hash) for run in asked)
    return not same or record.cost_model_version != COST_MODEL_VERSION


def _known_of(record: Record | None, known: Mapping[Key, BestKnown]) -> dict[str, float | str | None]:
    """What the file of best known values says of the record's problem."""
    entry = known.get(problem_key_of(record)) if record else None
    if entry is None:
        return dict.fromkeys([*KNOWN, "known_by"])
    return {
        "known_value": entry.value,
        "known_bound": entry.bound,
        "known_optimum": entry.value if entry.proven else None,
        "known_by": f"best known values: {entry.value_by}" + (f", bound {entry.bound_by}" if entry.bound_by else ""),
    }


def with_truth(runs: pd.DataFrame, baselines: Sequence[str] = BASELINES) -> pd.DataFrame:
    """Add what is known of each instance and objective: proven optimum, best bound, best value; and savings.

    `time_saving` and `energy_saving` are against the first baseline; those against each are named as `saved` has it.
    All rows count for that; only those asked for are returned.

    Raises
    ------
    ContradictionError
        If one run's bound lies above another run's feasible value, or two proven optima differ; the best
        known values count as a run.
    """
    runs = runs.copy()
    for (instance, objective), rows in runs.groupby(["instance", "objective"], sort=False):
        _refuse_contradictions(f"{instance}, {objective}", rows)
    runs["proven"] = runs["value"].where(runs["status"] == "optimal")
    problems = runs.groupby(["instance", "objective"], sort=False)
    sources: tuple[tuple[str, str, str, Literal["min", "max"]], ...] = (
        ("optimum", "proven", "known_optimum", "min"),
        ("best_bound", "bound", "known_bound", "max"),
        ("best_value", "value", "known_value", "min"),
    )
    for name, own, known, extreme in sources:
        of_runs, committed = problems[own].transform(extreme), problems[known].transform(extreme)
        runs[name] = pd.concat([of_runs, committed], axis=1).agg(extreme, axis=1)
    runs["optimality_gap"] = optimality_gap(runs["value"], runs["optimum"])
    runs["best_known_gap"] = optimality_gap(runs["value"], runs["best_value"])
    runs["certified_gap"] = certified_gap(runs["value"], runs["best_bound"])
    for baseline in baselines:
        for measure in ("time", "energy"):
            runs[saved(measure, baseline)] = _savings_against(runs, measure, baseline)
    for measure in ("time", "energy"):
        runs[f"{measure}_saving"] = runs[saved(measure, baselines[0])]
    return runs[runs["asked"].astype(bool)].drop(columns="asked")


def saved(measure: str, baseline: str) -> str:
    """The column of what runs save of the baseline's `time` or `energy`."""
    return f"{measure}_saved_vs_{baseline}"


def _savings_against(runs: pd.DataFrame, measure: str, baseline: str) -> pd.Series[float]:
    """Against the median over the baseline's runs on the same problem.

    Where it has no plan there, its plans for the instance under other objectives stand in: the usual baselines minimise
    the time whatever is asked.
    """
    figure = {"time": "time_s", "energy": "energy_j"}[measure]
    plans = runs[(runs["solver"] == baseline) & runs[figure].notna()]
    of_instance = runs["instance"].map(plans.groupby("instance")[figure].median())
    problems = plans.groupby(["instance", "objective"])[figure].median()
    wanted = pd.MultiIndex.from_frame(runs[["instance", "objective"]])
    of_problem = pd.Series(problems.reindex(wanted).to_numpy(dtype="float64"), index=runs.index)
    base: pd.Series[float] = of_problem.fillna(of_instance).astype("float64")
    return cast("pd.Series[float]", saving(base, runs[figure]))


def summary_table(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per instance, objective and solver: medians over seeds, how many runs solved it, and of how many.

    Runs that failed stay in the count; medians are over the runs that have a plan, all others have no figures.
    """
    if runs.empty:
        return pd.DataFrame()
    in_order = {name: pd.Categorical(runs[name], runs[name].unique(), ordered=True) for name in BY}
    alike = runs.assign(**in_order, solved=runs["status"].isin(SOLVED)).groupby(BY, observed=True)
    summary = alike.agg(
        status=("status", _statuses),
        runs=("status", "size"),
        solved=("solved", "sum"),
        **{name: (name, "median") for name in MEDIANS},
        value_worst=("value", "max"),
        wall_s=("wall_s", "median"),
        gap=("gap", "median"),
        bound=("bound", "max"),
        **{name: (name, "first") for name in ("optimum", "best_bound", "best_value")},
    )
    return summary.reset_index().astype(runs.dtypes[BY].to_dict())


def _statuses(statuses: pd.Series[str]) -> str:
    counts = statuses.value_counts(sort=False)
    if len(counts) == 1:
        return str(counts.index[0])
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def _refuse_mixtures(records: Sequence[Record]) -> None:
    versions = sorted({record.cost_model_version for record in records})
    if len(versions) > 1:
        raise InputError(f"results of cost-model versions {versions} cannot be combined")
    hashes: dict[str, str] = {}
    for record in records:
        name, content = record.instance, record.instance_hash
        if hashes.setdefault(name, content) != content:
            raise InputError(f"results of instance {name} belong to different contents ({hashes[name]}, {content})")


def _refuse_contradictions(where: str, rows: pd.DataFrame) -> None:
    committed = rows[rows["known_by"].notna()].head(1)
    if len(committed):
        claim = {"value": "known_value", "bound": "known_bound", "solver": "known_by"}
        claims = committed.assign(status="feasible", seed=-1, **{name: committed[own] for name, own in claim.items()})
        rows = pd.concat([rows, claims])
    with_bound, with_value = rows[rows["bound"].notna()], rows[rows["value"].notna()]
    if not len(with_value):
        return
    best = with_value.iloc[int(with_value["value"].argmin())]
    infeasible = rows[rows["status"] == "infeasible"]
    if len(infeasible):
        raise ContradictionError(
            f"{where}: {_run(infeasible.iloc[0])} proves that there is no plan, {_run(best)} has one"
        )
    if len(with_bound):
        tightest = with_bound.iloc[int(with_bound["bound"].argmax())]
        if tightest["bound"] > best["value"] * (1 + TOLERANCE):
            raise ContradictionError(
                f"{where}: {_run(tightest)} proves the bound {float(tightest['bound'])!r}, "
                f"but {_run(best)} has a plan of {float(best['value'])!r}"
            )


def _run(row: pd.Series[Any]) -> str:
    return row["solver"] if row["seed"] < 0 else f"{row['solver']} (seed {row['seed']})"
