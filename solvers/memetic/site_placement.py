"""Random site-by-site placements: endpoint by endpoint along a short path, fast GPUs first."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inner
from solvers.kernel.packed import CHOSEN, KEY, LEFT, ORDER, QUEUE
from solvers.memetic.construction import append_unused, random_placement, reset_left
from solvers.memetic.ordering import order_by
from solvers.memetic.randomness import below, uniform


@inner
def short_path(p, rng, path):  # type: ignore[no-untyped-def]
    """Write to path[c] the rank of endpoint c on a nearest-neighbour path from a random start."""
    endpoints = p.o.endpoints
    amount = p.o.message_bytes * p.o.batch
    for c in range(endpoints):
        path[c] = -1
    c = p.endpoint[p.group[below(rng, len(p.group))]]
    for step in range(endpoints):
        path[c] = step
        nearest = -1
        least = np.inf
        for d in range(endpoints):
            if path[d] < 0:
                seconds = p.link[c, d, 0] + p.link[d, c, 0] + amount * (p.link[c, d, 1] + p.link[d, c, 1])
                if nearest < 0 or seconds < least:
                    nearest, least = d, seconds
        if nearest < 0:
            break
        c = nearest


@inner
def queue_gpus(p, rng, b, queue):  # type: ignore[no-untyped-def]
    """Fill `queue` with GPUs along a path, fast ones first at each endpoint, a random number of slow types left out.

    Returns the length of the queue.
    """
    groups = len(p.counts)
    path = p.whole[CHOSEN]
    short_path(p, rng, path)
    slowest = 0.0
    for k in range(groups):
        slowest = max(slowest, p.speed[b, k, 0])
    limit = p.speed[b, below(rng, groups), 0] if uniform(rng) < 0.7 else slowest
    key, order = p.real[KEY], p.whole[ORDER]
    for k in range(groups):
        key[k] = path[p.endpoint[k]] + 0.5 * p.speed[b, k, 0] / slowest
    order_by(key, order, groups)
    count = 0
    for rank in range(groups):
        k = order[rank]
        if p.speed[b, k, 0] <= limit:
            for _ in range(p.counts[k]):
                queue[count] = k
                count += 1
    return count


@inner
def site_by_site_placement(p, rng, r_index, b, stages, group):  # type: ignore[no-untyped-def]
    """Stages inside endpoints, stages of consecutive GPUs across borders, or pipelines inside endpoints.

    Where that takes more GPUs than there are, the remaining slots are filled at random.
    """
    replicas = p.replicas[r_index]
    slots = replicas * stages
    queue = p.whole[QUEUE]
    count = queue_gpus(p, rng, b, queue)
    layout = below(rng, 3)
    together = stages if layout == 2 else replicas  # what must not cross a border
    chosen = p.whole[CHOSEN]
    taken = i = 0
    while i + together <= count and taken < slots:
        if layout != 1 and p.endpoint[queue[i]] != p.endpoint[queue[i + together - 1]]:
            i += 1
            continue
        for _ in range(together):
            chosen[taken] = queue[i]
            taken += 1
            i += 1
    left = p.whole[LEFT]
    reset_left(p, left)
    for slot in range(taken):
        left[chosen[slot]] -= 1
    random_placement(p, rng, queue)
    for i in range(len(group)):
        k = queue[i]
        if taken < slots and left[k] > 0:
            chosen[taken] = k
            left[k] -= 1
            taken += 1
    turned = uniform(rng) < 0.5
    for n in range(slots):
        r, s = (n // stages, n % stages) if layout == 2 else (n % replicas, n // replicas)
        group[r * stages + (stages - 1 - s if turned else s)] = chosen[n]
    append_unused(p, group, slots)
