"""What one does by hand: site by site, layers by speed. Atlas and Sailor compare with plans of this kind.

The rule, for a reader with a pencil:

1. Choose the GPU types: all, all but the slowest, and so on to the fastest alone (sites.py).
2. Walk the sites (the regions) along a short path: begin at one of the four largest, always go on to the nearest.
3. Lay the pipelines out along the path (layouts.py):
   a. stage by stage, the R holders of a stage inside a site, R GPUs of a site for each stage;
   b. pipeline by pipeline, whole pipelines inside a site;
   c. R GPUs in a row for each stage, wherever the borders lie, for sites of fewer than R GPUs.
   Every number of pipelines and every depth is tried, so a plan may end at the first or second site.
4. Give each stage layers by the speed of its slowest holder, one by one to the least busy, the head counted,
   within memory; try every micro-batch size, and both ends of the pipelines as the first.

Before all that, the GPUs in listed order, with layers shared equally as the usual launch does (SPEC 4.1) and by
speed: nobody who plans by hand gives up a launch that works for a worse one. The best plan by the goal is kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from instances.plan import Plan
from instances.tables import Ints
from solvers.base import Budget, Monitor, Outcome, Problem, Proof, Status
from solvers.clock import Clock
from solvers.contiguous.layouts import pipelines_inside_sites, stages_across_sites, stages_inside_sites
from solvers.contiguous.sites import pools, short_paths
from solvers.pricing import Pricer
from solvers.registry import register
from solvers.uniform import listed_gpus


@register
@dataclass(frozen=True)
class Contiguous:
    """Tries every placement of the rule in the module's docstring once; no randomness. Values plans by the goal."""

    name: ClassVar[str] = "contiguous"
    summary: ClassVar[str] = "by hand: stages or pipelines inside sites along a short path, layers by speed"
    proves: ClassVar[Proof] = Proof.NOTHING
    random: ClassVar[bool] = False
    fronts: ClassVar[bool] = False
    takes_start: ClassVar[bool] = False
    isolated: ClassVar[bool] = False

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """The best plan of the rule, if any fits and keeps the goal's caps."""
        clock = Clock(budget)
        if clock.expired:  # before anything is compiled
            return Outcome(Status.UNKNOWN, limit_reached=True)
        monitor.on_compiling()
        started = time.perf_counter()
        search = _Search(problem, Pricer(problem.tables, problem.goal))
        search.warm_up()
        clock.exclude(time.perf_counter() - started)
        monitor.on_compiled(clock.excluded)

        cut_short = False
        for placement, equal in _placements(problem):
            if clock.expired:
                cut_short = True
                break
            if search.improve(placement, equal, clock):
                assert search.plan is not None
                clock.note(search.value)
                monitor.on_plan(search.plan)
        return Outcome(
            Status.UNKNOWN if search.plan is None else Status.FEASIBLE,
            search.plan,
            evaluations=clock.evaluations,
            trace=tuple(clock.trace),
            limit_reached=cut_short,
            compile_s=clock.excluded,
        )


def _placements(problem: Problem) -> Iterator[tuple[Ints, bool]]:
    """Groups of R x S slots, and whether the layers are to be shared equally."""
    instance, tables = problem.instance, problem.tables
    listed = [gpu.group for gpu in listed_gpus(instance)]
    for equal in (True, False):
        for placement in stages_across_sites(tables, listed):
            yield placement, equal
    for sites in pools(instance, tables):
        for path in short_paths(tables, sites):
            in_a_row = [group for site in path for group in site.gpus]
            for placement in chain(
                stages_inside_sites(tables, path),
                pipelines_inside_sites(tables, path),
                stages_across_sites(tables, in_a_row),
            ):
                yield placement, False


class _Search:
    """The best plan so far; placements that come up again are priced once."""

    def __init__(self, problem: Problem, pricer: Pricer) -> None:
        self._tables, self._arrays = problem.tables, pricer.arrays
        self._seen: set[tuple[int, int, int]] = set()
        self.value = np.inf
        self.plan: Plan | None = None

    def warm_up(self) -> None:
        """Compile or load the pricing, without pricing."""
        from solvers.contiguous.pricing import best_of_placement

        # Nothing is below a value of minus infinity.
        best_of_placement(self._arrays, 0, np.zeros((1, 1), np.int64), False, -np.inf, np.zeros(1, np.int64))

    def improve(self, placement: Ints, equal: bool, clock: Clock) -> bool:
        """Price one placement; whether its best plan is the best so far."""
        from solvers.contiguous.pricing import best_of_placement

        replicas, stages = placement.shape
        key = (stages, int(equal), hash(placement.tobytes()))
        if key in self._seen:
            return False
        self._seen.add(key)
        layers = np.zeros(stages, dtype=np.int64)
        value, b, turned, priced = best_of_placement(
            self._arrays, self._tables.replicas.index(replicas), placement, equal, self.value, layers
        )
        clock.evaluations += priced
        if b < 0:
            return False
        self.value = float(value)
        groups = placement[:, ::-1] if turned else placement
        self.plan = Plan.from_groups(self._tables.micro_batches[b], layers, groups)
        return True
