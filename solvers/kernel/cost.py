"""The compiled cost model: time, energy and violation of a plan given as arrays, for searches.

Agrees with the referee (`instances.referee.evaluate`) to 1e-9; published numbers still come from the referee.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.objective import CAP_SLACK, Goal
from instances.tables import Floats, Ints, Tables
from solvers.core.compiled import compiled


class KernelTables(NamedTuple):
    """What compiled code needs of `Tables` and `Goal`; shapes as there, limits absent are infinite."""

    batch: int
    counts: Ints
    replicas: Ints
    micro_batches: Ints
    forward: Floats
    backward: Floats
    send: Floats
    latency: Floats
    bandwidth: Floats
    gradient: Floats
    fits: Ints
    message_bytes: float
    active: Floats
    idle: Floats
    per_byte: Floats
    has_link_energy: bool
    power: Floats
    site: Ints
    power_caps: Floats
    time_weight: float
    energy_weight: float
    time_cap: float
    energy_cap: float


def kernel_tables(tables: Tables, goal: Goal) -> KernelTables:
    """The arrays of one problem, contiguous and of fixed types."""
    cap = 1 + CAP_SLACK
    return KernelTables(
        batch=tables.batch,
        counts=tables.counts,
        replicas=np.array(tables.replicas, dtype=np.int64),
        micro_batches=np.array(tables.micro_batches, dtype=np.int64),
        forward=tables.forward,
        backward=tables.backward,
        send=np.ascontiguousarray(tables.send),
        latency=tables.latency,
        bandwidth=tables.bandwidth,
        gradient=tables.gradient,
        fits=tables.fits,
        message_bytes=tables.message_bytes,
        active=tables.active,
        idle=tables.idle,
        per_byte=tables.per_byte,
        has_link_energy=bool(tables.per_byte.any()),
        power=tables.power,
        site=tables.site,
        power_caps=tables.power_caps,
        time_weight=goal.time_weight,
        energy_weight=goal.energy_weight,
        time_cap=np.inf if goal.time_cap is None else goal.time_cap * cap,
        energy_cap=np.inf if goal.energy_cap is None else goal.energy_cap * cap,
    )


@compiled
def pipeline_seconds(t, b, layers, row, count):  # type: ignore[no-untyped-def]
    """Makespan of one pipeline and its busy energy less idle energy, per micro-batch (T_r; J)."""
    stages = len(layers)
    fill = 0.0
    slowest_forward = 0.0
    slowest_backward = 0.0
    above_idle = 0.0
    for s in range(stages):
        k = row[s]
        last = 1 if s == stages - 1 else 0
        x = t.forward[b, k, last, layers[s]]
        y = t.backward[b, k, last, layers[s]]
        fill += x + y
        slowest_forward = max(slowest_forward, x)
        slowest_backward = max(slowest_backward, y)
        above_idle += (t.active[k] - t.idle[k]) * (x + y)
        if last == 0:
            j = row[s + 1]
            c = t.send[b, k, j]
            d = t.send[b, j, k]
            fill += c + d + t.latency[k, j] + t.latency[j, k]
            slowest_forward = max(slowest_forward, c)
            slowest_backward = max(slowest_backward, d)
    return fill + (count - 1) * (slowest_forward + slowest_backward), above_idle


@compiled
def exchange_seconds(t, gradient, groups, s):  # type: ignore[no-untyped-def]
    """Seconds to average the gradient (bytes) of stage s over its holders, both rounds (D_s)."""
    replicas = groups.shape[0]
    share = gradient / replicas
    slowest = 0.0
    for r in range(replicas):
        k = groups[r, s]
        out = 0.0
        into = 0.0
        for other in range(replicas):
            if other != r:
                j = groups[other, s]
                out += t.latency[k, j] + share / t.bandwidth[k, j]
                into += t.latency[j, k] + share / t.bandwidth[j, k]
        slowest = max(slowest, max(out, into))
    return 2 * slowest


@compiled
def link_energy(t, layers, groups):  # type: ignore[no-untyped-def]
    """Energy of all bytes sent in an iteration."""
    replicas, stages = groups.shape
    activations = t.batch // replicas * t.message_bytes
    total = 0.0
    for r in range(replicas):
        for s in range(stages - 1):
            k = groups[r, s]
            j = groups[r, s + 1]
            total += activations * (t.per_byte[k, j] + t.per_byte[j, k])
    for s in range(stages):
        share = 2 * stage_gradient(t, layers, s) / replicas
        for r in range(replicas):
            for other in range(replicas):
                if other != r:
                    total += share * t.per_byte[groups[r, s], groups[other, s]]
    return total


@compiled
def stage_gradient(t, layers, s):  # type: ignore[no-untyped-def]
    """Bytes of the gradient of stage s (G_s)."""
    return t.gradient[1 if s == 0 else 0, 1 if s == len(layers) - 1 else 0, layers[s]]


@compiled
def measure(t, b, layers, groups):  # type: ignore[no-untyped-def]
    """Time and energy of a plan on a legal grid, in s and in the figure's unit."""
    replicas, stages = groups.shape
    count = t.batch // (replicas * t.micro_batches[b])
    pipeline = 0.0
    busy = 0.0
    idle_power = 0.0
    for r in range(replicas):
        seconds, above_idle = pipeline_seconds(t, b, layers, groups[r], count)
        pipeline = max(pipeline, seconds)
        busy += above_idle
        for s in range(stages):
            idle_power += t.idle[groups[r, s]]
    sync = 0.0
    if replicas > 1:
        for s in range(stages):
            sync = max(sync, exchange_seconds(t, stage_gradient(t, layers, s), groups, s))
    time = pipeline + sync
    energy = count * busy + idle_power * time
    if t.has_link_energy:
        energy += link_energy(t, layers, groups)
    return time, energy


@compiled
def violation(t, r_index, b, layers, groups):  # type: ignore[no-untyped-def]
    """Layers that do not fit + GPUs used too often + relative power excess; 0 if feasible."""
    replicas, stages = groups.shape
    excess = 0.0
    used = np.zeros(len(t.counts), dtype=np.int64)
    draw = np.zeros(len(t.power_caps))
    for r in range(replicas):
        for s in range(stages):
            k = groups[r, s]
            used[k] += 1
            if t.site[k] >= 0:
                draw[t.site[k]] += t.power[k]
            over = layers[s] - t.fits[r_index, b, k, 1 if s == 0 else 0, 1 if s == stages - 1 else 0]
            excess += max(0, over)
    for k in range(len(used)):
        excess += max(0, used[k] - t.counts[k])
    for site in range(len(draw)):
        excess += max(0.0, draw[site] / t.power_caps[site] - 1.0)
    return excess
