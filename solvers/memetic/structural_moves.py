"""Structural moves within a grid: whole columns, segments and tails of pipelines are moved.

Each overwrites the split and placement of the current plan with a neighbour; the caller loads and scores it.
"""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inner
from solvers.kernel.packed import B_INDEX, R_INDEX, REPLICAS, STAGES
from solvers.memetic.layer_split import fit_layers
from solvers.memetic.randomness import below, uniform


# A dispatch over seven moves of one to ten lines each.
@inner
def reshape(p, rng):  # type: ignore[no-untyped-def]  # noqa: C901
    """One random structural move; False, with nothing changed, if the draw is invalid."""
    layers, group = p.layers, p.group
    replicas, stages = p.q[REPLICAS], p.q[STAGES]
    if stages < 2:
        return False
    u = uniform(rng)
    if u < 0.05 and replicas > 1:
        return refill_column(p, rng, below(rng, stages), replicas, stages) and refit(p, stages)
    if replicas > 1 and u < 0.2:
        swap_tails(rng, group, replicas, stages)
        return True
    a, z = below(rng, stages), below(rng, stages)
    if a == z:
        return False
    if u < 0.35:
        rotate(group, below(rng, replicas) * stages, a, z)
    elif u < 0.55:
        rotate(layers, 0, a, z)
        for r in range(replicas):
            rotate(group, r * stages, a, z)
    elif u < 0.75:
        low, high = min(a, z), max(a, z)
        while low < high:
            swap_columns(layers, group, low, high, replicas, stages)
            low += 1
            high -= 1
    else:
        # Where speeds differ, swapping a GPU rarely helps unless layers move as well.
        i = a + stages * below(rng, replicas)
        j = below(rng, len(group))
        size = 1 + below(rng, 3)
        if uniform(rng) < 0.5:
            a, z = z, a
        if layers[a] <= size or group[i] == group[j]:
            return False
        group[i], group[j] = group[j], group[i]
        layers[a] -= size
        layers[z] += size
    return True


@inner
def refit(p, stages):  # type: ignore[no-untyped-def]
    """Fit the layers to the changed placement."""
    fit_layers(p, p.q[R_INDEX], p.q[B_INDEX], stages, p.layers, p.group)
    return True


@inner
def refill_column(p, rng, s, replicas, stages):  # type: ignore[no-untyped-def]
    """Replace the GPUs of stage s by unused ones near each other; False if there are none."""
    group, slots = p.group, replicas * stages
    if len(group) == slots:
        return False
    for r in range(gather_unused(p, rng, replicas, slots)):
        slot = r * stages + s
        group[slot], group[slots + r] = group[slots + r], group[slot]
    return True


@inner
def gather_unused(p, rng, wanted, slots):  # type: ignore[no-untyped-def]
    """Move fast unused GPUs near a random one to the front of the unused; returns how many, at most `wanted`."""
    group = p.group
    c = p.endpoint[group[slots + below(rng, len(group) - slots)]]
    count = min(wanted, len(group) - slots)
    for free in range(slots, slots + count):
        least = np.inf
        chosen = free
        for i in range(free, len(group)):
            d = p.endpoint[group[i]]
            seconds = p.link[c, d, 0] + p.link[d, c, 0] + p.o.message_bytes * (p.link[c, d, 1] + p.link[d, c, 1])
            seconds += p.speed[0, group[i], 0] * 2.0 * uniform(rng)
            if seconds < least:
                least = seconds
                chosen = i
        group[chosen], group[free] = group[free], group[chosen]
    return count


@inner
def rotate(values, start, a, z):  # type: ignore[no-untyped-def]
    """Move the entry at start + a to start + z, shifting those in between."""
    moved = values[start + a]
    way = 1 if z > a else -1
    while a != z:
        values[start + a] = values[start + a + way]
        a += way
    values[start + z] = moved


@inner
def swap_columns(layers, group, a, z, replicas, stages):  # type: ignore[no-untyped-def]
    """Swap two stages, GPUs and layers."""
    layers[a], layers[z] = layers[z], layers[a]
    for r in range(replicas):
        i, j = r * stages + a, r * stages + z
        group[i], group[j] = group[j], group[i]


@inner
def swap_tails(rng, group, replicas, stages):  # type: ignore[no-untyped-def]
    """Swap the same range of stages between two pipelines; every stage keeps its holders."""
    r = below(rng, replicas)
    q = (r + 1 + below(rng, replicas - 1)) % replicas
    first = below(rng, stages)
    last = stages if uniform(rng) < 0.5 else first + 1 + below(rng, stages - first)
    for s in range(first, last):
        i, j = r * stages + s, q * stages + s
        group[i], group[j] = group[j], group[i]
