"""The search loop, compiled: choose a grid, breed a plan for it, improve it, take it into the population.

It stops after any number of evaluations and goes on where it was, so Python can look at the clock between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.tables import Floats, Ints
from solvers.compiled import compiled, inner
from solvers.kernel.full import cap_excess
from solvers.kernel.packed import (
    ENERGY,
    ENERGY_CAP,
    ENERGY_WEIGHT,
    EXCESS,
    GUIDE,
    PENALTY,
    SCORE,
    TIME,
    TIME_CAP,
    TIME_WEIGHT,
    Packed,
)
from solvers.kernel.state import load
from solvers.memetic.anneal import anneal
from solvers.memetic.construct import chain_placement, random_placement, uniform_plan
from solvers.memetic.descent import descend
from solvers.memetic.inherit import HOLE, fill_holes, inherit_columns, inherit_layers, inherit_rows, ruin
from solvers.memetic.layer_fit import fit_layers, plan_score
from solvers.memetic.ordering import order_by
from solvers.memetic.parameters import Settings
from solvers.memetic.pool import Pool, admit, best_member, promise_of
from solvers.memetic.randomness import Words, below, uniform
from solvers.memetic.record import Record, offer

PASS, CURSOR, NICHE, STEPS = range(4)
"""Entries of `Search.control`: starts made for each grid, grid whose turn is next, grid in work, proposals left."""


class Search(NamedTuple):
    """All there is to a run; everything but `settings` is changed in place."""

    p: Packed
    spare: Ints  # [L + n] scratch
    pool: Pool
    record: Record
    rng: Words
    control: Ints  # [4]
    heat: Floats  # [3] see `anneal`
    settings: Settings


@compiled
def advance(search, limit, left):  # type: ignore[no-untyped-def]
    """Search on until `limit` more plans were costed, or slightly more, never many more than `left`.

    What happens depends on `left` only in the last walk, and not at all on `limit`. Returns the plans costed.
    """
    costed = 0
    control, settings = search.control, search.settings
    while costed < limit:
        if control[PASS] < settings.starts:
            costed += start_next(search)
            continue
        if control[STEPS] <= 0:
            costed += breed(search)
        steps = min(control[STEPS], limit - costed)
        if steps <= 0:
            break
        costed += anneal(
            search.p,
            search.spare,
            search.rng,
            search.record,
            search.heat,
            steps,
            (settings.focus, settings.structural),
        )
        control[STEPS] -= steps
        if control[STEPS] <= 0:
            costed += finish(search, left - costed)
    return costed


@inner
def start_next(search):  # type: ignore[no-untyped-def]
    """The next constructive start: first the uniform plan of every grid, then chains."""
    p, control = search.p, search.control
    g = control[CURSOR]
    r_index, b, stages = search.pool.grids[g]
    costed = 1
    if control[PASS] == 0:
        uniform_plan(p, r_index, stages, p.layers, p.group)
    else:
        chain_placement(p, search.rng, r_index, b, stages, p.group)
        costed += fit_layers(p, r_index, b, stages, p.layers, p.group)
    load(p.o, p.q, p.f, r_index, b, stages)
    settle(search, g)
    control[CURSOR] += 1
    if control[CURSOR] == len(search.pool.grids):
        control[CURSOR] = 0
        control[PASS] += 1
    return costed


@inner
def settle(search, g):  # type: ignore[no-untyped-def]
    """Offer the current plan to record and population."""
    p = search.p
    r_index, b, stages = search.pool.grids[g]
    time, energy = p.result[TIME], p.result[ENERGY]
    hard = max(0.0, p.result[EXCESS] - cap_excess(p.f, time, energy))
    if p.result[EXCESS] == 0.0:
        offer(p, search.record, r_index, b, stages, p.layers, p.group)
    admit(p, search.pool, g, p.layers, p.group, time, energy, hard)


@inner
def choose_niche(search):  # type: ignore[no-untyped-def]
    """A grid by rank of promise: the k-th best with a chance of about 1/k, so that none is forgotten."""
    p, pool, rng = search.p, search.pool, search.rng
    niches = len(pool.grids)
    promise = np.empty(niches)
    for g in range(niches):
        promise[g] = promise_of(p, pool, g, search.settings.optimism)
    rank = int(np.exp(uniform(rng) * np.log(niches + 1.0))) - 1
    order = np.empty(niches, dtype=np.int64)
    order_by(promise, order, niches)
    return order[min(rank, niches - 1)]


@inner
def choose_neighbour(search, g):  # type: ignore[no-untyped-def]
    """A random grid one step from g in replicas, depth or micro-batch; g itself if there is none."""
    grids, rng = search.pool.grids, search.rng
    chosen, found = g, 0
    for other in range(len(grids)):
        steps = abs(grids[g, 0] - grids[other, 0]) + abs(grids[g, 1] - grids[other, 1])
        steps += abs(grids[g, 2] - grids[other, 2])
        if steps == 1 or (steps == 2 and grids[g, 1] == grids[other, 1]):
            found += 1
            if below(rng, found) == 0:
                chosen = other
    return chosen


@inner
def draw_goal(search):  # type: ignore[no-untyped-def]
    """For a front: turn to a random stretch of it, by weights or by a cap that only a new point keeps."""
    p, rng, record = search.p, search.rng, search.record
    goal = p.goal
    goal[PENALTY] = (2.0, 10.0, 50.0, 300.0)[below(rng, 4)]
    goal[GUIDE] = search.settings.guide * uniform(rng)
    if record.held[2] == 0:
        return
    goal[TIME_CAP] = goal[ENERGY_CAP] = np.inf
    count = record.held[0]
    if count == 0:
        goal[TIME_WEIGHT], goal[ENERGY_WEIGHT] = 1.0, 0.0
        return
    low, high = record.point[0], record.point[count - 1]
    u = uniform(rng)
    if count > 1 and u < 0.5:
        i = below(rng, count - 1)
        if u < 0.25:
            goal[TIME_WEIGHT], goal[ENERGY_WEIGHT] = 0.0, 1.0
            goal[TIME_CAP] = record.point[i + 1, 0] * (1.0 - 1e-9)
        else:
            goal[TIME_WEIGHT], goal[ENERGY_WEIGHT] = 1.0, 0.0
            goal[ENERGY_CAP] = record.point[i, 1] * (1.0 - 1e-9)
        return
    weight = uniform(rng)
    if u > 0.9:
        weight = float(below(rng, 2))
    goal[TIME_WEIGHT] = weight / max(high[0] - low[0], 1e-9 * high[0])
    goal[ENERGY_WEIGHT] = (1.0 - weight) / max(low[1] - high[1], 1e-9 * low[1])


@inner
def breed(search):  # type: ignore[no-untyped-def]
    """Make the next plan to improve and load it; returns the plans costed."""
    p, pool, rng, settings = search.p, search.pool, search.rng, search.settings
    draw_goal(search)
    origin = g = choose_niche(search)
    u = uniform(rng)
    brought = u < settings.transplant
    if brought:
        g = choose_neighbour(search, origin)
    search.control[NICHE] = g
    r_index, b, stages = pool.grids[g]
    replicas = p.replicas[r_index]
    slots = replicas * stages
    total = p.gradient.shape[1] - 1
    costed = 1
    hot = settings.hot
    crossed = settings.transplant + settings.crossover
    renewed = crossed + settings.fresh
    fit = settings.layer_fit
    if pool.size[origin] == 0 or (u >= crossed and u < renewed):
        costed += best_chain(search, r_index, b, stages)
        fit = False
    else:
        hot = settings.warm
        left = p.counts.copy()
        own = below(rng, pool.size[origin])
        if uniform(rng) < 0.5:
            own, _ = best_member(p, pool, origin)
        if brought:
            rows, theirs = p.replicas[pool.grids[origin, 0]], pool.grids[origin, 2]
            inherit_rows(p, rng, pool.groups[origin, own], theirs, rows, p.group, stages, 0, replicas, left)
            inherit_layers(rng, pool.layers[origin, own], theirs, total, stages, p.layers)
            fit = fit and (theirs != stages or uniform(rng) < 0.5)
        elif u < crossed:
            mate = g if uniform(rng) < 0.6 else choose_niche(search)
            other = below(rng, max(1, pool.size[mate]))
            if pool.size[mate] == 0:
                mate, other = g, own
            rows, theirs = p.replicas[pool.grids[mate, 0]], pool.grids[mate, 2]
            if replicas > 1 and uniform(rng) < 0.5:
                for slot in range(slots):
                    p.group[slot] = HOLE
                inherit_columns(p, rng, pool.groups[g, own], stages, replicas, p.group, replicas, stages, 0.5, left)
                inherit_columns(p, rng, pool.groups[mate, other], theirs, rows, p.group, replicas, stages, 1.0, left)
            elif replicas > 1:
                cut = 1 + below(rng, replicas - 1)
                inherit_rows(p, rng, pool.groups[g, own], stages, replicas, p.group, stages, 0, cut, left)
                inherit_rows(p, rng, pool.groups[mate, other], theirs, rows, p.group, stages, cut, replicas, left)
            else:
                cross_columns(rng, pool.groups[g, own], pool.groups[mate, other], theirs, p.group, stages, left)
            inherit_layers(rng, pool.layers[g, own], stages, total, stages, p.layers)
            fit = fit and uniform(rng) < 0.5
        else:
            inherit_rows(p, rng, pool.groups[g, own], stages, replicas, p.group, stages, 0, replicas, left)
            inherit_layers(rng, pool.layers[g, own], stages, total, stages, p.layers)
            fit = False
            if uniform(rng) < 0.75:
                ruin(rng, p.group, replicas, stages, left)
                fit = settings.layer_fit and uniform(rng) < 0.5
        fill_holes(p, rng, r_index, b, stages, p.group, left)
    if fit:
        costed += fit_layers(p, r_index, b, stages, p.layers, p.group)
    load(p.o, p.q, p.f, r_index, b, stages)

    length = settings.length * slots * (1.0 + settings.growth * pool.visits[g])
    length = min(length, settings.longest * slots)
    pool.visits[g] += 1
    steps = max(1.0, length) if settings.anneal else 1.0
    start = hot * 4.0 ** (2.0 * uniform(rng) - 1.0)
    search.heat[0] = start * p.result[SCORE]
    search.heat[1] = (settings.cold / start) ** (1.0 / steps)
    search.heat[2] = 0.0
    search.control[STEPS] = int(steps)
    return costed


@inner
def best_chain(search, r_index, b, stages):  # type: ignore[no-untyped-def]
    """The best of some constructed plans, now and then a random one; returns the plans costed."""
    p, rng, settings = search.p, search.rng, search.settings
    costed = 0
    least = np.inf
    kept = search.spare
    first = len(p.layers)
    tries = settings.tries if settings.construct and uniform(rng) < 0.8 else 1
    for _ in range(tries):
        if tries > 1:
            chain_placement(p, rng, r_index, b, stages, p.group)
        else:
            random_placement(p, rng, p.group)
        if settings.layer_fit:
            costed += fit_layers(p, r_index, b, stages, p.layers, p.group)
        else:
            inherit_layers(rng, p.layers, -1, first, stages, p.layers)
        score = plan_score(p, r_index, b, stages, p.layers, p.group)
        costed += 1
        if score < least:
            least = score
            kept[:first] = p.layers
            kept[first:] = p.group
    p.layers[:] = kept[:first]
    p.group[:] = kept[first:]
    return costed


@inner
def cross_columns(rng, parent, mate, theirs, group, stages, left):  # type: ignore[no-untyped-def]
    """Child of two single pipelines: the head of one, then the mate's GPUs in their order."""
    cut = below(rng, stages + 1)
    for s in range(stages):
        group[s] = -1
        if s < cut:
            group[s] = parent[s]
            left[parent[s]] -= 1
    s = cut
    for z in range(theirs):
        if s < stages and left[mate[z]] > 0:
            group[s] = mate[z]
            left[mate[z]] -= 1
            s += 1


@inner
def finish(search, limit):  # type: ignore[no-untyped-def]
    """Walk to a local optimum and take the plan into the population; returns the plans costed."""
    costed = 0
    search.p.goal[PENALTY] = 300.0
    g = search.control[NICHE]
    r_index, b, stages = search.pool.grids[g]
    load(search.p.o, search.p.q, search.p.f, r_index, b, stages)
    if search.settings.descent:
        most = 60 * len(search.p.group)
        costed = descend(search.p, search.rng, search.record, min(limit, most), True)
    settle(search, g)
    return costed
