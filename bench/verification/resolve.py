"""Solves what was claimed once more, by a witness that shares as little as the size allows and starts elsewhere.

Enumeration shares nothing with the exact methods. The whole models of the other method (`whole=true`) share its leaf
models, but no bound or branching. The other method's search shares both; it is left for what is larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from bench.records.record import Record
from bench.runs.isolated import IsolatedRun
from bench.runs.judge import Verdict, judge
from instances.instance import Instance
from instances.objective import CAP_SLACK, Goal
from solvers.core.gap import OPTIMAL_GAP, TOLERANCE
from solvers.core.interface import Budget, Problem, Status

OTHER = {"milp": "cpsat", "cpsat": "milp", "brute": "cpsat"}
"""Who solves again; `cpsat` what a method from outside this project claims."""
ENUMERATED, WHOLE = 1000, 3000
"""Largest grids x GPUs x layers for enumeration, and for whole models.

Measured in CPU seconds: enumeration takes below 0.1 up to 600 and about 10 at 2,880; from the stored plan the whole
models take 2 to 13 (`cpsat`) and 12 to 25 (`milp`, not always to its end) at 2,880, and 14 and over 45 at 5,760.
"""
BELOW = 1 - 4 * CAP_SLACK
"""A cap just under a point's time: its slack does not let the point itself through."""


@dataclass(frozen=True)
class Witness:
    """Who solves again: a solver with options, named for the reader."""

    solver: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The solver, and whether it takes the plain models of whole grids."""
        return f"{self.solver}[whole]" if "whole" in self.options else self.solver


@dataclass(frozen=True)
class Resolved:
    """Who solved again, whether that confirmed the claim in time, and what contradicts it."""

    witness: str
    repeated: bool
    findings: list[str]


def witness_of(record: Record, problem: Problem) -> Witness:
    """The most independent method that is quick enough on an instance of this size; its start is not the record's."""
    tables, other = problem.tables, OTHER.get(record.solver, "cpsat")
    size = len(tables.grids()) * tables.gpus * tables.layers
    if size <= ENUMERATED and record.solver != "brute":
        return Witness("brute")
    start = {"start": "memetic" if record.options.get("start") == "megatron" else "megatron"}
    return Witness(other, {**start, "whole": "true"}) if size <= WHOLE else Witness(other, start)


def resolve(record: Record, instance: Instance, seconds: float) -> Resolved:
    """Solve again what the record claims: from another start and seed, and without the record's plan."""
    problem = record.problem(instance)
    witness = witness_of(record, problem)
    if record.front is not None:
        return _front(record, problem, witness, seconds)
    if problem.goal.front:
        problem = replace(problem, goal=Goal(time_weight=1.0))  # no front: there is no plan at all, whatever it costs
    verdict, failed = _solve(witness, problem, seconds, record.seed + 1)
    if failed:
        return Resolved(witness.name, False, [failed])
    return Resolved(witness.name, _confirms(verdict, record), list(_contradictions(verdict, record, witness.name)))


def _solve(witness: Witness, problem: Problem, seconds: float, seed: int) -> tuple[Verdict, str | None]:
    """What the witness says, by the referee; and why it failed, if it did."""
    budget = Budget(seconds=seconds, seed=seed)
    ending = IsolatedRun(witness.solver, witness.options, problem, budget).wait()
    verdict = judge(problem, ending.outcome)
    failed = verdict.status is Status.ERROR
    return verdict, f"{witness.name} failed: {ending.reason or verdict.reason}" if failed else None


def _confirms(verdict: Verdict, record: Record) -> bool:
    """Whether the witness proved as much as the record claims."""
    if record.status is Status.INFEASIBLE or verdict.bound is None or record.bound is None:
        return verdict.status is record.status is Status.INFEASIBLE
    # Two proofs are each within the gap that `optimal` allows of the same optimum.
    return verdict.bound >= record.bound * (1 - 2 * OPTIMAL_GAP)


def _contradictions(verdict: Verdict, record: Record, name: str) -> Iterator[str]:
    value, bound = record.value, record.bound
    claims_all = record.status is Status.INFEASIBLE
    if verdict.value is not None and (claims_all or (bound is not None and verdict.value < bound * (1 - TOLERANCE))):
        claim = "that there is no plan" if claims_all else f"the bound {bound!r}"
        yield f"{record.solver} proves {claim}, {name} has a plan of {verdict.value!r}"
    if verdict.bound is not None and value is not None and verdict.bound > value * (1 + TOLERANCE):
        yield f"{name} proves the bound {verdict.bound!r}, {record.solver} has a plan of {value!r}"
    if verdict.status is Status.INFEASIBLE and value is not None:
        yield f"{name} proves that there is no plan, {record.solver} has one of {value!r}"


def _front(record: Record, problem: Problem, witness: Witness, seconds: float) -> Resolved:
    """Every gap of the front is empty: no plan is faster than the first point, and none that is faster than the next
    point takes less energy than the point before it. Each gap is one problem for the witness."""
    points = record.front or ()
    goals = [Goal(time_weight=1.0)]
    goals += [Goal(energy_weight=1.0, time_cap=point.time_s * BELOW) for point in points[1:]]
    goals.append(Goal(energy_weight=1.0))
    least = [points[0].time_s, *(point.energy_j for point in points)]
    repeated, found = True, []
    for goal, value in zip(goals, least, strict=True):
        verdict, failed = _solve(witness, replace(problem, goal=goal), seconds / len(goals), record.seed + 1)
        if failed:
            return Resolved(witness.name, False, [failed])
        limit = value * (1 - 2 * OPTIMAL_GAP)
        repeated &= verdict.bound is not None and verdict.bound >= limit
        if verdict.value is not None and verdict.value < value * (1 - 10 * TOLERANCE):
            what = "s" if goal.time_weight else f"J in less than {goal.time_cap!r} s" if goal.time_cap else "J"
            found.append(f"the front is not complete: {witness.name} has a plan of {verdict.value!r} {what}")
    return Resolved(witness.name, repeated, found)
