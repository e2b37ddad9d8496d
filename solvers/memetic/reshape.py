"""Structural moves inside a grid: whole columns, segments and tails of pipelines change place.

Each writes a neighbour of the plan in work over its split and placement; the caller loads and judges it.
"""

from __future__ import annotations

from solvers.compiled import inner
from solvers.memetic.randomness import below, uniform


@inner
def reshape(rng, layers, group, replicas, stages):  # type: ignore[no-untyped-def]
    """One random structural move; False, and nothing changed, if the draw was none."""
    if stages < 2:
        return False
    u = uniform(rng)
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
        # A GPU rarely changes alone when speeds differ: its layers must follow.
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
def rotate(values, start, a, z):  # type: ignore[no-untyped-def]
    """Take the entry at start + a out and put it in at start + z; the entries between move up."""
    moved = values[start + a]
    way = 1 if z > a else -1
    while a != z:
        values[start + a] = values[start + a + way]
        a += way
    values[start + z] = moved


@inner
def swap_columns(layers, group, a, z, replicas, stages):  # type: ignore[no-untyped-def]
    """Exchange two stages, GPUs and layers."""
    layers[a], layers[z] = layers[z], layers[a]
    for r in range(replicas):
        i, j = r * stages + a, r * stages + z
        group[i], group[j] = group[j], group[i]


@inner
def swap_tails(rng, group, replicas, stages):  # type: ignore[no-untyped-def]
    """Exchange the same stretch of stages between two pipelines; the stages keep their holders."""
    r = below(rng, replicas)
    q = (r + 1 + below(rng, replicas - 1)) % replicas
    first = below(rng, stages)
    last = stages if uniform(rng) < 0.5 else first + 1 + below(rng, stages - first)
    for s in range(first, last):
        i, j = r * stages + s, q * stages + s
        group[i], group[j] = group[j], group[i]
