"""What the simulator plays with: how long each GPU computes, and the links that its messages take."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.instance import Group, Instance
from instances.plan import Plan
from instances.workload import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FORWARD, BACKWARD = 0, 1


@dataclass(frozen=True)
class Speeds:
    """The speeds of an instance, as they are or as jitter has made them.

    `slowdown` is a factor on the seconds of each GPU, in the order of groups and of numbers within them; `bandwidth`
    (bytes/s) and `latency` (s) are K x K, rows send.
    """

    slowdown: Floats
    bandwidth: Floats
    latency: Floats

    @classmethod
    def of(cls, instance: Instance) -> Speeds:
        """As the instance gives them."""
        links = instance.links
        return cls(np.ones(instance.gpus), np.array(links.bandwidth), np.array(links.latency))


@dataclass(frozen=True)
class Durations:
    """A plan in seconds and bytes. Slots are r S + s; messages of slot go forward (0) and backward (1)."""

    replicas: int
    stages: int
    count: int  # micro-batches through each pipeline, M
    compute: Floats  # [slot, direction] s of one micro-batch
    message: float  # bytes of one activation message, or of its gradient
    bandwidth: Floats  # [slot, direction] bytes/s to the next slot and to the one before; 0 where there is none
    latency: Floats  # [slot, direction] s
    site: Ints  # [slot, direction] site whose uplink a message takes; -1 within a site
    share: Floats  # [stage] bytes that each holder of the stage serves, G_s / R
    peer_bandwidth: Floats  # [stage, sender, receiver] bytes/s between holders
    peer_latency: Floats  # [stage, sender, receiver] s
    peer_site: Ints  # [stage, sender, receiver] site whose uplink a transfer takes; -1 within a site
    uplink: Floats  # [site] bytes/s of the fastest link that leaves it

    @classmethod
    def of(cls, instance: Instance, plan: Plan, speeds: Speeds | None = None) -> Durations:
        """The durations of a plan that fits the instance (its grid divides the batch)."""
        speeds = speeds or Speeds.of(instance)
        work = Workload.of(instance.model, instance.training)
        replicas, stages = plan.replicas, plan.stages
        groups = np.array(plan.groups)
        sites, uplink = _sites(instance, speeds)
        compute = np.array(
            [
                stage_compute(work, instance.groups[gpu.group], plan, stage)
                for row in plan.pipelines
                for stage, gpu in enumerate(row)
            ]
        )
        starts = np.cumsum([0, *(group.count for group in instance.groups)])
        numbers = [starts[gpu.group] + gpu.number for row in plan.pipelines for gpu in row]
        links = _links(groups, sites, speeds)
        holders = groups.T  # [stage, replica]
        senders, receivers = holders[:, :, None], holders[:, None, :]
        parameters = [
            work.stage_parameters(layers, stage == 0, stage == stages - 1) for stage, layers in enumerate(plan.layers)
        ]
        return cls(
            replicas=replicas,
            stages=stages,
            count=instance.training.global_batch // (replicas * plan.micro_batch),
            compute=compute * speeds.slowdown[numbers, None],
            message=float(work.message_bytes * plan.micro_batch),
            **links,
            share=np.array(parameters) * instance.training.gradient_bytes / replicas,
            peer_bandwidth=speeds.bandwidth[senders, receivers],
            peer_latency=speeds.latency[senders, receivers],
            peer_site=np.where(sites[senders] == sites[receivers], -1, sites[senders]),
            uplink=uplink,
        )


def stage_compute(work: Workload, group: Group, plan: Plan, stage: int) -> tuple[float, float]:
    """Seconds that a GPU of the group takes for a micro-batch at a stage: forward and backward."""
    layers, head = plan.layers[stage], stage == plan.stages - 1
    profile, size = group.profile, str(plan.micro_batch)
    if profile is not None:
        forward, backward = profile.forward[size] * layers, profile.backward[size] * layers
        if head:
            forward, backward = forward + profile.head_forward[size], backward + profile.head_backward[size]
        return forward, backward
    block, logits = layers * work.block_forward_flops, head * work.head_forward_flops
    seconds_per_flop = (plan.micro_batch + (group.half_batch or 0)) / group.flops
    back = block * work.backward_factor + logits * work.HEAD_BACKWARD_FACTOR
    return (block + logits) * seconds_per_flop, back * seconds_per_flop


def _sites(instance: Instance, speeds: Speeds) -> tuple[Ints, Floats]:
    """The site of each group, and the bandwidth of the fastest link that leaves a site (0 if there is none)."""
    names = list(dict.fromkeys(group.region for group in instance.groups))
    sites = np.array([names.index(group.region) for group in instance.groups])
    away = np.where(sites[:, None] != sites[None, :], speeds.bandwidth, 0.0).max(axis=1)
    return sites, np.array([away[sites == site].max() for site in range(len(names))])


def _links(groups: Ints, sites: Ints, speeds: Speeds) -> dict[str, Any]:
    """Bandwidth, latency and uplink of the messages of each slot, by direction."""
    replicas, stages = groups.shape
    bandwidth, latency = np.zeros((2, replicas, stages, 2))
    site = np.full((replicas, stages, 2), -1)
    for r, s in product(range(replicas), range(stages)):
        for direction, to in ((FORWARD, s + 1), (BACKWARD, s - 1)):
            if 0 <= to < stages:
                k, j = groups[r, s], groups[r, to]
                bandwidth[r, s, direction], latency[r, s, direction] = speeds.bandwidth[k, j], speeds.latency[k, j]
                site[r, s, direction] = -1 if sites[k] == sites[j] else sites[k]
    shape = (replicas * stages, 2)
    return {
        "bandwidth": bandwidth.reshape(shape),
        "latency": latency.reshape(shape),
        "site": site.reshape(shape),
    }
