"""Structural moves inside a grid: whole columns, segments and tails of pipelines change place.

Each writes a neighbour of the current plan over st.layers and st.group; the caller loads and judges it.
"""

from __future__ import annotations

from solvers.compiled import compiled
from solvers.kernel.state import REPLICAS, SLOTS, STAGES
from solvers.memetic.randomness import below, uniform


@compiled
def reshape(rng, st):  # type: ignore[no-untyped-def]
    """One random structural move; False if the plan's shape has none."""
    replicas, stages, slots = st.shape[REPLICAS], st.shape[STAGES], st.shape[SLOTS]
    if stages < 2:
        return False
    u = uniform(rng)
    if replicas > 1 and u < 0.2:
        swap_tails(rng, st.group, replicas, stages)
        return True
    a, z = below(rng, stages), below(rng, stages)
    if a == z:
        return False
    if u < 0.35:
        r = below(rng, replicas)
        rotate(st.group, r * stages, a, z, 1)
    elif u < 0.55:
        move_column(st, a, z, replicas, stages)
    elif u < 0.75:
        low, high = min(a, z), max(a, z)
        while low < high:
            swap_columns(st, low, high, replicas, stages)
            low += 1
            high -= 1
    else:
        # A GPU rarely changes alone when speeds differ: its layers must follow.
        i = a + stages * below(rng, replicas)
        j = below(rng, len(st.group))
        size = 1 + below(rng, 3)
        if uniform(rng) < 0.5:
            a, z = z, a
        if st.layers[a] <= size or st.group[i] == st.group[j]:
            return False
        st.group[i], st.group[j] = st.group[j], st.group[i]
        st.layers[a] -= size
        st.layers[z] += size
    return slots > 0


@compiled
def rotate(values, start, a, z, step):  # type: ignore[no-untyped-def]
    """Take the entry at a out and put it in at z; the entries between move up."""
    moved = values[start + a * step]
    way = 1 if z > a else -1
    while a != z:
        values[start + a * step] = values[start + (a + way) * step]
        a += way
    values[start + z * step] = moved


@compiled
def move_column(st, a, z, replicas, stages):  # type: ignore[no-untyped-def]
    """Move stage a, GPUs and layers, to position z."""
    rotate(st.layers, 0, a, z, 1)
    for r in range(replicas):
        rotate(st.group, r * stages, a, z, 1)


@compiled
def swap_columns(st, a, z, replicas, stages):  # type: ignore[no-untyped-def]
    """Exchange two stages, GPUs and layers."""
    st.layers[a], st.layers[z] = st.layers[z], st.layers[a]
    for r in range(replicas):
        i, j = r * stages + a, r * stages + z
        st.group[i], st.group[j] = st.group[j], st.group[i]


@compiled
def swap_tails(rng, group, replicas, stages):  # type: ignore[no-untyped-def]
    """Exchange the same stretch of stages between two pipelines; the stages keep their holders."""
    r = below(rng, replicas)
    q = (r + 1 + below(rng, replicas - 1)) % replicas
    first = below(rng, stages)
    last = stages if uniform(rng) < 0.5 else first + 1 + below(rng, stages - first)
    for s in range(first, last):
        i, j = r * stages + s, q * stages + s
        group[i], group[j] = group[j], group[i]
