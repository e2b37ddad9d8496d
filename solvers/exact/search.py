"""The search over all parts of all grids, lowest bound first; it knows the global bound at any time."""

from __future__ import annotations

import heapq
import itertools
import math
from typing import Any

from instances.referee.violations import violations
from solvers.core.deadline import Deadline
from solvers.core.interface import Monitor, Outcome, Problem, Status
from solvers.exact.branching import split_part
from solvers.exact.costs import GridCosts
from solvers.exact.grid_bounds import GridBound
from solvers.exact.grid_records import GridRecord
from solvers.exact.incumbent import AGREEMENT, Incumbent
from solvers.exact.leaf_model import Answer, Claim, Contradiction, Model
from solvers.exact.relaxation import tighten_part
from solvers.exact.subproblem import Part

STEPS_WHOLE, STEPS_SPLIT, STEPS_FINAL = 100, 15, 120
"""Pricing steps for a whole grid, for a part of it, and before a model is built."""
STEPS_WORK = 3e8
"""Additions that one round of pricing may take, about a third of a second: the clock is looked at in between."""
FIRST_SLICE_S = 1.0
"""Seconds of a part's first model; when they run out the part is split further, and its parts get twice as long."""
CLOSING_S = 0.1
"""Seconds kept for coming back in time."""
REPORT_EVERY_S = 1.0
OPTIMAL_GAP = 1e-6
"""Largest certified gap that may be called optimal (SPEC 1.6)."""


class Search:
    """One run over the grids with their cheap bounds. Offer its `incumbent` plans to start from, then `run` it."""

    def __init__(
        self, problem: Problem, bounds: list[GridBound], model: Model, deadline: Deadline, monitor: Monitor
    ) -> None:
        self._problem, self._model, self._deadline, self._monitor = problem, model, deadline, monitor
        self.incumbent = Incumbent(problem, deadline, monitor)
        self._records = {bound.grid: GridRecord(bound) for bound in bounds}
        self._order = itertools.count()
        # A grid is opened when its turn comes; until then its cheap bound stands for it.
        self._queue: list[tuple[float, int, Part | GridRecord]] = []
        for record in self._records.values():
            if record.cheap.value is not None:
                self._push(record.cheap.value, record)
        self._closed = math.inf  # least bound of all that is closed
        self._reported_s = -math.inf
        self.report()

    def run(self) -> Outcome:
        """Go on until everything is closed or the budget ends."""
        incumbent = self.incumbent
        for grid, record in self._records.items():
            incumbent.check(grid, math.inf if record.cheap.value is None else record.cheap.value, "the cheap bound")
        while self._queue and self._queue[0][0] < incumbent.target and not self._late:
            _, _, item = heapq.heappop(self._queue)
            grid = item.cheap.grid if isinstance(item, GridRecord) else item.costs.bound.grid
            record, before = self._records[grid], self._deadline.seconds
            if isinstance(item, GridRecord):
                self._open(record)
            elif item.final:
                self._solve(item, record)
            else:
                self._split(item, record)
            record.seconds += self._deadline.seconds - before
            self.report()
        return self._outcome(done=not self._queue or self._queue[0][0] >= incumbent.target)

    def report(self) -> None:
        """Tell the monitor now and then of the bound and the figures behind it."""
        if self._deadline.seconds - self._reported_s >= REPORT_EVERY_S:
            self._reported_s = self._deadline.seconds
            bound = self._global_bound()
            if bound is not None:
                self._monitor.on_bound(bound, self._details())

    @property
    def _late(self) -> bool:
        return self._deadline.passed or (self._deadline.left is not None and self._deadline.left <= CLOSING_S)

    def _push(self, bound: float, item: Part | GridRecord) -> None:
        heapq.heappush(self._queue, (bound, next(self._order), item))

    def _open(self, record: GridRecord) -> None:
        record.started = True
        record.open_parts = record.parts = 1
        part = Part.whole(GridCosts(self._problem.tables, self._problem.goal, record.cheap))
        self._tighten(part, record, STEPS_WHOLE)

    def _split(self, part: Part, record: GridRecord) -> None:
        kids = split_part(part)
        record.parts += len(kids) - 1
        record.open_parts += len(kids) - 1
        for kid in kids:
            self._tighten(kid, record, STEPS_FINAL if kid.final else STEPS_SPLIT)

    def _tighten(self, part: Part, record: GridRecord, steps: int) -> None:
        costs = part.costs
        groups, layers = len(costs.tables.counts), costs.tables.layers
        ways = costs.replicas if costs.joint is None else costs.replicas * len(costs.joint.digits) / groups
        work = costs.stages * ways * groups * layers * (groups + costs.width / 2)
        steps = max(1, min(steps, int(STEPS_WORK / work)))
        target = self.incumbent.target
        alive = tighten_part(part, target, steps, self.incumbent.offer)
        if alive and part.value < self.incumbent.target:
            self._push(part.value, part)
        else:
            self._close(part, record, part.value if alive else max(part.value, target))

    def _close(self, part: Part, record: GridRecord, bound: float) -> None:
        record.close_part(bound)
        self._closed = min(self._closed, bound)
        self.incumbent.check(
            part.costs.bound.grid, record.closed_bound, "a closed part"
        ) if not record.open_parts else None

    def _solve(self, part: Part, record: GridRecord) -> None:
        left = None if self._deadline.left is None else self._deadline.left - CLOSING_S
        slice_s = FIRST_SLICE_S * 2.0 ** min(part.attempts, 30)
        target = self.incumbent.target
        answer = self._model.solve(part, target, slice_s if left is None else min(slice_s, left))
        record.add(answer)
        if answer.bound is not None:
            part.value = max(part.value, min(answer.bound, target))
        if answer.plan is not None:
            self._take(part, answer)
        if answer.claim is Claim.NONE:
            self._close(part, record, max(part.value, target))
        elif part.value >= self.incumbent.target:
            self._close(part, record, part.value)
        else:
            if answer.claim is Claim.STOPPED:
                part.attempts += 1
                part.final = False  # too large for a model after all, if it can still be split
            self._push(part.value, part)

    def _take(self, part: Part, answer: Answer) -> None:
        """Let the referee judge a model's plan, and forbid it so that the next answer is another."""
        plan = answer.plan
        assert plan is not None
        value = self.incumbent.offer(plan)
        if value is None:
            # Costs and watts rounded down can let a plan slip over a cap; over anything else they cannot.
            reasons = violations(self._problem.instance.model_copy(update={"sites": None}), plan)
            if reasons:
                raise Contradiction(f"the model calls a plan feasible that the referee refuses: {reasons[0]}")
        elif part.holds(plan) and value < part.value * (1 - AGREEMENT):
            raise Contradiction(
                f"the model claims a bound of {part.value!r}, but the referee values its own plan at {value!r}"
            )
        part.forbidden.append(plan)

    def _global_bound(self) -> float | None:
        """Least over all that is open and all that is closed; None if there is nothing."""
        bound = min(self._closed, self._queue[0][0] if self._queue else math.inf, self.incumbent.value)
        return bound if bound < math.inf else None

    def _details(self) -> dict[str, Any]:
        for record in self._records.values():
            record.open_bound = math.inf
        for bound, _, item in self._queue:
            if isinstance(item, Part):
                record = self._records[item.costs.bound.grid]
                record.open_bound = min(record.open_bound, bound)
        target = self.incumbent.target
        return {"grids": [record.as_json(target) for record in self._records.values()]}

    def _outcome(self, done: bool) -> Outcome:
        plan, value, bound = self.incumbent.plan, self.incumbent.value, self._global_bound()
        if plan is None:
            status = Status.INFEASIBLE if done else Status.UNKNOWN
        else:
            assert bound is not None
            proven = done and (value - bound) / value <= OPTIMAL_GAP
            status = Status.OPTIMAL if proven else Status.FEASIBLE
        return Outcome(
            status,
            plan,
            bound=bound,
            evaluations=self._deadline.evaluations,
            trace=tuple(self._deadline.trace),
            limit_reached=not done,
            details=self._details(),
        )
