"""The population: a few elite plans for every grid, in canonical form, so that no plan is held twice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.tables import Floats, Ints, Tables
from solvers.core.compiled import inner
from solvers.kernel.packed import ZEROS
from solvers.memetic.copying import copy
from solvers.memetic.randomness import Words, mix

Small = NDArray[np.int16]
_ONE = np.uint64(1)
NEAR = 0.15
"""Share of differing stages and slots up to which two plans count as one family."""


class Pool(NamedTuple):
    """Niches g, one a grid, with up to e members each."""

    grids: Ints  # [g, 3] position of R, position of mb, S
    at: Ints  # [r, b, S] which grid that is, -1 if none
    size: Ints  # [g] members
    visits: Ints  # [g] descendants made
    stale: Ints  # [g] descendants since the best member got better
    bound: Floats  # [g] no plan of the grid is below this value
    groups: Small  # [g, e, n] placement, slot r * S + s
    layers: Small  # [g, e, L]
    merit: Floats  # [g, e, 3] T, E, violation of memory and power
    mark: Words  # [g, e] hash
    promise: Floats  # [g] scratch
    order: Ints  # [g] scratch


def new_pool(tables: Tables, grids: Ints, elites: int) -> Pool:
    """An empty population over the given grids."""
    niches = len(grids)
    at = np.full((len(tables.replicas), len(tables.micro_batches), tables.layers + 1), -1, dtype=np.int64)
    at[tuple(grids.T)] = np.arange(niches)
    return Pool(
        grids=grids,
        at=at,
        size=np.zeros(niches, dtype=np.int64),
        visits=np.zeros(niches, dtype=np.int64),
        stale=np.zeros(niches, dtype=np.int64),
        bound=np.full(niches, -np.inf),
        groups=np.zeros((niches, elites, tables.gpus), dtype=np.int16),
        layers=np.zeros((niches, elites, tables.layers), dtype=np.int16),
        merit=np.zeros((niches, elites, 3)),
        mark=np.zeros((niches, elites), dtype=np.uint64),
        promise=np.zeros(niches),
        order=np.zeros(niches, dtype=np.int64),
    )


@inner
def sort_pipelines(group, replicas, stages):  # type: ignore[no-untyped-def]
    """Sort the rows of a placement in place: the canonical form."""
    for r in range(1, replicas):
        q = r
        while q > 0:
            i, j = (q - 1) * stages, q * stages
            s = 0
            while s < stages and group[i + s] == group[j + s]:
                s += 1
            if s == stages or group[i + s] < group[j + s]:
                break
            for z in range(stages):
                group[i + z], group[j + z] = group[j + z], group[i + z]
            q -= 1


@inner
def fingerprint(layers, group, stages, slots):  # type: ignore[no-untyped-def]
    """Hash of a canonical plan of a known grid."""
    word = np.uint64(stages)
    for s in range(stages):
        word = mix(word * np.uint64(31) + np.uint64(layers[s]) + _ONE)
    for slot in range(slots):
        word = mix(word * np.uint64(31) + np.uint64(group[slot]) + _ONE)
    return word


@inner
def rank_value(p, time, energy, hard):  # type: ignore[no-untyped-def]
    """What the search ranks members by: the value; for infeasible ones at least twice that, and more by violation.

    `hard` is the violation of memory and power.
    """
    value = p.goal[0] * time + p.goal[1] * energy
    excess = hard + max(0.0, time / p.goal[2] - 1.0) + max(0.0, energy / p.goal[3] - 1.0)
    return value if excess == 0.0 else value * (2.0 + 100.0 * excess)


@inner
def member_value(p, pool, g, e):  # type: ignore[no-untyped-def]
    """What the search ranks member e of niche g by."""
    return rank_value(p, pool.merit[g, e, 0], pool.merit[g, e, 1], pool.merit[g, e, 2])


@inner
def best_member(p, pool, g):  # type: ignore[no-untyped-def]
    """Position and merit of the best member of a niche; (-1, inf) if it is empty."""
    chosen = -1
    least = np.inf
    for e in range(pool.size[g]):
        merit = member_value(p, pool, g, e)
        if merit < least:
            chosen, least = e, merit
    return chosen, least


@inner
def promise_of(p, pool, g):  # type: ignore[no-untyped-def]
    """What the best member of a niche may become, as a value; inf if it is empty.

    The less work went into a niche, the less its violations count.
    """
    member, merit = best_member(p, pool, g)
    if member < 0:
        return np.inf
    value = p.goal[0] * pool.merit[g, member, 0] + p.goal[1] * pool.merit[g, member, 1]
    if merit > value:
        merit = min(merit, value * (1.0 + 0.1 * pool.visits[g]))
    return merit


@inner
def closest_member(pool, g, layers, group, replicas, stages, shared):  # type: ignore[no-untyped-def]
    """The member that differs least, if in no more than a fraction NEAR of stages and slots; else -1.

    Which pipeline a stage's GPU serves in is left out: with regional links many such pairings cost the same.
    `shared` is scratch, zero for every group.
    """
    chosen = -1
    least = int(NEAR * (stages + replicas * stages))
    for e in range(pool.size[g]):
        distance = 0
        for s in range(stages):
            distance += layers[s] != pool.layers[g, e, s]
            for r in range(replicas):
                shared[group[r * stages + s]] += 1
            for r in range(replicas):
                k = pool.groups[g, e, r * stages + s]
                if shared[k] > 0:
                    shared[k] -= 1
                else:
                    distance += 1
            for r in range(replicas):
                shared[group[r * stages + s]] = 0
        if distance <= least:
            chosen, least = e, distance
    return chosen


@inner
def worst_member(p, pool, g):  # type: ignore[no-untyped-def]
    """The member of a niche that the search ranks last."""
    chosen = -1
    worst = -1.0
    for e in range(pool.size[g]):
        value = member_value(p, pool, g, e)
        if value > worst:
            chosen, worst = e, value
    return chosen


@inner
def admit(p, pool, g, layers, group, time, energy, excess):  # type: ignore[no-untyped-def]
    """Take a plan into its niche unless it is there or worse than all; sorts its pipelines in place."""
    stages = pool.grids[g, 2]
    replicas = p.replicas[pool.grids[g, 0]]
    sort_pipelines(group, replicas, stages)
    mark = fingerprint(layers, group, stages, replicas * stages)
    for e in range(pool.size[g]):
        if pool.mark[g, e] == mark:
            return
    # Near relatives share one place, or a niche would soon hold one plan and its shades.
    chosen = closest_member(pool, g, layers, group, replicas, stages, p.whole[ZEROS])
    if chosen < 0 and pool.size[g] < pool.mark.shape[1]:
        chosen = pool.size[g]
        pool.size[g] += 1
    else:
        if chosen < 0:
            chosen = worst_member(p, pool, g)
        if rank_value(p, time, energy, excess) >= member_value(p, pool, g, chosen):
            return
    pool.mark[g, chosen] = mark
    pool.merit[g, chosen, 0], pool.merit[g, chosen, 1], pool.merit[g, chosen, 2] = time, energy, excess
    copy(layers, 0, pool.layers[g, chosen], 0, stages)
    copy(group, 0, pool.groups[g, chosen], 0, replicas * stages)
