"""Solves what an exact method proved once more by the other one; two formulations that agree are the second opinion."""

from __future__ import annotations

from dataclasses import replace

from bench.records.record import Record
from bench.reporting.metrics import TOLERANCE
from bench.runs.isolated import IsolatedRun
from bench.runs.judge import OPTIMALITY_GAP, judge
from instances.files import plan_of
from instances.instance import Instance
from solvers.core.interface import Budget, Status

OTHER = {"milp": "cpsat", "cpsat": "milp", "brute": "cpsat"}
PROVEN = (Status.OPTIMAL, Status.INFEASIBLE)


def is_proof(record: Record) -> bool:
    """Whether the record claims something that another method can confirm."""
    return record.solver in OTHER and record.status in PROVEN and record.front is None


def resolve(record: Record, instance: Instance, seconds: float) -> tuple[bool, list[str]]:
    """Solve again from the stored plan; whether the proof was repeated in time, and what contradicts it."""
    start = plan_of(record.plan, instance, "plan") if record.plan else None
    problem = replace(record.problem(instance), start=start)
    other = OTHER[record.solver]
    ending = IsolatedRun(other, {}, problem, Budget(seconds=seconds)).wait()
    verdict = judge(problem, ending.outcome)
    if verdict.status is Status.ERROR:
        return False, [f"{other} failed: {ending.reason or verdict.reason}"]
    found = []
    value, bound = record.value, record.bound
    if verdict.value is not None and (bound is None or verdict.value < bound * (1 - TOLERANCE)):
        claim = "that there is no plan" if value is None else f"the bound {bound!r}"
        found.append(f"{record.solver} proves {claim}, {other} has a plan of {verdict.value!r}")
    if verdict.bound is not None and value is not None and verdict.bound > value * (1 + TOLERANCE):
        found.append(f"{other} proves the bound {verdict.bound!r}, {record.solver} has a plan of {value!r}")
    if verdict.status is Status.INFEASIBLE and value is not None:
        found.append(f"{other} proves that there is no plan, {record.solver} has one of {value!r}")
    repeated = verdict.status is record.status
    # Two proofs are each within the gap that `optimal` allows of the same optimum.
    far = value is not None and verdict.value is not None and abs(verdict.value - value) > 2 * OPTIMALITY_GAP * value
    if repeated and far:
        found.append(f"{other} proves the optimum {verdict.value!r}, {record.solver} proves {value!r}")
    return repeated, found
