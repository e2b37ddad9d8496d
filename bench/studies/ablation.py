"""What each part of `memetic` is worth: the variants, the problems, and the runs of a comparison at equal budgets."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from bench.runs.judge import judge
from bench.runs.suite import entries_of, read_suite
from instances.errors import InputError
from instances.instance import Instance
from instances.objective import Objective, parse_objective
from solvers.core.interface import Budget, Monitor, Problem
from solvers.core.registry import make_solver
from solvers.placements.uniform import reference_of

SOLVER = "memetic"
FULL = "full"
VARIANTS = {
    FULL: "nothing",
    "site_by_site=false": "plans made site by site in the population from the start",
    "construct=false": "constructions; new plans are random",
    "tries=1": "the choice among constructions",
    "greed=1": "the sharper choice among grids",
    "stagnation=0": "the stagnation penalty of grids",
    "transplant=0": "plans brought over from neighbouring grids",
    "crossover=0": "children of two plans",
    "fresh=0": "new plans, four of five constructed",
    "layer_fit=false": "splits fitted to placements of children",
    "elites=1": "populations; one plan a grid",
    "anneal=0": "annealing",
    "focus=0": "moves that start at a bottleneck",
    "structural=0": "moves of columns, tails and segments",
    "regrid=0": "moves to neighbouring grids while annealing",
    "guide=0": "the guide beside maxima in the score",
    "descent=false": "the walk to a local optimum",
}
"""By options of the solver, separated by blanks: what is off. A share set to 0 goes to disturbed elites."""


@dataclass(frozen=True)
class Ground:
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


GROUNDS = (
    Ground("paper", "dtfm-worldwide-mixed-gpt3-1.3b-64gpus-seed0", "time"),
    Ground("paper", "dtfm-universities-mixed-gpt3-1.3b-64gpus-seed0", "time"),
    Ground("paper", "volunteer-gpt3-1.3b-64gpus-seed0", "time"),
    Ground("paper", "volunteer-gpt-neo-2.7b-128gpus-seed0", "time"),
    Ground("paper", "cloud-gpt3-13b-128gpus-seed0", "time"),
    Ground("paper", "campus-llama-7b-128gpus-seed0", "time"),
    Ground("paper", "dtfm-us-regions-mixed-gpt3-6.7b-128gpus-seed0", "energy@1x"),
    Ground("paper", "dtfm-worldwide-mixed-gpt3-6.7b-128gpus-seed0", "energy@1x"),
)
"""The instances of `paper` on which seeds of the whole algorithm differ; on others hardly any part is missed."""


@dataclass(frozen=True)
class Run:
    """One line of the results.

    Attributes
    ----------
    sources
        Digest of the solver's code: runs of different ones cannot be compared.
    value
        The referee's, None without a plan.
    seconds
        Without compilation.
    """

    instance: str
    hash: str
    objective: str
    variant: str
    seed: int
    budget: str
    sources: str
    value: float | None
    evaluations: int
    seconds: float

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.hash, self.objective, self.variant, self.seed


@dataclass(frozen=True)
class Limit:
    """The budget that all variants get."""

    seconds: float | None = None
    evaluations: int | None = None

    def __str__(self) -> str:
        parts = (
            None if self.seconds is None else f"{self.seconds:g} s",
            None if self.evaluations is None else f"{self.evaluations} evaluations",
        )
        return ", ".join(part for part in parts if part)


@cache
def sources() -> str:
    """Digest of the code that the solver is made of."""
    from solvers.core.compiled import ROOT, source_digest

    return source_digest(ROOT / "solvers" / SOLVER / "search.py", ROOT)


def runs(
    limit: Limit,
    seeds: int,
    done: frozenset[tuple[str, str, str, int]] = frozenset(),
    grounds: Sequence[Ground] = GROUNDS,
    variants: Sequence[str] = tuple(VARIANTS),
) -> Iterator[Run]:
    """Make all runs that are not done; a seed of everything before the next one, so that a part is fair too."""
    for seed in range(seeds):
        for ground in grounds:
            for variant in variants:
                if (ground.instance.content_hash, ground.objective, variant, seed) not in done:
                    yield run_of(ground, variant, limit, seed)


def run_of(ground: Ground, variant: str, limit: Limit, seed: int) -> Run:
    """One run on one thread, in this process: all variants share the compiled code."""
    options = {} if variant == FULL else dict(option.split("=", 1) for option in variant.split())
    solver = make_solver(SOLVER, options)
    started = time.perf_counter()
    outcome = solver.solve(ground.problem, Budget(limit.seconds, limit.evaluations, seed, threads=1), Monitor())
    seconds = time.perf_counter() - started - outcome.compile_s
    return Run(
        instance=ground.name,
        hash=ground.instance.content_hash,
        objective=ground.objective,
        variant=variant,
        seed=seed,
        budget=str(limit),
        sources=sources(),
        value=judge(ground.problem, outcome).value,
        evaluations=outcome.evaluations,
        seconds=round(seconds, 3),
    )
