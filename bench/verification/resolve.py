"""Solves what an exact method proved once more, by a witness that shares as little as the size allows.

Enumeration shares nothing with the exact methods. The whole models of the other method (`whole=true`) share its leaf
models, but no bound or branching. The other method's search shares both; it is left for what is larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bench.records.record import Record
from bench.runs.isolated import IsolatedRun
from bench.runs.judge import judge
from instances.files import plan_of
from instances.instance import Instance
from instances.objective import Goal
from solvers.core.gap import OPTIMAL_GAP, TOLERANCE
from solvers.core.interface import Budget, Problem, Status

OTHER = {"milp": "cpsat", "cpsat": "milp", "brute": "cpsat"}
PROVEN = (Status.OPTIMAL, Status.INFEASIBLE)
ENUMERATED, WHOLE = 1000, 3000
"""Largest grids x GPUs x layers for enumeration, and for whole models.

Measured in CPU seconds: enumeration takes below 0.1 up to 600 and about 10 at 2,880; from the stored plan the whole
models take 2 to 13 (`cpsat`) and 12 to 25 (`milp`, not always to its end) at 2,880, and 14 and over 45 at 5,760.
"""


@dataclass(frozen=True)
class Witness:
    """Who solves again: a solver with options, named for the reader."""

    solver: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The solver, and whether it takes the plain models of whole grids."""
        return f"{self.solver}[whole]" if self.options else self.solver


@dataclass(frozen=True)
class Resolved:
    """Who solved again, whether the proof was repeated in time, and what contradicts it."""

    witness: str
    repeated: bool
    findings: list[str]


def is_proof(record: Record) -> bool:
    """Whether the record claims something that another method can confirm."""
    return record.solver in OTHER and record.status in PROVEN and record.front is None


def witness_of(record: Record, problem: Problem) -> Witness:
    """The most independent method that is quick enough on an instance of this size."""
    tables, other = problem.tables, OTHER[record.solver]
    size = len(tables.grids()) * tables.gpus * tables.layers
    if size <= ENUMERATED and record.solver != "brute":
        return Witness("brute")
    return Witness(other, {"whole": "true", "start": "none"}) if size <= WHOLE else Witness(other)


def resolve(record: Record, instance: Instance, seconds: float) -> Resolved:
    """Solve again, from the stored plan if there is one."""
    problem = replace(record.problem(instance), start=plan_of(record.plan, instance, "plan") if record.plan else None)
    if problem.goal.front:
        problem = replace(problem, goal=Goal(time_weight=1.0))  # no front: there is no plan at all, whatever it costs
    witness = witness_of(record, problem)
    if witness.solver == "brute":
        problem = replace(problem, start=None)
    ending = IsolatedRun(witness.solver, witness.options, problem, Budget(seconds=seconds)).wait()
    verdict, name = judge(problem, ending.outcome), witness.name
    if verdict.status is Status.ERROR:
        return Resolved(name, False, [f"{name} failed: {ending.reason or verdict.reason}"])
    found = []
    value, bound = record.value, record.bound
    if verdict.value is not None and (bound is None or verdict.value < bound * (1 - TOLERANCE)):
        claim = "that there is no plan" if value is None else f"the bound {bound!r}"
        found.append(f"{record.solver} proves {claim}, {name} has a plan of {verdict.value!r}")
    if verdict.bound is not None and value is not None and verdict.bound > value * (1 + TOLERANCE):
        found.append(f"{name} proves the bound {verdict.bound!r}, {record.solver} has a plan of {value!r}")
    if verdict.status is Status.INFEASIBLE and value is not None:
        found.append(f"{name} proves that there is no plan, {record.solver} has one of {value!r}")
    repeated = verdict.status is record.status
    # Two proofs are each within the gap that `optimal` allows of the same optimum.
    far = value is not None and verdict.value is not None and abs(verdict.value - value) > 2 * OPTIMAL_GAP * value
    if repeated and far:
        found.append(f"{name} proves the optimum {verdict.value!r}, {record.solver} proves {value!r}")
    return Resolved(name, repeated, found)
