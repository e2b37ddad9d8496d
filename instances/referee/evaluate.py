"""The referee: what a feasible plan costs, in plain loops. Every published number comes from here.

The fill-drain schedule is a flow shop of identical jobs, once forward and once backward, so its makespan
has the closed form used below; the gradient exchange is DT-FM's (Yuan et al. 2022, section 3).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import fsum

from instances.instance import Group, Instance
from instances.plan import Gpu, Plan
from instances.rates import Figure, Rates, has_figure
from instances.referee.violations import slot_bytes, violations
from instances.workload import Workload


@dataclass(frozen=True)
class GpuShare:
    """One used GPU: seconds busy and idle in an iteration, joules (without links), bytes needed and there."""

    gpu: Gpu
    busy_s: float
    idle_s: float
    energy_j: float
    memory: float
    memory_capacity: float


@dataclass(frozen=True)
class Evaluation:
    """A feasible plan's iteration. fill_s + steady_s = pipeline_s; pipeline_s + sync_s = time_s."""

    time_s: float
    energy_j: float
    fill_s: float  # one micro-batch through the slowest pipeline
    steady_s: float  # (M - 1) times the slowest forward and backward steps of that pipeline
    pipeline_s: float
    sync_s: float
    network_energy_j: float
    tokens_per_s: float
    micro_batch_count: int
    gpus: tuple[GpuShare, ...]
    carbon_g: float | None  # None where a site has no figure
    cost_usd: float | None

    def figure(self, figure: Figure) -> float:
        """The energy, in the unit of `figure`."""
        value = {"energy": self.energy_j, "carbon": self.carbon_g, "cost": self.cost_usd}[figure]
        if value is None:
            raise ValueError(f"the instance's sites give no {figure}")
        return value


def evaluate(instance: Instance, plan: Plan) -> Evaluation:
    """Cost of a feasible plan. ValueError, with the first reason, if it is infeasible."""
    reasons = violations(instance, plan)
    if reasons:
        raise ValueError(reasons[0])
    training = instance.training
    count = training.global_batch // (plan.replicas * plan.micro_batch)
    fill, steady = max((_pipeline(instance, plan, row, count) for row in plan.groups), key=sum)
    sync = max(_exchange(instance, plan, stage) for stage in range(plan.stages))
    time = (fill + steady) + sync

    slots = [(gpu, stage) for row in plan.pipelines for stage, gpu in enumerate(row)]
    busy = [count * sum(compute_seconds(instance, plan, gpu.group, stage)) for gpu, stage in slots]
    moved = _bytes_moved(instance, plan)
    rates = Rates.of(instance, "energy")
    gpu_energy = _gpu_energy(rates, slots, busy, time)
    network_energy = _network_energy(rates, moved)
    carbon, cost = (
        fsum(_gpu_energy(other, slots, busy, time)) + _network_energy(other, moved) if other else None
        for other in (
            Rates.of(instance, "carbon") if has_figure(instance, "carbon") else None,
            Rates.of(instance, "cost") if has_figure(instance, "cost") else None,
        )
    )
    shares = tuple(
        GpuShare(
            gpu=gpu,
            busy_s=seconds,
            idle_s=time - seconds,
            energy_j=energy,
            memory=slot_bytes(instance, plan, stage),
            memory_capacity=instance.groups[gpu.group].memory,
        )
        for (gpu, stage), seconds, energy in zip(slots, busy, gpu_energy, strict=True)
    )
    return Evaluation(
        time_s=time,
        energy_j=fsum(gpu_energy) + network_energy,
        fill_s=fill,
        steady_s=steady,
        pipeline_s=fill + steady,
        sync_s=sync,
        network_energy_j=network_energy,
        tokens_per_s=training.global_batch * instance.model.sequence / time,
        micro_batch_count=count,
        gpus=shares,
        carbon_g=carbon,
        cost_usd=cost,
    )


def compute_seconds(instance: Instance, plan: Plan, group: int, stage: int) -> tuple[float, float]:
    """Forward and backward seconds of one micro-batch on a GPU of `group` in `stage` (x_s, y_s)."""
    return stage_seconds(
        Workload.of(instance.model, instance.training),
        instance.groups[group],
        plan.micro_batch,
        plan.layers[stage],
        last=stage == plan.stages - 1,
    )


def stage_seconds(work: Workload, group: Group, micro_batch: int, layers: int, last: bool) -> tuple[float, float]:
    """Forward and backward seconds of `layers` blocks, with the head in the last stage (x_s, y_s)."""
    if group.profile is not None:
        size = str(micro_batch)
        forward, backward = layers * group.profile.forward[size], layers * group.profile.backward[size]
        if last:
            forward += group.profile.head_forward[size]
            backward += group.profile.head_backward[size]
        return forward, backward
    head = work.head_forward_flops if last else 0
    sequences = micro_batch + (group.half_batch or 0.0)
    forward = sequences * (layers * work.block_forward_flops + head) / group.flops
    block_backward = layers * work.block_forward_flops * work.backward_factor
    backward = sequences * (block_backward + work.HEAD_BACKWARD_FACTOR * head) / group.flops
    return forward, backward


def _pipeline(instance: Instance, plan: Plan, row: tuple[int, ...], count: int) -> tuple[float, float]:
    """Seconds to fill one pipeline and to go on in its steady state, forward and backward together."""
    latency, bandwidth = instance.network.latency, instance.network.bandwidth
    message = Workload.of(instance.model, instance.training).message_bytes * plan.micro_batch
    compute = [compute_seconds(instance, plan, group, stage) for stage, group in enumerate(row)]
    links = list(itertools.pairwise(row))
    forward_steps = [x for x, _ in compute] + [message / bandwidth[k][j] for k, j in links]
    backward_steps = [y for _, y in compute] + [message / bandwidth[j][k] for k, j in links]
    delays = [latency[k][j] + latency[j][k] for k, j in links]
    fill = fsum(forward_steps + backward_steps + delays)
    return fill, (count - 1) * (max(forward_steps) + max(backward_steps))


def gradient_bytes(instance: Instance, plan: Plan, stage: int) -> float:
    """Bytes of the gradient of one stage (G_s)."""
    work = Workload.of(instance.model, instance.training)
    parameters = work.stage_parameters(plan.layers[stage], first=stage == 0, last=stage == plan.stages - 1)
    return instance.training.gradient_bytes * parameters


def _exchange(instance: Instance, plan: Plan, stage: int) -> float:
    """Seconds to average the gradient of one stage over its holders, in two rounds (D_s)."""
    if plan.replicas == 1:
        return 0.0
    latency, bandwidth = instance.network.latency, instance.network.bandwidth
    share = gradient_bytes(instance, plan, stage) / plan.replicas
    holders = [row[stage] for row in plan.groups]
    slowest = 0.0
    for r, k in enumerate(holders):
        others = [j for other, j in enumerate(holders) if other != r]
        out = fsum(latency[k][j] + share / bandwidth[k][j] for j in others)
        into = fsum(latency[j][k] + share / bandwidth[j][k] for j in others)
        slowest = max(slowest, out, into)
    return 2 * slowest


def _bytes_moved(instance: Instance, plan: Plan) -> list[tuple[int, int, float]]:
    """All transfers of an iteration: sending group, receiving group, bytes."""
    work = Workload.of(instance.model, instance.training)
    activations = instance.training.global_batch // plan.replicas * work.message_bytes  # M * mb * A
    moved: list[tuple[int, int, float]] = []
    for row in plan.groups:
        for k, j in itertools.pairwise(row):
            moved += [(k, j, activations), (j, k, activations)]
    for stage in range(plan.stages):
        share = 2 * gradient_bytes(instance, plan, stage) / plan.replicas
        holders = [row[stage] for row in plan.groups]
        moved += [(k, j, share) for r, k in enumerate(holders) for s, j in enumerate(holders) if r != s]
    return moved


def _gpu_energy(rates: Rates, slots: list[tuple[Gpu, int]], busy: list[float], time: float) -> list[float]:
    return [
        rates.active[gpu.group] * seconds + rates.idle[gpu.group] * (time - seconds)
        for (gpu, _), seconds in zip(slots, busy, strict=True)
    ]


def _network_energy(rates: Rates, moved: list[tuple[int, int, float]]) -> float:
    return fsum(rates.per_byte[k][j] * size for k, j, size in moved)
