"""What a plan's time is made of, step by step: the parts behind the referee's totals, for pictures."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

from instances.instance import Instance
from instances.plan import Plan
from instances.referee.evaluate import compute_seconds, gradient_bytes
from instances.workload import Workload


@dataclass(frozen=True)
class Step:
    """One step of a pipeline: the stage `stage`, or the link from it to the next; seconds of one micro-batch."""

    stage: int
    link: bool
    forward_s: float
    backward_s: float


@dataclass(frozen=True)
class Pipeline:
    """One pipeline's steps, in order, with its seconds and the steps that hold it up forward and backward."""

    number: int
    steps: tuple[Step, ...]
    seconds: float
    slowest_forward: Step
    slowest_backward: Step


@dataclass(frozen=True)
class Anatomy:
    """All pipelines, in the plan's order, and the seconds that each stage's gradient exchange takes (D_s)."""

    pipelines: tuple[Pipeline, ...]
    exchange_s: tuple[float, ...]

    @property
    def slowest(self) -> Pipeline:
        """The pipeline that ends last, the first of equals."""
        return max(self.pipelines, key=lambda pipeline: pipeline.seconds)

    @property
    def slowest_exchange(self) -> int | None:
        """The stage whose gradient takes longest; None if there is nothing to exchange."""
        longest = max(self.exchange_s)
        return self.exchange_s.index(longest) if longest > 0 else None


def anatomy(instance: Instance, plan: Plan) -> Anatomy:
    """The parts of a feasible plan."""
    return Anatomy(
        tuple(_pipeline(instance, plan, number) for number in range(plan.replicas)),
        tuple(_exchange_seconds(instance, plan, stage) for stage in range(plan.stages)),
    )


def _pipeline(instance: Instance, plan: Plan, number: int) -> Pipeline:
    row = plan.groups[number]
    latency, bandwidth = instance.network.latency, instance.network.bandwidth
    message = Workload.of(instance.model, instance.training).message_bytes * plan.micro_batch
    steps, delay = [], 0.0
    for stage, group in enumerate(row):
        steps.append(Step(stage, False, *compute_seconds(instance, plan, group, stage)))
        if stage + 1 < len(row):
            after = row[stage + 1]
            steps.append(Step(stage, True, message / bandwidth[group][after], message / bandwidth[after][group]))
            delay += latency[group][after] + latency[after][group]
    forward = max(steps, key=lambda step: step.forward_s)
    backward = max(steps, key=lambda step: step.backward_s)
    more = instance.training.global_batch // (plan.replicas * plan.micro_batch) - 1
    fill = fsum(step.forward_s + step.backward_s for step in steps) + delay
    return Pipeline(number, tuple(steps), fill + more * (forward.forward_s + backward.backward_s), forward, backward)


def _exchange_seconds(instance: Instance, plan: Plan, stage: int) -> float:
    latency, bandwidth = instance.network.latency, instance.network.bandwidth
    share = gradient_bytes(instance, plan, stage) / plan.replicas
    holders = [row[stage] for row in plan.groups]
    ports = [0.0]
    for r, k in enumerate(holders):
        others = [j for other, j in enumerate(holders) if other != r]
        ports.append(fsum(latency[k][j] + share / bandwidth[k][j] for j in others))
        ports.append(fsum(latency[j][k] + share / bandwidth[j][k] for j in others))
    return 2 * max(ports)
