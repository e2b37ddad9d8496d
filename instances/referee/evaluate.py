"""The referee: what a feasible plan costs, in plain loops. Every published number comes from here.

The fill-drain schedule is a flow shop of identical jobs, once forward and once backward, so its makespan has the
closed form used below (docs/model.md, Iteration time): the fill, then the bottleneck, the slowest step, for every
further micro-batch. The gradient exchange is DT-FM's (Yuan et al. 2022, section 3). GPUs of a group are
interchangeable: transfers that differ in their ends alone are counted, not listed, so that thousands of pipelines
cost no more than the groups that they use.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import fsum

from instances.instance import Group, Instance
from instances.plan import Gpu, Plan
from instances.rates import Metric, Rates, has_metric
from instances.referee.violations import slot_bytes, violations
from instances.workload import Workload

MANY = 24
"""Groups that hold a stage from which on vectors are faster than plain loops."""


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
class Step:
    """What one micro-batch takes at `stage` (x_s, y_s) or, with `link`, on the links to and from the next stage
    (c_s, d_s without latency)."""

    stage: int
    link: bool
    forward_s: float
    backward_s: float


@dataclass(frozen=True)
class Pipeline:
    """One pipeline of a plan: its steps in order, compute and links by turns.

    `fill_s` is one micro-batch through it and back, latencies included; `steady_s` is (M - 1) times its slowest
    steps, forward and backward.
    """

    number: int
    steps: tuple[Step, ...]
    fill_s: float
    steady_s: float
    slowest_forward: Step
    slowest_backward: Step

    @property
    def seconds(self) -> float:
        """T_r."""
        return self.fill_s + self.steady_s


@dataclass(frozen=True)
class Evaluation:
    """A feasible plan's iteration. fill_s + steady_s = pipeline_s; pipeline_s + sync_s = time_s."""

    time_s: float
    energy_j: float
    fill_s: float  # of the slowest pipeline
    steady_s: float  # of the slowest pipeline
    pipeline_s: float
    sync_s: float
    network_energy_j: float
    tokens_per_s: float
    micro_batch_count: int
    gpus: tuple[GpuShare, ...]
    pipelines: tuple[Pipeline, ...]  # R, in the plan's order
    exchange_s: tuple[float, ...]  # D_s of each stage; zeros where R = 1
    gradient_bytes: tuple[float, ...]  # G_s of each stage
    carbon_g: float | None  # None where a site has no figure
    cost_usd: float | None

    def energy_as(self, metric: Metric) -> float:
        """The energy, in the unit of `metric`."""
        value = {"energy": self.energy_j, "carbon": self.carbon_g, "cost": self.cost_usd}[metric]
        if value is None:
            raise ValueError(f"the instance's sites give no {metric}")
        return value

    @property
    def slowest(self) -> Pipeline:
        """The pipeline that ends last, the first of equals."""
        return max(self.pipelines, key=lambda pipeline: pipeline.seconds)

    @property
    def slowest_exchange(self) -> int | None:
        """The stage whose gradient exchange takes longest; None if there is nothing to exchange."""
        return self.exchange_s.index(self.sync_s) if self.sync_s > 0 else None


def evaluate(instance: Instance, plan: Plan) -> Evaluation:
    """Cost of a feasible plan. ValueError, with the first reason, if it is infeasible."""
    reasons = violations(instance, plan)
    if reasons:
        raise ValueError(reasons[0])
    return evaluate_feasible(instance, plan)


def evaluate_feasible(instance: Instance, plan: Plan) -> Evaluation:
    """Cost of a plan that has no `violations`; meaningless for any other."""
    training = instance.training
    count = training.global_batch // (plan.replicas * plan.micro_batch)
    pipelines = _pipelines(instance, plan, count)
    gradients = gradient_bytes(instance, plan)
    exchange = tuple(_exchange(instance, plan, stage, gradient) for stage, gradient in enumerate(gradients))
    slowest = max(pipelines, key=lambda pipeline: pipeline.seconds)
    sync = max(exchange)
    time = slowest.seconds + sync

    # Stages and links take turns in a pipeline's steps.
    steps = [step for pipeline in pipelines for step in pipeline.steps[::2]]
    busy = [count * (step.forward_s + step.backward_s) for step in steps]
    gpus = [gpu for row in plan.pipelines for gpu in row]
    moved = _bytes_moved(instance, plan, gradients)
    gpu_energy, network_energy = _energies(Rates.of(instance, "energy"), gpus, busy, time, moved)
    totals = {"energy": fsum(gpu_energy) + network_energy}
    for metric in ("carbon", "cost"):
        if has_metric(instance, metric):
            of_gpus, of_network = _energies(Rates.of(instance, metric), gpus, busy, time, moved)
            totals[metric] = fsum(of_gpus) + of_network
    memory = slot_bytes(instance, plan)
    return Evaluation(
        time_s=time,
        energy_j=totals["energy"],
        fill_s=slowest.fill_s,
        steady_s=slowest.steady_s,
        pipeline_s=slowest.seconds,
        sync_s=sync,
        network_energy_j=network_energy,
        tokens_per_s=training.global_batch * instance.model.sequence / time,
        micro_batch_count=count,
        gpus=tuple(
            GpuShare(gpu, seconds, time - seconds, energy, memory[step.stage], instance.groups[gpu.group].memory)
            for gpu, step, seconds, energy in zip(gpus, steps, busy, gpu_energy, strict=True)
        ),
        pipelines=pipelines,
        exchange_s=exchange,
        gradient_bytes=gradients,
        carbon_g=totals.get("carbon"),
        cost_usd=totals.get("cost"),
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


def gradient_bytes(instance: Instance, plan: Plan) -> tuple[float, ...]:
    """Bytes of the gradient of each stage (G_s)."""
    work = Workload.of(instance.model, instance.training)
    last = plan.stages - 1
    return tuple(
        instance.training.gradient_bytes * work.stage_parameters(count, first=stage == 0, last=stage == last)
        for stage, count in enumerate(plan.layers)
    )


def _pipelines(instance: Instance, plan: Plan, count: int) -> tuple[Pipeline, ...]:
    """All pipelines; those of the same groups have the same steps."""
    alike = {row: _pipeline(instance, plan, row, count) for row in dict.fromkeys(plan.groups)}
    return tuple(replace(alike[row], number=number) for number, row in enumerate(plan.groups))


def _pipeline(instance: Instance, plan: Plan, row: tuple[int, ...], count: int) -> Pipeline:
    latency, bandwidth, _ = instance.links
    work = Workload.of(instance.model, instance.training)
    message = work.message_bytes * plan.micro_batch
    steps: list[Step] = []
    delays: list[float] = []
    last = len(row) - 1
    for stage, k in enumerate(row):
        seconds = stage_seconds(work, instance.groups[k], plan.micro_batch, plan.layers[stage], last=stage == last)
        steps.append(Step(stage, False, *seconds))
        if stage < last:
            j = row[stage + 1]
            steps.append(Step(stage, True, message / bandwidth[k][j], message / bandwidth[j][k]))
            delays.append(latency[k][j] + latency[j][k])
    forward = max(steps, key=lambda step: step.forward_s)
    backward = max(steps, key=lambda step: step.backward_s)
    fill = fsum([*(step.forward_s for step in steps), *(step.backward_s for step in steps), *delays])
    steady = (count - 1) * (forward.forward_s + backward.backward_s)
    return Pipeline(0, tuple(steps), fill, steady, forward, backward)


def _exchange(instance: Instance, plan: Plan, stage: int, gradient: float) -> float:
    """Seconds to average the gradient of one stage over its holders, in two rounds (D_s)."""
    if plan.replicas == 1:
        return 0.0
    share, holders = gradient / plan.replicas, plan.holders[stage]
    if len(holders) > MANY:
        return 2 * _slowest_of_many(instance, holders, share)
    latency, bandwidth, _ = instance.links
    slowest = 0.0
    for k in holders:
        others = [(j, number - (j == k)) for j, number in holders.items()]
        out = fsum(_repeated((latency[k][j] + share / bandwidth[k][j], number) for j, number in others if number))
        into = fsum(_repeated((latency[j][k] + share / bandwidth[j][k], number) for j, number in others if number))
        slowest = max(slowest, out, into)
    return 2 * slowest


def _slowest_of_many(instance: Instance, holders: Mapping[int, int], share: float) -> float:
    """The same sums of the same terms, a vector for each holder."""
    import numpy as np

    members, counts = np.array(list(holders)), np.array(list(holders.values()))
    pairs, links = np.ix_(members, members), instance.link_arrays
    latency, bandwidth = links.latency[pairs], links.bandwidth[pairs]
    seconds = latency + share / bandwidth
    slowest = 0.0
    for terms, own in [(row, k) for matrix in (seconds, seconds.T) for k, row in enumerate(matrix)]:
        numbers = counts - (np.arange(len(counts)) == own)
        digits = range(int(numbers.max()).bit_length())
        parts = [terms[(numbers >> digit & 1).astype(bool)] * (1 << digit) for digit in digits]
        slowest = max(slowest, fsum(np.concatenate(parts).tolist()))
    return slowest


def _bytes_moved(
    instance: Instance, plan: Plan, gradients: tuple[float, ...]
) -> list[tuple[tuple[int, int, float], int]]:
    """All transfers of an iteration that take energy: sending group, receiving group, bytes; and how many of each."""
    if instance.network.energy_per_byte is None:
        return []
    work = Workload.of(instance.model, instance.training)
    activations = instance.training.global_batch // plan.replicas * work.message_bytes  # M * mb * A
    moved: Counter[tuple[int, int, float]] = Counter()
    for row in plan.groups:
        for k, j in itertools.pairwise(row):
            moved[k, j, activations] += 1
            moved[j, k, activations] += 1
    for stage, gradient in enumerate(gradients):
        share = 2 * gradient / plan.replicas
        holders = plan.holders[stage]
        for (k, senders), (j, receivers) in itertools.product(holders.items(), repeat=2):
            moved[k, j, share] += senders * (receivers - (k == j))
    return list(moved.items())


def _energies(
    rates: Rates, gpus: list[Gpu], busy: list[float], time: float, moved: list[tuple[tuple[int, int, float], int]]
) -> tuple[list[float], float]:
    """What each GPU takes in the time of an iteration, and what all links take."""
    of_gpus = [
        rates.active[gpu.group] * seconds + rates.idle[gpu.group] * (time - seconds)
        for gpu, seconds in zip(gpus, busy, strict=True)
    ]
    return of_gpus, fsum(_repeated((rates.per_byte[k][j] * size, number) for (k, j, size), number in moved))


def _repeated(terms: Iterable[tuple[float, int]]) -> Iterator[float]:
    """Every value as often as its number says, in a few parts that are exact: by the binary digits of the number."""
    for value, number in terms:
        if number == 1:
            yield value
        else:
            yield from (value * (1 << digit) for digit in range(number.bit_length()) if number >> digit & 1)
