"""The search loop, compiled: choose a grid, make offspring for it, improve it, take it into the population.

It stops after any number of evaluations and goes on where it was, so Python can look at the clock between.
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
from solvers.memetic.population import Pool, admit, best_member
from solvers.memetic.randomness import Words
from solvers.memetic.reproduction import CURSOR, PASS, STEPS, make_offspring
from solvers.memetic.warm_starts import WarmStarts


class Search(NamedTuple):
    """All there is to a run; everything but `settings` is changed in place."""

    p: Packed
    kept: Ints  # [L + n] scratch for a split and a placement
    pool: Pool
    starts: WarmStarts
    archive: Archive
    rng: Words
    control: Ints  # [3] see `make_offspring`
    schedule: Floats  # [3] see `anneal`
    rates: Floats  # [1] share of moves to other grids in this descendant
    settings: Settings


@compiled
def advance(search, limit, left):  # type: ignore[no-untyped-def]
    """Search on until `limit` more plans were costed, or slightly more, never many more than `left`.

    What happens depends on `left` only in the last local search, and not at all on `limit`. Returns the plans costed.
    """
    return search_on(by_reference(search), limit, left)


@inner
def search_on(search, limit, left):  # type: ignore[no-untyped-def]
    """As `advance`."""
    costed = 0
    control, settings = search.control, search.settings
    while costed < limit:
        if control[PASS] < 2:
            costed += start_next(search)
            continue
        if control[STEPS] <= 0:
            costed += make_offspring(search)
        steps = min(control[STEPS], limit - costed)
        if steps <= 0:
            break
        costed += anneal(
            search.p,
            search.kept,
            search.pool.at,
            search.rng,
            search.archive,
            search.schedule,
            steps,
            (settings.focus, settings.structural, search.rates[0]),
        )
        control[STEPS] -= steps
        if control[STEPS] <= 0:
            costed += finish(search, left - costed)
    return costed


@inner
def start_next(search):  # type: ignore[no-untyped-def]
    """The next start: the uniform plan of every grid, then what was given; returns the plans costed."""
    p, control, starts = search.p, search.control, search.starts
    i = control[CURSOR]
    control[CURSOR] += 1
    uniform = control[PASS] == 0
    if i == (len(search.pool.grids) if uniform else len(starts.niche)):
        control[PASS] += 1
        control[CURSOR] = 0
        return 0
    g = i if uniform else starts.niche[i]
    r_index, b, stages = search.pool.grids[g, 0], search.pool.grids[g, 1], search.pool.grids[g, 2]
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
    """Offer the current plan to archive and population."""
    p = search.p
    r_index, b, stages = search.pool.grids[g, 0], search.pool.grids[g, 1], search.pool.grids[g, 2]
    time, energy = p.result[TIME], p.result[ENERGY]
    hard = max(0.0, p.result[EXCESS] - cap_excess(p.f, time, energy))
    if p.result[EXCESS] == 0.0:
        offer(p, search.archive, r_index, b, stages, p.layers, p.group)
    admit(p, search.pool, g, p.layers, p.group, time, energy, hard)


@inner
def finish(search, limit):  # type: ignore[no-untyped-def]
    """Improve the current plan by local search and take the plan into the population; returns the plans costed."""
    costed = 0
    search.p.goal[PENALTY] = 300.0
    q = search.p.q
    g = search.pool.at[q[R_INDEX], q[B_INDEX], q[STAGES]]
    r_index, b, stages = search.pool.grids[g, 0], search.pool.grids[g, 1], search.pool.grids[g, 2]
    load(search.p.o, search.p.q, search.p.f, r_index, b, stages)
    if search.settings.descent:
        most = 60 * len(search.p.group)
        costed = local_search(search.p, search.rng, search.archive, min(limit, most))
    _, before = best_member(search.p, search.pool, g)
    settle(search, g)
    _, after = best_member(search.p, search.pool, g)
    search.pool.stale[g] = 0 if after < before * (1.0 - 1e-9) else search.pool.stale[g] + 1
    return costed
