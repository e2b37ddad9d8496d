"""Re-checks what a run folder claims, offline: plans, values, bounds, gaps, statuses and contradictions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.records.record import checksum, evaluation_to_json
from bench.reporting.frames import runs_table, with_truth
from bench.reporting.metrics import TOLERANCE, ContradictionError
from bench.runs.judge import OPTIMALITY_GAP, certified_gap
from bench.runs.store import Store
from bench.verification.proof import check_grids
from instances.errors import InputError
from instances.files import plan_from_json
from instances.instance import COST_MODEL_VERSION, Instance
from instances.objective import Goal, Reference, parse_objective
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations

Record = dict[str, Any]
Finding = str


@dataclass(frozen=True)
class Case:
    """A record with the instance and the goal that it belongs to."""

    record: Record
    instance: Instance
    goal: Goal


def verify_store(store: Store) -> list[Finding]:
    """All that is wrong in a run folder, a line each; empty if every claim holds."""
    records, asked = store.records(), store.asked()
    found: list[Finding] = []
    for record in records:
        found += [f"{record_name(record)}: {finding}" for finding in verify_record(record, store)]
    try:
        with_truth(runs_table(asked["runs"], records))
    except (ContradictionError, InputError) as error:
        found.append(str(error))
    return found


def verify_record(record: Record, store: Store) -> list[Finding]:
    """All that is wrong with one record."""
    if checksum(record) != record.get("checksum"):
        # What follows may still say which claim was touched.
        found = ["the record was changed after it was written (its checksum differs)"]
    else:
        found = []
    try:
        case = _case(record, store)
        for check in _CHECKS:
            found += list(check(case))
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
        found.append(f"cannot be read: {type(error).__name__}: {error}")
    return found


def _case(record: Record, store: Store) -> Case:
    instance = store.instance(record["instance"])
    if record["cost_model_version"] != COST_MODEL_VERSION:
        raise InputError(f"cost-model version {record['cost_model_version']}, this is {COST_MODEL_VERSION}")
    if record["instance_hash"] != instance.content_hash:
        raise InputError("the stored instance has another content hash than the record")
    reference = record["reference"] and Reference(record["reference"]["time_s"], record["reference"]["energy_j"])
    return Case(record, instance, parse_objective(record["objective"]).goal(reference))


def _plan(case: Case) -> Iterator[Finding]:
    """The plan is feasible, and the stored figures are the referee's."""
    record = case.record
    if record["plan"] is None:
        figures = ["value", "gap", "time_s", "energy_j", "breakdown"]
        yield from (f"there is no plan, but a {name}" for name in figures if record[name] is not None)
        return
    plan = plan_from_json(record["plan"], case.instance, "plan")
    reasons = violations(case.instance, plan)
    if reasons:
        yield f"the plan is infeasible: {reasons[0]}"
        return
    evaluation = evaluate(case.instance, plan)
    yield from (f"the plan breaks a cap: {reason}" for reason in case.goal.cap_violations(evaluation))
    yield from _differences("value", record["value"], case.goal.value(evaluation))
    yield from _differences("time_s", record["time_s"], evaluation.time_s)
    yield from _differences("energy_j", record["energy_j"], evaluation.energy_j)
    yield from _differences("breakdown", record["breakdown"], evaluation_to_json(case.instance, evaluation))


def _front(case: Case) -> Iterator[Finding]:
    """Every point of a front is the referee's, and none dominates another."""
    before: dict[str, Any] | None = None
    for number, point in enumerate(case.record["front"] or ()):
        plan = plan_from_json(point["plan"], case.instance, f"front[{number}]")
        reasons = violations(case.instance, plan)
        if reasons:
            yield f"front[{number}] is infeasible: {reasons[0]}"
            continue
        evaluation = evaluate(case.instance, plan)
        yield from _differences(f"front[{number}].time_s", point["time_s"], evaluation.time_s)
        yield from _differences(f"front[{number}].energy_j", point["energy_j"], evaluation.energy_j)
        if before and not (point["time_s"] > before["time_s"] and point["energy_j"] < before["energy_j"]):
            yield f"front[{number}] and the point before it are out of order or dominate each other"
        before = point


def _status(case: Case) -> Iterator[Finding]:
    """Status, value, bound and gap fit together (SPEC 1.6)."""
    record = case.record
    status, value, bound, gap = (record[name] for name in ("status", "value", "bound", "gap"))
    if case.goal.front:
        if (status in ("optimal", "feasible")) != bool(record["front"]):
            yield f"the status {status} does not fit the front"
        if (value, bound, gap) != (None, None, None):
            yield "a front has no value, bound or gap"
        return
    if (status in ("optimal", "feasible")) != (value is not None):
        yield f"the status {status} does not fit the value {value}"
    if value is None or bound is None:
        if gap is not None:
            yield f"the gap {gap} needs both a value and a bound"
        if status == "optimal":
            yield "the status optimal needs a bound"
        return
    if bound > value * (1 + TOLERANCE):
        yield f"the bound {bound!r} lies above the value {value!r}"
    expected = certified_gap(value, bound)
    if gap is None or abs(gap - expected) > TOLERANCE:
        yield f"the gap is {gap!r}, value and bound give {expected!r}"
    if (status == "optimal") != (expected <= OPTIMALITY_GAP):
        yield f"the status {status} does not fit the certified gap {expected:.3g}"


def _grids(case: Case) -> Iterator[Finding]:
    """The proof of an exact method: every legal grid is there, and their bounds give the global one."""
    grids = case.record["details"].get("grids")
    if grids is not None:
        yield from check_grids(case.instance, case.goal, grids, case.record)


def _trace(case: Case) -> Iterator[Finding]:
    """The trace falls and does not end below the value."""
    values = [value for _, _, value in case.record["trace"]]
    if any(later >= earlier for earlier, later in itertools.pairwise(values)):
        yield "the trace does not fall"
    if values and case.record["value"] is not None and values[-1] < case.record["value"] * (1 - TOLERANCE):
        yield f"the trace ends at {values[-1]!r}, below the value {case.record['value']!r}"


_CHECKS: Sequence[Callable[[Case], Iterator[Finding]]] = (_plan, _front, _status, _grids, _trace)


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


def record_name(record: Record) -> str:
    """Names a run in a finding."""
    words = (record.get("instance"), record.get("objective"), record.get("solver"), f"seed {record.get('seed')}")
    return ", ".join(map(str, words))
