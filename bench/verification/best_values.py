"""Re-checks best known values with the referee: the plans behind them, the figures and the bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bench.records.best_known import BestKnown, Key, best_known
from bench.reporting.metrics import TOLERANCE
from instances.errors import InputError
from instances.files import plan_from_json
from instances.instance import COST_MODEL_VERSION, Instance
from instances.objective import Reference, parse_objective
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations


def best_known_findings(
    instances: Iterable[Instance], known: Mapping[Key, BestKnown] | None = None
) -> tuple[int, list[str]]:
    """How many entries belong to these instances, and all that is wrong with them, a line each."""
    by_hash = {instance.content_hash: instance for instance in instances}
    names = {instance.name: instance for instance in by_hash.values()}
    count, found = 0, []
    for entry in (best_known() if known is None else known).values():
        instance = by_hash.get(entry.instance_hash) or names.get(entry.instance)
        if instance is not None:
            count += 1
            found += [
                f"best known value of {entry.instance}, {entry.objective}: {text}" for text in _wrong(entry, instance)
            ]
    return count, found


def _wrong(entry: BestKnown, instance: Instance) -> list[str]:
    if entry.instance_hash != instance.content_hash:
        return [f"belongs to the content {entry.instance_hash}, the instance has {instance.content_hash}"]
    if entry.cost_model_version != COST_MODEL_VERSION:
        return [f"is of cost-model version {entry.cost_model_version}, this is {COST_MODEL_VERSION}"]
    try:
        plan = plan_from_json(entry.plan, instance, "plan")
        given = entry.reference
        reference = Reference(given.time_s, given.energy_j) if given else None
        goal = parse_objective(entry.objective).goal(reference)
    except InputError as error:
        return [str(error)]
    reasons = violations(instance, plan)
    if reasons:
        return [f"the plan is infeasible: {reasons[0]}"]
    evaluation = evaluate(instance, plan)
    found = [f"the plan breaks a cap: {reason}" for reason in goal.cap_violations(evaluation)]
    value = goal.value(evaluation)
    if abs(entry.value - value) > TOLERANCE * value:
        found.append(f"the value is {entry.value!r}, the referee says {value!r}")
    if entry.bound is not None and entry.bound > value * (1 + TOLERANCE):
        found.append(f"the bound {entry.bound!r} lies above the value {value!r}")
    if (entry.bound is None) != (entry.bound_by is None):
        found.append("a bound and who proved it go together")
    return found
