"""Re-checks what one record claims, offline: plan, value, bound, gap, status, front, proof and trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench.records.record import Breakdown, Record, checksum
from bench.runs.store import Store
from bench.verification.ability import check_ability, check_ending
from bench.verification.circumstances import check_origin, check_run, check_seconds, check_trace
from bench.verification.proof import check_grids
from instances.errors import InputError
from instances.files import FrontPoint, plan_of
from instances.referee.check import Infeasible, check
from solvers.core.gap import OPTIMAL_GAP, TOLERANCE, certified_gap
from solvers.core.interface import Problem, Status

Finding = str
WITH_PLAN = (Status.OPTIMAL, Status.FEASIBLE)


def verify_record(record: Record, store: Store) -> list[Finding]:
    """All that is wrong with one record."""
    found = []
    if checksum(record.to_json()) != record.checksum:
        # What follows may still say which claim was touched.
        found.append("the record was changed after it was written (its checksum differs)")
    try:
        problem = record.problem(store.instance(record))
        for check_claim in _CHECKS:
            found += list(check_claim(record, problem))
    except InputError as error:
        found.append(f"cannot be read: {error}")
    if record.run_key != record.key:
        found.append("the key is not that of the run that the record describes")
    return found


def _plan(record: Record, problem: Problem) -> Iterator[Finding]:
    """The plan is feasible, and the stored figures are the referee's."""
    if record.plan is None:
        figures = ("value", "gap", "time_s", "energy_j", "breakdown")
        yield from (f"there is no plan, but a {name}" for name in figures if getattr(record, name) is not None)
        return
    checked = check(problem.instance, plan_of(record.plan, problem.instance, "plan"), problem.goal)
    if isinstance(checked, Infeasible):
        yield f"the plan is infeasible: {checked}"
        return
    yield from _differences("value", record.value, problem.goal.value(checked))
    yield from _differences("time_s", record.time_s, checked.time_s)
    yield from _differences("energy_j", record.energy_j, checked.energy_j)
    stored = record.breakdown and record.breakdown.model_dump(mode="json")
    yield from _differences("breakdown", stored, Breakdown.of(problem.instance, checked).model_dump(mode="json"))


def _front(record: Record, problem: Problem) -> Iterator[Finding]:
    """Every point of a front is the referee's, and none dominates another."""
    before: FrontPoint | None = None
    for number, point in enumerate(record.front or ()):
        where = f"front[{number}]"
        checked = check(problem.instance, plan_of(point.plan, problem.instance, where))
        if isinstance(checked, Infeasible):
            yield f"{where} is infeasible: {checked}"
            continue
        yield from _differences(f"{where}.time_s", point.time_s, checked.time_s)
        yield from _differences(f"{where}.energy_j", point.energy_j, checked.energy_j)
        if before and not (point.time_s > before.time_s and point.energy_j < before.energy_j):
            yield f"{where} and the point before it are out of order or dominate each other"
        before = point


def _status(record: Record, problem: Problem) -> Iterator[Finding]:
    """The status fits what was found (docs/model.md, Gaps)."""
    if problem.goal.front:
        if (record.status in WITH_PLAN) != bool(record.front):
            yield f"the status {record.status} does not fit the front"
        if (record.value, record.bound, record.gap) != (None, None, None):
            yield "a front has no value, bound or gap"
    elif (record.status in WITH_PLAN) != (record.value is not None):
        yield f"the status {record.status} does not fit the value {record.value}"


def _gap(record: Record, problem: Problem) -> Iterator[Finding]:
    """Value, bound, gap and the claim of optimality fit together (docs/model.md, Gaps)."""
    if problem.goal.front:
        return
    if record.value is None or record.bound is None:
        if record.gap is not None:
            yield f"the gap {record.gap} needs both a value and a bound"
        if record.status is Status.OPTIMAL:
            yield "the status optimal needs a bound"
        return
    if record.bound > record.value * (1 + TOLERANCE):
        yield f"the bound {record.bound!r} lies above the value {record.value!r}"
    expected = certified_gap(record.value, record.bound)
    if record.gap is None or abs(record.gap - expected) > TOLERANCE:
        yield f"the gap is {record.gap!r}, value and bound give {expected!r}"
    if (record.status is Status.OPTIMAL) != (expected <= OPTIMAL_GAP):
        yield f"the status {record.status} does not fit the certified gap {expected:.3g}"


def _grids(record: Record, problem: Problem) -> Iterator[Finding]:
    """The proof of an exact method: every legal grid is there, and their bounds give the global one."""
    grids = record.grids()
    if grids is not None:
        yield from check_grids(problem, grids, record)


_CHECKS: Sequence[Callable[[Record, Problem], Iterator[Finding]]] = (
    *(_plan, _front, _status, _gap, _grids),
    *(check_ability, check_ending, check_run, check_seconds, check_origin, check_trace),
)


def _differences(where: str, stored: Any, expected: Any) -> Iterator[Finding]:
    """Where two JSON values differ by more than rounding."""
    if isinstance(expected, dict) and isinstance(stored, dict) and stored.keys() == expected.keys():
        for key, value in expected.items():
            yield from _differences(f"{where}.{key}", stored[key], value)
    elif isinstance(expected, list) and isinstance(stored, list) and len(stored) == len(expected):
        for number, value in enumerate(expected):
            yield from _differences(f"{where}[{number}]", stored[number], value)
    elif isinstance(expected, float) and isinstance(stored, int | float):
        if abs(stored - expected) > TOLERANCE * abs(expected):
            yield f"{where} is {stored!r}, the referee says {expected!r}"
    elif stored != expected:
        yield f"{where} is {stored!r}, the referee says {expected!r}"
