"""Reasons why a plan is infeasible, as sentences that name stage, GPU, need and capacity."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product
from math import fsum

from instances.instance import Instance
from instances.plan import Plan, gpu_name
from instances.workload import Workload

BYTE_SLACK = 1e-3
"""Slack of memory, for rounding where a term is not a whole number of bytes (docs/model.md, Tolerances)."""
POWER_SLACK = 1e-9
"""Relative slack of a power cap, for the rounding of a sum of watts (docs/model.md, Tolerances)."""


def violations(instance: Instance, plan: Plan, memory: bool = True) -> list[str]:
    """All reasons why the plan is infeasible; empty if it is feasible.

    `memory=False` leaves out what fill-drain needs, for schedules that keep fewer micro-batches.
    """
    unknown = plan.unknown_gpus(instance)
    if unknown:
        return unknown  # nothing else can be asked of GPUs that are not there
    found = _grid(instance, plan) + _layers(instance, plan) + _gpus(instance, plan)
    # Memory needs a legal grid and split to be meaningful.
    if memory and not found:
        found = _memory(instance, plan)
    return found + _links(instance, plan) + _power(instance, plan)


def slot_bytes(instance: Instance, plan: Plan) -> tuple[float, ...]:
    """Memory that every GPU of a stage needs, in bytes, for each stage."""
    work = Workload.of(instance.model, instance.training)
    last = plan.stages - 1
    return tuple(
        work.stage_bytes(layers, stage == 0, stage == last, plan.replicas, plan.micro_batch)
        for stage, layers in enumerate(plan.layers)
    )


def _grid(instance: Instance, plan: Plan) -> list[str]:
    training = instance.training
    if plan.micro_batch not in training.micro_batches:
        choices = ", ".join(map(str, training.micro_batches))
        return [f"micro-batch {plan.micro_batch} is not one of the instance's choices: {choices}"]
    together = plan.replicas * plan.micro_batch
    if training.global_batch % together:
        return [
            f"{plan.replicas} pipelines of micro-batch {plan.micro_batch} do not divide "
            f"the global batch of {training.global_batch}"
        ]
    return []


def _layers(instance: Instance, plan: Plan) -> list[str]:
    found = [f"stage {stage} has no layers" for stage, count in enumerate(plan.layers) if count < 1]
    total, layers = sum(plan.layers), instance.model.layers
    if total != layers:
        found.append(f"the stages hold {total} layers, the model has {layers}")
    return found


def _gpus(instance: Instance, plan: Plan) -> list[str]:
    uses = Counter(gpu for row in plan.pipelines for gpu in row)
    return [f"{gpu_name(instance, gpu)} serves {count} slots" for gpu, count in uses.items() if count > 1]


def _memory(instance: Instance, plan: Plan) -> list[str]:
    found = []
    for stage, need in enumerate(slot_bytes(instance, plan)):
        for gpu in dict.fromkeys(row[stage] for row in plan.pipelines):
            capacity = instance.groups[gpu.group].memory
            if need > capacity + BYTE_SLACK:
                found.append(
                    f"stage {stage} on {gpu_name(instance, gpu)} needs {need:.0f} bytes, it has {capacity:.0f}"
                )
    return found


def _links(instance: Instance, plan: Plan) -> list[str]:
    """Pairs without a link in a direction that is needed: neighbours need both, and so do holders of a stage."""
    if all(all(row) for row in instance.links.linked):
        return []
    pairs: dict[tuple[int, int, str], None] = {}
    for row in dict.fromkeys(plan.groups):
        for stage, (k, j) in enumerate(pairwise(row)):
            where = f"stages {stage} and {stage + 1} need it"
            pairs |= {(k, j, where): None, (j, k, where): None}
    for stage, holders in enumerate(plan.holders):
        for k, j in product(holders, repeat=2):
            if k != j or holders[k] > 1:
                pairs[k, j, f"holders of stage {stage} need it"] = None
    names = [group.name for group in instance.groups]
    return [
        f"there is no link from {names[k]} to {names[j]}, {where}"
        for k, j, where in pairs
        if instance.network.bandwidth[k][j] is None
    ]


def _power(instance: Instance, plan: Plan) -> list[str]:
    caps = {name: site.power_cap for name, site in (instance.sites or {}).items() if site.power_cap is not None}
    if not caps:
        return []
    drawn: dict[str, list[float]] = {name: [] for name in caps}
    for gpu in {gpu for row in plan.pipelines for gpu in row}:
        group = instance.groups[gpu.group]
        if group.region in caps:
            drawn[group.region].append(group.power_active)
    return [
        f"the GPUs used at {region} draw {draw:g} W, the cap is {cap:g} W"
        for region, cap in caps.items()
        if (draw := fsum(drawn[region])) > cap * (1 + POWER_SLACK)
    ]
