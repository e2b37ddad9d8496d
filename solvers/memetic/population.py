"""The population: a few elite plans for every grid, in canonical form, so that no plan occurs twice."""

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
"""Share of differing stages and slots up to which two plans count as near duplicates."""


class Population(NamedTuple):
    """Niches g, one per grid, with up to e members each."""

    grids: Ints  # [g, 3] position of R, position of mb, S
    at: Ints  # [r, b, S] index of the grid, -1 if not searched
    size: Ints  # [g] members
    visits: Ints  # [g] descendants made
    stale: Ints  # [g] descendants since the best member improved
    bound: Floats  # [g] no plan of the grid is below this value
    groups: Small  # [g, e, n] placement, slot r * S + s
    layers: Small  # [g, e, L]
    merit: Floats  # [g, e, 3] T, E, violation of memory and power
    mark: Words  # [g, e] hash
    promise: Floats  # [g] scratch
    order: Ints  # [g] scratch


def new_population(tables: Tables, grids: Ints, elites: int) -> Population:
    """An empty population over the given grids."""
    niches = len(grids)
    at = np.full((len(tables.replicas), len(tables.micro_batches), tables.layers + 1), -1, dtype=np.int64)
    at[tuple(grids.T)] = np.arange(niches)
    return Population(
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
def fitness(p, time, energy, hard):  # type: ignore[no-untyped-def]
    """The fitness (less is better): the value; for infeasible plans at least twice that, rising with the violation.

    `hard` is the violation of memory and power.
    """
    value = p.goal[0] * time + p.goal[1] * energy
    excess = hard + max(0.0, time / p.goal[2] - 1.0) + max(0.0, energy / p.goal[3] - 1.0)
    return value if excess == 0.0 else value * (2.0 + 100.0 * excess)


@inner
def member_fitness(p, population, g, e):  # type: ignore[no-untyped-def]
    """The fitness of member e of niche g."""
    return fitness(p, population.merit[g, e, 0], population.merit[g, e, 1], population.merit[g, e, 2])


@inner
def best_member(p, population, g):  # type: ignore[no-untyped-def]
    """Position and merit of the best member of a niche; (-1, inf) if it is empty."""
    chosen = -1
    least = np.inf
    for e in range(population.size[g]):
        merit = member_fitness(p, population, g, e)
        if merit < least:
            chosen, least = e, merit
    return chosen, least


@inner
def promise_of(p, population, g):  # type: ignore[no-untyped-def]
    """Fitness of the best member of a niche, inf if empty; violations count less in niches with few descendants."""
    member, merit = best_member(p, population, g)
    if member < 0:
        return np.inf
    value = p.goal[0] * population.merit[g, member, 0] + p.goal[1] * population.merit[g, member, 1]
    if merit > value:
        merit = min(merit, value * (1.0 + 0.1 * population.visits[g]))
    return merit


@inner
def closest_member(population, g, layers, group, replicas, stages, shared):  # type: ignore[no-untyped-def]
    """The member that differs least, if by at most a share NEAR of stages and slots; else -1.

    It ignores in which pipeline a stage's GPU serves: with regional links many such pairings have equal cost.
    `shared` is scratch, zero for every group.
    """
    chosen = -1
    least = int(NEAR * (stages + replicas * stages))
    for e in range(population.size[g]):
        distance = 0
        for s in range(stages):
            distance += layers[s] != population.layers[g, e, s]
            for r in range(replicas):
                shared[group[r * stages + s]] += 1
            for r in range(replicas):
                k = population.groups[g, e, r * stages + s]
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
def worst_member(p, population, g):  # type: ignore[no-untyped-def]
    """The member of a niche with the worst fitness."""
    chosen = -1
    worst = -1.0
    for e in range(population.size[g]):
        value = member_fitness(p, population, g, e)
        if value > worst:
            chosen, worst = e, value
    return chosen


@inner
def admit(p, population, g, layers, group, time, energy, excess):  # type: ignore[no-untyped-def]
    """Add a plan to its niche unless it is there already or worse than all; sorts its pipelines in place."""
    stages = population.grids[g, 2]
    replicas = p.replicas[population.grids[g, 0]]
    sort_pipelines(group, replicas, stages)
    mark = fingerprint(layers, group, stages, replicas * stages)
    for e in range(population.size[g]):
        if population.mark[g, e] == mark:
            return
    # Near duplicates share one entry, or a niche would soon hold variants of one plan only.
    chosen = closest_member(population, g, layers, group, replicas, stages, p.whole[ZEROS])
    if chosen < 0 and population.size[g] < population.mark.shape[1]:
        chosen = population.size[g]
        population.size[g] += 1
    else:
        if chosen < 0:
            chosen = worst_member(p, population, g)
        if fitness(p, time, energy, excess) >= member_fitness(p, population, g, chosen):
            return
    population.mark[g, chosen] = mark
    population.merit[g, chosen, 0], population.merit[g, chosen, 1], population.merit[g, chosen, 2] = (
        time,
        energy,
        excess,
    )
    copy(layers, 0, population.layers[g, chosen], 0, stages)
    copy(group, 0, population.groups[g, chosen], 0, replicas * stages)
