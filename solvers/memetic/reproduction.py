"""Offspring: transferred from a neighbouring grid, crossed, newly constructed, or a perturbed elite."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inner
from solvers.kernel.packed import LEFT, SCORE
from solvers.kernel.state import load
from solvers.memetic.annealing import restore_plan, save_plan
from solvers.memetic.construction import chain_placement, random_placement, reset_left
from solvers.memetic.crossover import (
    EMPTY,
    cross_columns,
    destroy,
    inherit_columns,
    inherit_layers,
    inherit_rows,
    repair_slots,
)
from solvers.memetic.grid_selection import choose_neighbour, choose_niche
from solvers.memetic.layer_split import fit_layers, plan_score
from solvers.memetic.population import best_member
from solvers.memetic.randomness import below, uniform
from solvers.memetic.scalarisation import draw_goal
from solvers.memetic.site_placement import site_by_site_placement

PASS, CURSOR, STEPS = range(3)
"""Entries of `Search.control`: kinds of starts done (uniform, given), starts of the next kind done, proposals left."""


@inner
def make_offspring(search):  # type: ignore[no-untyped-def]
    """Make the next child and load it; returns the number of plans evaluated."""
    p, population, rng, settings = search.p, search.population, search.rng, search.settings
    draw_goal(search)
    origin = g = choose_niche(search)
    u = uniform(rng)
    if u < settings.transplant:
        g = choose_neighbour(search, origin)
    r_index, b, stages = population.grids[g, 0], population.grids[g, 1], population.grids[g, 2]
    evaluated = 1
    crossed = settings.transplant + settings.crossover
    if crossed <= u < crossed + settings.fresh:
        evaluated += best_construction(search, r_index, b, stages)
    elif inherit(search, u, origin, g):
        evaluated += fit_layers(p, r_index, b, stages, p.layers, p.group)
    load(p.o, p.q, p.f, r_index, b, stages)
    population.visits[g] += 1
    schedule_annealing(search, p.replicas[r_index] * stages)
    return evaluated


@inner
def schedule_annealing(search, slots):  # type: ignore[no-untyped-def]
    """Draw the length and initial temperature of the loaded plan's annealing."""
    rng, settings = search.rng, search.settings
    steps = max(1.0, settings.length * slots) if uniform(rng) < settings.anneal else 1.0
    start = settings.hot * 4.0 ** (2.0 * uniform(rng) - 1.0)
    search.schedule[0] = start * search.p.result[SCORE]
    search.schedule[1] = (settings.cold / start) ** (1.0 / steps)
    search.schedule[2] = 0.0
    search.control[STEPS] = int(steps)
    search.rates[0] = settings.regrid if uniform(rng) < 0.5 else 0.0


@inner
def inherit(search, u, origin, g):  # type: ignore[no-untyped-def]
    """Write a plan for grid g from a member of grid `origin`, the operator chosen by u; whether to fit its layers."""
    p, population, rng, settings = search.p, search.population, search.rng, search.settings
    r_index, b, stages = population.grids[g, 0], population.grids[g, 1], population.grids[g, 2]
    replicas = p.replicas[r_index]
    left = p.whole[LEFT]
    reset_left(p, left)
    own = below(rng, population.size[origin])
    if uniform(rng) < 0.5:
        own, _ = best_member(p, population, origin)
    group, layers = population.groups[origin, own], population.layers[origin, own]
    theirs = population.grids[origin, 2]
    if settings.transplant <= u < settings.transplant + settings.crossover:
        cross(search, g, group, left)
        inherit_layers(rng, layers, theirs, p.o.total, stages, p.layers)
        fit = settings.layer_fit and uniform(rng) < 0.5
    else:
        rows = p.replicas[population.grids[origin, 0]]
        inherit_rows(p, rng, group, theirs, rows, p.group, stages, np.int64(0), replicas, left)
        inherit_layers(rng, layers, theirs, p.o.total, stages, p.layers)
        fit = False
        if u < settings.transplant:
            fit = settings.layer_fit and (theirs != stages or uniform(rng) < 0.5)
        elif uniform(rng) < 0.75:
            destroy(rng, p.group, replicas, stages, left)
            fit = settings.layer_fit and uniform(rng) < 0.5
    repair_slots(p, rng, r_index, b, stages, p.group, left)
    return fit


@inner
def cross(search, g, parent, left):  # type: ignore[no-untyped-def]
    """Cross `parent`, a member of grid g, with a mate of the same or another grid."""
    p, population, rng = search.p, search.population, search.rng
    stages = population.grids[g, 2]
    replicas = p.replicas[population.grids[g, 0]]
    niche = g if uniform(rng) < 0.6 else choose_niche(search)
    mate = population.groups[niche, below(rng, population.size[niche])]
    rows, theirs = p.replicas[population.grids[niche, 0]], population.grids[niche, 2]
    if replicas > 1 and uniform(rng) < 0.5:
        for slot in range(replicas * stages):
            p.group[slot] = EMPTY
        inherit_columns(p, rng, parent, stages, replicas, p.group, replicas, stages, 0.5, left)
        inherit_columns(p, rng, mate, theirs, rows, p.group, replicas, stages, 1.0, left)
    elif replicas > 1:
        cut = 1 + below(rng, replicas - 1)
        inherit_rows(p, rng, parent, stages, replicas, p.group, stages, np.int64(0), cut, left)
        inherit_rows(p, rng, mate, theirs, rows, p.group, stages, cut, replicas, left)
    else:
        cross_columns(rng, parent, mate, theirs, p.group, stages, left)


@inner
def best_construction(search, r_index, b, stages):  # type: ignore[no-untyped-def]
    """The best of `tries` constructed plans, one time in five a random one; returns the number of plans evaluated."""
    p, rng, settings = search.p, search.rng, search.settings
    evaluated = 0
    least = np.inf
    kept = search.kept
    constructed = settings.construct and uniform(rng) < 0.8
    for attempt in range(settings.tries if constructed else 1):
        if constructed and uniform(rng) < 0.5:
            site_by_site_placement(p, rng, r_index, b, stages, p.group)
        elif constructed:
            chain_placement(p, rng, r_index, b, stages, p.group)
        else:
            random_placement(p, rng, p.group)
        if settings.layer_fit:
            evaluated += fit_layers(p, r_index, b, stages, p.layers, p.group)
        else:
            inherit_layers(rng, p.layers, -1, p.o.total, stages, p.layers)
        score = plan_score(p, r_index, b, stages, p.layers, p.group)
        evaluated += 1
        if attempt == 0 or score < least:  # scores may all be infinite
            least = score
            save_plan(p, kept)
    restore_plan(p, kept)
    return evaluated
