"""The compiled search loop: choose a grid, make a child for it, improve it, add it to the population.

It stops after any number of evaluations and resumes where it was, so that Python can check the clock in between.
"""

from __future__ import annotations

from typing import NamedTuple

from instances.tables import Floats, Ints
from solvers.core.by_reference import by_reference
from solvers.core.compiled import compiled, inner
from solvers.kernel.evaluation import cap_excess
from solvers.kernel.packed import B_INDEX, ENERGY, EXCESS, PENALTY, R_INDEX, STAGES, TIME, Packed
from solvers.kernel.state import load
from solvers.memetic.annealing import anneal
from solvers.memetic.archive import Archive, offer
from solvers.memetic.construction import append_unused, uniform_plan
from solvers.memetic.copying import copy
from solvers.memetic.local_search import local_search
from solvers.memetic.parameters import Settings
from solvers.memetic.population import Population, admit, best_member
from solvers.memetic.randomness import Words
from solvers.memetic.reproduction import CURSOR, PASS, STEPS, make_offspring
from solvers.memetic.warm_starts import WarmStarts


class Search(NamedTuple):
    """The whole state of a run; everything but `settings` is changed in place."""

    p: Packed
    kept: Ints  # [L + n] scratch for a split and a placement
    population: Population
    starts: WarmStarts
    archive: Archive
    rng: Words
    control: Ints  # [3] see `make_offspring`
    schedule: Floats  # [3] see `anneal`
    rates: Floats  # [1] share of moves to other grids in this descendant
    settings: Settings


@compiled
def advance(search, limit, left):  # type: ignore[no-untyped-def]
    """Continue for about `limit` evaluations; returns their number, never much above `left`.

    The course of the search does not depend on `limit`, and on `left` only in the last local search.
    """
    return search_on(by_reference(search), limit, left)


@inner
def search_on(search, limit, left):  # type: ignore[no-untyped-def]
    """As `advance`."""
    evaluated = 0
    control, settings = search.control, search.settings
    while evaluated < limit:
        if control[PASS] < 2:
            evaluated += start_next(search)
            continue
        if control[STEPS] <= 0:
            evaluated += make_offspring(search)
        steps = min(control[STEPS], limit - evaluated)
        if steps <= 0:
            break
        evaluated += anneal(
            search.p,
            search.kept,
            search.population.at,
            search.rng,
            search.archive,
            search.schedule,
            steps,
            (settings.focus, settings.structural, search.rates[0]),
        )
        control[STEPS] -= steps
        if control[STEPS] <= 0:
            evaluated += finish(search, left - evaluated)
    return evaluated


@inner
def start_next(search):  # type: ignore[no-untyped-def]
    """Load the next start: the uniform plan of every grid, then the warm starts; returns evaluations made."""
    p, control, starts = search.p, search.control, search.starts
    i = control[CURSOR]
    control[CURSOR] += 1
    uniform = control[PASS] == 0
    if i == (len(search.population.grids) if uniform else len(starts.niche)):
        control[PASS] += 1
        control[CURSOR] = 0
        return 0
    g = i if uniform else starts.niche[i]
    r_index, b, stages = search.population.grids[g, 0], search.population.grids[g, 1], search.population.grids[g, 2]
    if uniform:
        uniform_plan(p, r_index, stages, p.layers, p.group)
    else:
        copy(starts.layers[i], 0, p.layers, 0, p.o.total)
        copy(starts.groups[i], 0, p.group, 0, p.o.gpus)
        append_unused(p, p.group, p.replicas[r_index] * stages)
    load(p.o, p.q, p.f, r_index, b, stages)
    settle(search, g)
    return 1


@inner
def settle(search, g):  # type: ignore[no-untyped-def]
    """Offer the current plan to the archive and to the population."""
    p = search.p
    r_index, b, stages = search.population.grids[g, 0], search.population.grids[g, 1], search.population.grids[g, 2]
    time, energy = p.result[TIME], p.result[ENERGY]
    hard = max(0.0, p.result[EXCESS] - cap_excess(p.f, time, energy))
    if p.result[EXCESS] == 0.0:
        offer(p, search.archive, r_index, b, stages, p.layers, p.group)
    admit(p, search.population, g, p.layers, p.group, time, energy, hard)


@inner
def finish(search, limit):  # type: ignore[no-untyped-def]
    """Improve the current plan by local search and add it to the population; returns the number of plans evaluated."""
    evaluated = 0
    search.p.goal[PENALTY] = 300.0
    q = search.p.q
    g = search.population.at[q[R_INDEX], q[B_INDEX], q[STAGES]]
    r_index, b, stages = search.population.grids[g, 0], search.population.grids[g, 1], search.population.grids[g, 2]
    load(search.p.o, search.p.q, search.p.f, r_index, b, stages)
    if search.settings.descent:
        most = 60 * len(search.p.group)
        evaluated = local_search(search.p, search.rng, search.archive, min(limit, most))
    _, before = best_member(search.p, search.population, g)
    settle(search, g)
    _, after = best_member(search.p, search.population, g)
    search.population.stale[g] = 0 if after < before * (1.0 - 1e-9) else search.population.stale[g] + 1
    return evaluated
