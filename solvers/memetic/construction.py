"""Constructed plans: uniform ones, as in the usual launch, and greedy chains of near, fast, low-power GPUs."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inner
from solvers.kernel.packed import KEY, LEFT
from solvers.memetic.copying import copy
from solvers.memetic.randomness import below, shuffle, uniform


@inner
def list_gpus(p, group):  # type: ignore[no-untyped-def]
    """All GPUs in listed order."""
    i = 0
    for k in range(len(p.counts)):
        for _ in range(p.counts[k]):
            group[i] = k
            i += 1


@inner
def uniform_plan(p, r_index, stages, layers, group):  # type: ignore[no-untyped-def]
    """The uniform plan (docs/model.md, Baselines): equal layers, stage s of pipeline r on GPU number s*R + r."""
    replicas = p.replicas[r_index]
    total = p.gradient.shape[1] - 1
    k = used = 0
    for s in range(stages):
        layers[s] = total // stages + (1 if s < total % stages else 0)
        for r in range(replicas):
            while used == p.counts[k]:
                k += 1
                used = 0
            group[r * stages + s] = k
            used += 1
    append_unused(p, group, replicas * stages)


@inner
def reset_left(p, left):  # type: ignore[no-untyped-def]
    """Make all GPUs of each group available again."""
    copy(p.counts, 0, left, 0, p.o.groups)


@inner
def append_unused(p, group, slots):  # type: ignore[no-untyped-def]
    """Append the GPUs that the first `slots` entries leave out."""
    left = p.whole[LEFT]
    reset_left(p, left)
    for i in range(slots):
        left[group[i]] -= 1
    i = slots
    for k in range(p.o.groups):
        for _ in range(left[k]):
            group[i] = k
            i += 1


@inner
def random_placement(p, rng, group):  # type: ignore[no-untyped-def]
    """All GPUs in random order."""
    list_gpus(p, group)
    shuffle(rng, group, p.o.gpus)


@inner
def next_in_chain(p, rng, k, own, weight, message, left):  # type: ignore[no-untyped-def]
    """The group of least cost, with some noise, for the GPU that follows one of group k."""
    c = p.endpoint[k]
    best = np.inf
    chosen = -1
    for g in range(p.o.groups):
        if left[g] > 0:
            d = p.endpoint[g]
            seconds = p.link[c, d, 0] + p.link[d, c, 0]
            seconds += message * (p.link[c, d, 1] + p.link[d, c, 1])
            cost = (own[g] + weight * seconds) * (1.0 + 0.1 * uniform(rng))
            if chosen < 0 or cost < best:  # costs may all be infinite
                best = cost
                chosen = g
    return chosen


@inner
def chain_placement(p, rng, r_index, b, stages, group):  # type: ignore[no-untyped-def]
    """Chain GPUs greedily, each near the one before, and fast or low-power by random weights; lay out the chain.

    Laid out along pipelines, neighbours in the chain are neighbouring stages; across, they share a stage. A large
    weight on speed selects the fastest GPUs, one on links goes site by site.
    """
    replicas = p.replicas[r_index]
    slots = replicas * stages
    groups = len(p.counts)
    message = p.o.message_bytes * p.sizes[b]
    near = 2.0 ** (8.0 * uniform(rng) - 4.0)
    fast = 2.0 ** (8.0 * uniform(rng) - 4.0)
    low_power = 0.0 if p.goal[1] == 0.0 else 2.0 ** (8.0 * uniform(rng) - 4.0)
    across = uniform(rng) < 0.5
    # Seconds and joules of a block, each relative to its least; a GPU may draw no more when it works.
    own = p.real[KEY]
    least_seconds = least_joules = np.inf
    for k in range(groups):
        seconds = p.speed[b, k, 0] + p.speed[b, k, 1]
        least_seconds = min(least_seconds, seconds)
        if p.rates[k, 0] > 0.0:
            least_joules = min(least_joules, seconds * p.rates[k, 0])
    for k in range(groups):
        seconds = p.speed[b, k, 0] + p.speed[b, k, 1]
        own[k] = fast * seconds / least_seconds + low_power * seconds * p.rates[k, 0] / least_joules
    weight = near / least_seconds
    left = p.whole[LEFT]
    reset_left(p, left)
    k = below(rng, groups)
    if uniform(rng) < 0.5:
        other = below(rng, groups)
        k = other if own[other] < own[k] else k
    for i in range(slots):
        slot = (i % replicas) * stages + i // replicas if across else i
        group[slot] = k
        left[k] -= 1
        if i == slots - 1:
            break
        k = next_in_chain(p, rng, k, own, weight, message, left)
    append_unused(p, group, slots)
