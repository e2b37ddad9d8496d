"""GeoTrain's memetic algorithm: selection, grid, placement, layer split and micro-batch searched together.

This module is the Python around the compiled search: it watches the clock and collects improvements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from instances.seeds import seed_for
from instances.tables import Ints
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Solver
from solvers.core.registry import register
from solvers.core.tiny_problem import tiny_problem
from solvers.memetic.grids import bounds_of, grids_to_search
from solvers.memetic.incumbent_log import IncumbentLog
from solvers.memetic.parameters import Construction, Improvement, Reproduction, Settings, check_options
from solvers.placements.best_plans import BestPlans

if TYPE_CHECKING:
    from solvers.memetic.search import Search

CHUNK, CHUNK_SECONDS = 5000, 0.02
"""Plans evaluated between two looks at the clock; target seconds per chunk where only the clock ends the run."""
ENDLESS = 1 << 60
BOUND_AFTER, BOUND_GPUS = 1_000_000, 256
"""Evaluations after which grids are bounded, and most GPUs: it takes a fraction of a second at 64, ten at 1,024."""
BOUND_SECONDS = 0.015
"""Seconds per grid that must then be left: some ten times what the bounds take."""


@register
@dataclass(frozen=True)
class Memetic(Construction, Reproduction, Improvement, Solver):
    """Searches until the budget ends; its other options are in `parameters`.

    Attributes
    ----------
    default_evaluations
        Plans evaluated where the budget has no limit: a few seconds.
    front_capacity
        Most plans of a front that are kept; a larger front is truncated.
    """

    name: ClassVar[str] = "memetic"
    summary: ClassVar[str] = "memetic search over selection, grid, placement, layers and micro-batch"
    random: ClassVar[bool] = True
    fronts: ClassVar[bool] = True
    takes_start: ClassVar[bool] = True

    default_evaluations: int = 5_000_000
    front_capacity: int = 4000

    def __post_init__(self) -> None:
        check_options(self)

    def warm_up(self) -> None:
        """Compile the search, or load what was compiled."""
        self.solve(tiny_problem(), Budget(evaluations=200), Monitor())

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """The best plan found, or the nondominated ones; never a proof."""
        deadline = Deadline.of(budget, monitor)
        log = IncumbentLog(problem, deadline, monitor)
        if problem.start is not None:
            log.begin_with(problem.start)
        grids = grids_to_search(problem.tables)
        if len(grids) and not deadline.passed:
            self._search(problem, budget, grids, log)
        return log.outcome()

    def _search(self, problem: Problem, budget: Budget, grids: Ints, log: IncumbentLog) -> None:
        deadline = log.deadline
        from solvers.memetic.search import advance
        from solvers.memetic.warm_starts import SLACK, evaluate_placements, placement_goals, warm_starts

        site_by_site = [BestPlans(problem.tables, goal, SLACK) for goal in placement_goals(problem.goal)]
        search = make_search(self, problem, grids, budget.seed)
        most = budget.evaluations
        if most is None and budget.seconds is None:
            most = self.default_evaluations
        if self.site_by_site:
            evaluate_placements(problem, budget, most, log, site_by_site)
        search = search._replace(starts=warm_starts(problem.tables, grids, log.start, site_by_site))
        chunk = CHUNK
        bounded = problem.goal.front or problem.tables.gpus > BOUND_GPUS
        while not deadline.passed and (most is None or deadline.evaluations < most):
            left = ENDLESS if most is None else most - deadline.evaluations
            before = deadline.seconds
            deadline.evaluations += advance(search, min(chunk, left), left)
            log.collect(search.archive)
            if not bounded and deadline.evaluations >= BOUND_AFTER:
                bounded = True
                if deadline.left is None or deadline.left > BOUND_SECONDS * len(grids):
                    search.population.bound[:] = bounds_of(problem, grids)
            if most is None:  # with a limit on evaluations, the trace must not depend on the clock
                pace = CHUNK_SECONDS / max(deadline.seconds - before, 1e-6)
                chunk = int(max(200, min(4 * chunk, chunk * pace)))


def make_search(options: Memetic, problem: Problem, grids: Ints, seed: int) -> Search:
    """The initial state of the compiled search."""
    from solvers.kernel.packed import pack
    from solvers.memetic.archive import new_archive
    from solvers.memetic.population import new_population
    from solvers.memetic.randomness import new_stream
    from solvers.memetic.search import Search
    from solvers.memetic.warm_starts import warm_starts

    tables = problem.tables
    packed = pack(tables, problem.goal)
    return Search(
        p=packed,
        kept=np.zeros(tables.layers + tables.gpus, dtype=np.int64),
        population=new_population(tables, grids, options.elites),
        starts=warm_starts(tables, grids, None, ()),
        archive=new_archive(tables, problem.goal.front, options.front_capacity),
        rng=new_stream(seed_for("memetic", seed)),
        control=np.zeros(3, dtype=np.int64),
        schedule=np.zeros(3),
        rates=np.zeros(1),
        settings=Settings(*(getattr(options, name) for name in Settings._fields)),
    )
