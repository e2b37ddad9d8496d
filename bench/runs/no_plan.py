"""Why a run has no plan, in words: the limit of the instance that leaves none, or what was tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.runs.judge import Verdict
from instances.instance import Instance
from instances.referee.evaluate import evaluate
from instances.referee.violations import BYTE_SLACK
from instances.tables import Grid, Tables
from instances.workload import Workload
from solvers.core.interface import Outcome, Problem, Status
from solvers.placements.uniform import best_uniform


def explained(problem: Problem, outcome: Outcome, verdict: Verdict) -> Verdict:
    """The verdict; where it has no plan, with the reason why."""
    if verdict.status not in (Status.INFEASIBLE, Status.UNKNOWN):
        return verdict
    reasons = [verdict.reason, obstacle(problem) or _searched(problem, outcome, verdict.status)]
    return replace(verdict, reason="; ".join(filter(None, reasons)))


def obstacle(problem: Problem) -> str | None:
    """The limit that by itself leaves no plan, with its figures; None if no single one does."""
    instance, tables = problem.instance, problem.tables
    if not tables.micro_batches:
        sizes = ", ".join(map(str, instance.training.micro_batches))
        return f"no micro-batch size ({sizes}) divides the global batch of {tables.batch}"
    usable = _within_power(tables)
    if not usable.gpus:
        return "the power cap of every site is below what one of its GPUs draws"
    capped = " that the power caps allow" if usable.gpus < tables.gpus else ""
    grids = usable.grids()
    largest = max(group.memory for group, count in zip(instance.groups, usable.counts, strict=True) if count)
    least = _least_bytes(instance, grids)
    if least > largest + BYTE_SLACK:
        how = "even one layer a stage" if usable.gpus > 1 and tables.layers > 1 else "the only stage"
        return f"{how} needs {_size(least)} on a GPU, the largest{capped} has {_size(largest)}"
    most = 0
    for grid in grids:
        most = max(most, usable.most_layers(grid))
        if most >= tables.layers:
            return None
    return f"the GPUs{capped} hold {most} of the {tables.layers} layers at most, whatever the grid"


def _within_power(tables: Tables) -> Tables:
    """Only as many GPUs of each group as the power cap of its site allows if no other group is used."""
    counts = tables.counts.copy()
    capped = tables.site >= 0
    counts[capped] = np.minimum(counts[capped], tables.power_caps[tables.site[capped]] // tables.power[capped])
    return replace(tables, counts=counts)


def _least_bytes(instance: Instance, grids: list[Grid]) -> float:
    """Bytes that the first or the last stage needs, whichever is more, with one layer each, in the best grid."""
    work, layers = Workload.of(instance.model, instance.training), instance.model.layers

    def need(grid: Grid, first: bool, last: bool) -> float:
        return work.stage_bytes(layers if first and last else 1, first, last, grid.replicas, grid.micro_batch)

    return min(
        need(grid, True, True) if grid.stages == 1 else max(need(grid, True, False), need(grid, False, True))
        for grid in grids
    )


def _searched(problem: Problem, outcome: Outcome, status: Status) -> str:
    """Where no single limit leaves no plan: what was tried, and the limits that plans have to keep."""
    tried = outcome.evaluations
    if status is Status.UNKNOWN and not tried:
        return "no plan was tried" + (" before the limit" if outcome.limit_reached else "")
    limits = "; ".join([*_limits(problem.instance), *_caps(problem)])
    if status is Status.INFEASIBLE:
        return f"no plan keeps all limits at once: {limits}"
    return f"{tried:,} plan{'s' if tried > 1 else ''} tried, none keeps all limits: {limits}"


def _limits(instance: Instance) -> list[str]:
    """The limits of the instance itself."""
    found = ["memory"]
    caps = [region for region, site in (instance.sites or {}).items() if site.power_cap is not None]
    if caps:
        found.append(f"power caps ({_some(caps)})")
    names, linked = [group.name for group in instance.groups], instance.links.linked
    missing = [
        f"{names[k]} and {names[j]}" if k < j else f"the GPUs of {names[k]}"
        for k in range(len(names))
        for j in range(k, len(names))
        if not linked[k][j] and (k < j or instance.groups[k].count > 1)
    ]
    if missing:
        found.append(f"no link between {_some(missing)}")
    return found


def _caps(problem: Problem) -> list[str]:
    """The cap of the goal, beside what the usual launch costs."""
    goal = problem.goal
    if goal.time_cap is None and goal.energy_cap is None:
        return []
    plan, _ = best_uniform(problem.instance, problem.tables)
    cost = plan and evaluate(problem.instance, plan)
    found = []
    for what, cap, unit, value in (
        ("time", goal.time_cap, "s", cost and cost.time_s),
        ("energy", goal.energy_cap, "J", cost and cost.energy_j),
    ):
        if cap is not None:
            usual = f", where the best uniform plan takes {value:.6g} {unit}" if value is not None else ""
            found.append(f"the {what} cap of {cap:.6g} {unit}{usual}")
    return found


def _some(names: list[str]) -> str:
    """The first few of a list, and how many more there are."""
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


def _size(count: float) -> str:
    """Bytes with a unit that leaves few digits."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:,.4g} {unit}"
    return f"{count:.4g} bytes"
