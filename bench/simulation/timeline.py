"""What happened in a simulated iteration, and what can be read off it: time, energy, memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bench.simulation.durations import BACKWARD, FORWARD, Durations, Floats
from instances.instance import Instance
from instances.plan import Plan
from instances.workload import Workload


@dataclass(frozen=True)
class TimeLine:
    """One iteration. Times are s from its beginning; the last axis of each array is beginning and end.

    Attributes
    ----------
    compute
        [slot, direction, micro-batch, 2], slots r S + s, directions forward and backward.
    send
        [slot, direction, micro-batch, 2]: from when a message begins to leave until it has left; nan where there is
        no next stage in that direction.
    exchange
        [stage, holder, port, round, transfer, 2], ports out and in, each transfer with its latency.
    """

    instance: Instance
    plan: Plan
    durations: Durations
    compute: Floats
    send: Floats
    exchange: Floats

    @cached_property
    def pipeline_ends(self) -> Floats:
        """When each pipeline has ended, [R]."""
        ends: Floats = self.compute[..., 1].reshape(self.plan.replicas, -1).max(axis=1)
        return ends

    @property
    def pipeline_s(self) -> float:
        """When the last pipeline has ended and the exchange begins."""
        return float(self.pipeline_ends.max())

    @cached_property
    def exchange_ends(self) -> Floats:
        """When the gradient of each stage is averaged, [S]."""
        begin = self.pipeline_s
        flat = self.exchange[..., 1].reshape(self.plan.stages, -1)
        ends: Floats = flat.max(axis=1, initial=begin)
        return ends

    @property
    def time_s(self) -> float:
        """The iteration time."""
        return float(self.exchange_ends.max())

    @property
    def sync_s(self) -> float:
        """The slowest gradient exchange."""
        return self.time_s - self.pipeline_s

    @cached_property
    def busy(self) -> Floats:
        """Seconds that each GPU computes, [slot]. ValueError if one computes two things at once."""
        spans = self.compute.reshape(len(self.compute), -1, 2)
        spans = np.take_along_axis(spans, spans[..., :1].argsort(axis=1), axis=1)
        if (spans[:, 1:, 0] < spans[:, :-1, 1]).any():
            raise ValueError("a GPU computes two micro-batches at once")
        seconds: Floats = (spans[..., 1] - spans[..., 0]).sum(axis=1)
        return seconds

    @property
    def energy_j(self) -> float:
        """Power over time: each GPU's, computing and waiting, and what every message takes."""
        used = [self.instance.groups[gpu.group] for row in self.plan.pipelines for gpu in row]
        active, idle = np.array([(group.power_active, group.power_idle) for group in used]).T
        gpus = active * self.busy + idle * (self.time_s - self.busy)
        return float(gpus.sum()) + self.network_energy_j

    @property
    def network_energy_j(self) -> float:
        """Every message and every transfer of a gradient by its bytes."""
        if self.instance.network.energy_per_byte is None:
            return 0.0
        per_byte = np.array(self.instance.network.energy_per_byte)
        groups = np.array(self.plan.groups)
        sent = np.isfinite(self.send[..., 1]).sum(axis=2).reshape(*groups.shape, 2) * self.durations.message
        here, there = groups[:, :-1], groups[:, 1:]
        joules = (sent[:, :-1, FORWARD] * per_byte[here, there]).sum()
        joules += (sent[:, 1:, BACKWARD] * per_byte[there, here]).sum()
        # Each transfer leaves one port and comes in at another: it is counted where it leaves.
        replicas, (holders, numbers) = self.plan.replicas, np.indices((self.plan.replicas, self.plan.replicas - 1))
        pairs = per_byte[groups[holders], groups[(holders + 1 + numbers) % replicas]]  # [holder, transfer, stage]
        rounds = np.isfinite(self.exchange[:, :, 0, :, :, 1]).sum(axis=2)  # [stage, holder, transfer]
        return float(joules + (rounds * pairs.transpose(2, 0, 1) * self.durations.share[:, None, None]).sum())

    @cached_property
    def in_flight(self) -> tuple[int, ...]:
        """The most micro-batches of which a GPU of each stage keeps activations at a time, [S].

        They are kept from the beginning of the forward pass to the end of the backward pass.
        """
        begins, ends = self.compute[:, FORWARD, :, 0], self.compute[:, BACKWARD, :, 1]
        times = np.concatenate([ends, begins], axis=1)  # ends first: what ends frees its room for what begins then
        steps = np.concatenate([np.full(ends.shape, -1), np.full(begins.shape, 1)], axis=1)
        order = times.argsort(axis=1, kind="stable")
        kept = np.take_along_axis(steps, order, axis=1).cumsum(axis=1).max(axis=1)
        return tuple(int(most) for most in kept.reshape(self.plan.replicas, -1).max(axis=0))

    @property
    def memory(self) -> tuple[float, ...]:
        """Bytes that a GPU of each stage needs at its fullest, [S]."""
        return stage_memory(self.instance, self.plan, self.in_flight)


def stage_memory(instance: Instance, plan: Plan, in_flight: tuple[int, ...]) -> tuple[float, ...]:
    """Bytes that a GPU of each stage needs while it keeps so many micro-batches, [S]."""
    work, size, last = Workload.of(instance.model, instance.training), plan.micro_batch, plan.stages - 1
    found = []
    for stage, (layers, kept) in enumerate(zip(plan.layers, in_flight, strict=True)):
        need = work.state_bytes * work.stage_parameters(layers, stage == 0, stage == last)
        need += kept * size * layers * work.stash_bytes + size * work.working_bytes
        if stage == last:
            need += kept * size * work.head_input_bytes + size * work.logits_bytes
        found.append(need)
    return tuple(found)
