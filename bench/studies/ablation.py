"""What each part of `memetic` is worth: variants without it, run at equal budgets, and the table of what they lose."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import exp, inf, log, nan
from pathlib import Path
from statistics import fmean

import pandas as pd
from scipy.stats import false_discovery_control, mannwhitneyu

from bench.reporting.formatting import Cell, as_percent, as_text, table
from bench.runs.judge import judge
from bench.runs.suite import entries_of, read_suite
from instances.disk import read_text, write_text
from instances.errors import InputError
from instances.instance import Instance
from instances.objective import Objective, parse_objective
from solvers.core.interface import Budget, Monitor, Problem
from solvers.core.registry import make_solver
from solvers.core.sources import solver_digest
from solvers.placements.uniform import reference_of

SOLVER = "memetic"
FULL = "full"
VARIANTS = {
    FULL: "nothing",
    "site_by_site=false": "site-by-site plans in the first population",
    "construct=false": "constructions; new plans are random",
    "tries=1": "the choice among constructions",
    "greed=1": "the stronger selection pressure on grids",
    "stagnation=0": "the stagnation penalty of grids",
    "transplant=0": "plans transferred from neighbouring grids",
    "crossover=0": "children of two plans",
    "fresh=0": "new plans, four of five constructed",
    "layer_fit=false": "fitting splits to the placements of children",
    "elites=1": "populations; one plan per grid",
    "anneal=0": "annealing",
    "focus=0": "moves that start at a bottleneck",
    "structural=0": "moves of columns, tails and segments",
    "regrid=0": "moves to neighbouring grids while annealing",
    "guide=0": "the smooth surrogate beside the maxima in the score",
    "descent=false": "local search",
}
"""What is off, by options of the solver, separated by blanks. A share set to 0 goes to perturbed elites."""


@dataclass(frozen=True)
class Benchmark:
    """One instance of a shipped suite with one objective."""

    suite: str
    name: str
    objective: str

    @cached_property
    def instance(self) -> Instance:
        """InputError if the suite has none of that name."""
        suite, folder = read_suite(self.suite)
        for _, instance in entries_of(suite, folder, self.suite):
            if instance.name == self.name:
                return instance
        raise InputError(f"suite {self.suite}: has no instance {self.name}")

    @cached_property
    def problem(self) -> Problem:
        objective: Objective = parse_objective(self.objective)
        reference = reference_of(self.instance) if objective.needs_reference else None
        return Problem(self.instance, objective.goal(reference))


BENCHMARKS = (
    Benchmark("paper", "dtfm-worldwide-mixed-gpt3-1.3b-64gpus-seed0", "time"),
    Benchmark("paper", "dtfm-universities-mixed-gpt3-1.3b-64gpus-seed0", "time"),
    Benchmark("paper", "volunteer-gpt3-1.3b-64gpus-seed0", "time"),
    Benchmark("paper", "volunteer-gpt-neo-2.7b-128gpus-seed0", "time"),
    Benchmark("paper", "cloud-gpt3-13b-128gpus-seed0", "time"),
    Benchmark("paper", "campus-llama-7b-128gpus-seed0", "time"),
    Benchmark("paper", "dtfm-us-regions-mixed-gpt3-6.7b-128gpus-seed0", "energy@1x"),
    Benchmark("paper", "dtfm-worldwide-mixed-gpt3-6.7b-128gpus-seed0", "energy@1x"),
)
"""The instances of `paper` on which seeds of the whole algorithm differ; on others hardly any part is missed."""


@dataclass(frozen=True)
class Run:
    """One line of the results."""

    instance: str
    hash: str
    objective: str
    variant: str
    seed: int
    budget: str
    sources: str  # digest of the solver's code: runs of different ones cannot be compared
    value: float | None  # the referee's, None without a plan
    evaluations: int
    seconds: float  # without compilation

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.hash, self.objective, self.variant, self.seed


def budget_text(limit: Budget) -> str:
    """A budget that all variants get, in words."""
    parts = (limit.seconds, "s"), (limit.evaluations, "evaluations")
    return ", ".join(f"{value:.15g} {unit}" for value, unit in parts if value is not None)


def runs(
    limit: Budget,
    seeds: int,
    done: frozenset[tuple[str, str, str, int]] = frozenset(),
    benchmarks: Sequence[Benchmark] = BENCHMARKS,
    variants: Sequence[str] = tuple(VARIANTS),
) -> Iterator[Run]:
    """Make all runs that are not done; a seed of everything before the next one, so that a part is fair too."""
    for seed in range(seeds):
        for benchmark in benchmarks:
            for variant in variants:
                if (benchmark.instance.content_hash, benchmark.objective, variant, seed) not in done:
                    yield run_of(benchmark, variant, limit, seed)


def run_of(benchmark: Benchmark, variant: str, limit: Budget, seed: int) -> Run:
    """One run on one thread, in this process: all variants share the compiled code."""
    options = {} if variant == FULL else dict(option.split("=", 1) for option in variant.split())
    solver = make_solver(SOLVER, options)
    solver.warm_up()
    started = time.perf_counter()
    outcome = solver.solve(benchmark.problem, replace(limit, seed=seed), Monitor())
    seconds = time.perf_counter() - started
    return Run(
        instance=benchmark.name,
        hash=benchmark.instance.content_hash,
        objective=benchmark.objective,
        variant=variant,
        seed=seed,
        budget=budget_text(limit),
        sources=solver_digest(SOLVER),
        value=judge(benchmark.problem, outcome).value,
        evaluations=outcome.evaluations,
        seconds=round(seconds, 3),
    )


FILE = Path(__file__).parents[2] / "results" / "ablation.csv"
COLUMNS = tuple(field.name for field in fields(Run))


def read_runs(path: Path) -> list[Run]:
    """The runs of a file, none if there is no file; a line that was cut short is left out."""
    if not path.exists():
        return []
    text = read_text(path)
    texts = {field.name: str for field in fields(Run) if field.type == "str"}
    table = pd.read_csv(io.StringIO(text[: text.rfind("\n") + 1]), dtype=texts)
    if tuple(table.columns) != COLUMNS:
        raise InputError(f"{path}: header: is not {','.join(COLUMNS)}")
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return [Run(**{str(name): value for name, value in row.items()}) for row in rows]


def append_run(path: Path, run: Run) -> None:
    """Add a whole line at once."""
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(_table([run]).to_csv(index=False, header=False))


def write_runs(path: Path, runs: Iterable[Run]) -> None:
    """The header and these runs, in place of what was there."""
    write_text(path, _table(runs).to_csv(index=False))


def _table(runs: Iterable[Run]) -> pd.DataFrame:
    return pd.DataFrame(list(runs), columns=COLUMNS, dtype=object)


TABLE: Mapping[str, Cell] = {
    "option": lambda row: f"`{row['variant']}`",
    "off is": lambda row: VARIANTS[row["variant"]],
    "mean loss": as_percent("mean", signed=True),
    "largest loss": as_percent("largest", signed=True),
    "worse": as_text("worse"),
    "better": as_text("better"),
    "without a plan": as_text("failed"),
}
SIGNIFICANCE = 0.05
PROBLEM = ["instance", "objective"]


def ablation_table(path: Path) -> str:
    """A row per variant, in the order of `VARIANTS`, and a line on how it was measured."""
    made = _table(read_runs(path))
    if made.empty:
        return "Not measured yet; `make ablation` does."
    values = made.fillna({"value": inf}).groupby(["variant", *PROBLEM])["value"].apply(list)
    full = values[FULL].rename("full")
    compared = values.drop(FULL).rename("off").reset_index().merge(full, on=PROBLEM)
    pairs = list(zip(compared["off"], compared["full"], strict=True))
    verdicts = pd.Series(significant([difference(*pair) for pair in pairs]), dtype=int)
    compared["loss"] = pd.Series([loss(*pair) for pair in pairs], dtype=float)
    compared["worse"], compared["better"] = verdicts == 1, verdicts == -1
    compared["failed"] = [off.count(inf) for off, _ in pairs]
    rows = compared.groupby("variant").agg(
        mean=("loss", "mean"),
        largest=("loss", "max"),
        **{count: (count, "sum") for count in ("worse", "better", "failed")},
    )
    in_order = rows.loc[[variant for variant in VARIANTS if variant in rows.index]].reset_index()
    return (
        f"{table(TABLE, in_order.to_dict('records'), ('option', 'off is'))}\n\n"
        f"{len(full)} instances, {made['seed'].nunique()} seeds, {', '.join(sorted(made['budget'].unique()))} a run, "
        "one thread. Loss: geometric mean over the seeds against the whole algorithm's, its mean and largest over the "
        "instances; *worse* and *better* count instances by two-sided Mann-Whitney tests at a false discovery rate of "
        f"{SIGNIFICANCE:g} in this table."
    )


def loss(values: Sequence[float], full: Sequence[float]) -> float:
    """How much larger the geometric mean is, over the runs that found a plan; nan where there is none.

    Not the median: where seeds end in one of two basins, it shows nothing or all of the distance between them.
    """
    ours, theirs = ([log(value) for value in each if value < inf] for each in (values, full))
    return exp(fmean(ours) - fmean(theirs)) - 1 if ours and theirs else nan


def difference(values: Sequence[float], full: Sequence[float]) -> tuple[float, int]:
    """The chance of a difference as large where there is none, and 1 if the values are worse (larger), else -1.

    The seeds do not pair the runs: after the first difference they draw other numbers. Values are compared to
    nine digits, so that mirrored plans, equal but for rounding, count as ties.
    """
    ours, theirs = ([float(f"{value:.9g}") for value in each] for each in (values, full))
    if len({*ours, *theirs}) == 1:
        return 1.0, 1
    test = mannwhitneyu(ours, theirs, alternative="two-sided")
    return float(test.pvalue), 1 if test.statistic > len(ours) * len(theirs) / 2 else -1


def significant(tests: Sequence[tuple[float, int]]) -> list[int]:
    """The sign of each test that holds beside all the others, 0 for the rest (Benjamini and Hochberg 1995)."""
    chances = false_discovery_control([chance for chance, _ in tests]) if tests else ()
    return [sign if chance < SIGNIFICANCE else 0 for (_, sign), chance in zip(tests, chances, strict=True)]
