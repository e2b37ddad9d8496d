"""Crossover, and destroy and repair: a placement for any grid from pipelines and columns of one or two parents."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inner
from solvers.kernel.packed import ORDER, SOURCE
from solvers.memetic.construction import append_unused
from solvers.memetic.randomness import below, shuffle, uniform

EMPTY = -1


@inner
def match_columns(rng, theirs, ours, source):  # type: ignore[no-untyped-def]
    """Fill source[:ours] with the parent's column for each of the child's stages, in order; EMPTY for a new one."""
    few, many = min(theirs, ours), max(theirs, ours)
    kept = 0
    for i in range(many):
        # Choose `few` of `many` positions, all sets equally likely.
        if uniform(rng) * (many - i) < few - kept:
            if theirs <= ours:
                source[i] = kept
            else:
                source[kept] = i
            kept += 1
        elif theirs <= ours:
            source[i] = EMPTY


@inner
def draw_order(rng, order, count):  # type: ignore[no-untyped-def]
    """Write 0..count-1 to order[:count] in random order."""
    for i in range(count):
        order[i] = i
    shuffle(rng, order, count)


@inner
def inherit_rows(p, rng, parent, theirs, rows, group, stages, first, last, left):  # type: ignore[no-untyped-def]
    """Fill pipelines first..last-1 of the child from random pipelines of a parent, as far as GPUs are left."""
    source = p.whole[SOURCE]
    match_columns(rng, theirs, stages, source)
    order = p.whole[ORDER]
    draw_order(rng, order, rows)
    for r in range(first, last):
        row = order[r - first] if r - first < rows else EMPTY
        for s in range(stages):
            group[r * stages + s] = EMPTY
            if row != EMPTY and source[s] != EMPTY:
                k = parent[row * theirs + source[s]]
                if left[k] > 0:
                    group[r * stages + s] = k
                    left[k] -= 1


@inner
def inherit_columns(p, rng, parent, theirs, rows, group, replicas, stages, probability, left):  # type: ignore[no-untyped-def]
    """Fill each empty column, with the given probability, from the parent's matching one, as far as GPUs are left."""
    source = p.whole[SOURCE]
    match_columns(rng, theirs, stages, source)
    for s in range(stages):
        if source[s] == EMPTY or group[s] != EMPTY or uniform(rng) >= probability:
            continue
        for r in range(min(rows, replicas)):
            k = parent[r * theirs + source[s]]
            if left[k] > 0:
                group[r * stages + s] = k
                left[k] -= 1


@inner
def repair_slots(p, rng, r_index, b, stages, group, left):  # type: ignore[no-untyped-def]
    """Give each empty slot, in random order, a GPU near its pipeline neighbours and a peer in its stage."""
    replicas = p.replicas[r_index]
    slots = replicas * stages
    message = p.o.message_bytes * p.sizes[b] * (p.o.batch // (replicas * p.sizes[b]))
    total = p.gradient.shape[1] - 1
    share = p.gradient[0, max(1, total // stages)] / replicas
    work = (p.o.batch // replicas) / p.sizes[b] * total / stages
    order = p.whole[ORDER]
    draw_order(rng, order, slots)
    own = 4.0 ** (2.0 * uniform(rng) - 1.0)
    for i in range(slots):
        slot = order[i]
        if group[slot] != EMPTY:
            continue
        s = slot % stages
        best = np.inf
        chosen = EMPTY
        peer = below(rng, replicas) * stages + s
        for k in range(p.o.groups):
            if left[k] == 0:
                continue
            c = p.endpoint[k]
            cost = own * work * (p.speed[b, k, 0] + p.speed[b, k, 1])
            if s > 0 and group[slot - 1] != EMPTY:
                d = p.endpoint[group[slot - 1]]
                cost += p.link[c, d, 0] + message * (p.link[c, d, 1] + p.link[d, c, 1])
            if s < stages - 1 and group[slot + 1] != EMPTY:
                d = p.endpoint[group[slot + 1]]
                cost += p.link[c, d, 0] + message * (p.link[c, d, 1] + p.link[d, c, 1])
            if peer != slot and group[peer] != EMPTY:
                d = p.endpoint[group[peer]]
                cost += 2 * replicas * (p.link[c, d, 0] + share * p.link[c, d, 1])
            cost *= 1.0 + 0.2 * uniform(rng)
            if chosen == EMPTY or cost < best:  # costs may all be infinite
                best = cost
                chosen = k
        group[slot] = chosen
        left[chosen] -= 1
    append_unused(p, group, slots)


@inner
def inherit_layers(rng, parent, theirs, total, stages, layers):  # type: ignore[no-untyped-def]
    """Copy the parent's split; a random one where the depth differs."""
    if theirs == stages:
        for s in range(stages):
            layers[s] = parent[s]
        return
    for s in range(stages):
        layers[s] = 1
    for _ in range(total - stages):
        layers[below(rng, stages)] += 1


@inner
def destroy(rng, group, replicas, stages, left):  # type: ignore[no-untyped-def]
    """Empty a few slots, or one or two stages or pipelines; their GPUs become available again."""
    slots = replicas * stages
    u = uniform(rng)
    if u < 0.4:
        for _ in range(1 + below(rng, max(1, slots // 6))):
            empty_slot(group, below(rng, slots), left)
    elif u < 0.75:
        for _ in range(1 + below(rng, 2)):
            s = below(rng, stages)
            for r in range(replicas):
                empty_slot(group, r * stages + s, left)
    else:
        for _ in range(1 + below(rng, 2)):
            r = below(rng, replicas)
            for s in range(stages):
                empty_slot(group, r * stages + s, left)


@inner
def empty_slot(group, slot, left):  # type: ignore[no-untyped-def]
    """Free the GPU of a slot."""
    if group[slot] != EMPTY:
        left[group[slot]] += 1
        group[slot] = EMPTY


@inner
def cross_columns(rng, parent, mate, theirs, group, stages, left):  # type: ignore[no-untyped-def]
    """Child of two single pipelines: the first stages of one, then unused GPUs of the mate in their order."""
    cut = below(rng, stages + 1)
    for s in range(stages):
        group[s] = EMPTY
        if s < cut:
            group[s] = parent[s]
            left[parent[s]] -= 1
    s = cut
    for z in range(theirs):
        if s < stages and left[mate[z]] > 0:
            group[s] = mate[z]
            left[mate[z]] -= 1
            s += 1
