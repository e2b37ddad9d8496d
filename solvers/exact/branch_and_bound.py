"""Branch and bound over all grids, lowest bound first; the global bound is known at any time."""

from __future__ import annotations

import heapq
import itertools
import math
from typing import Any

from solvers.core.deadline import Deadline
from solvers.core.interface import Monitor, Outcome, Problem
from solvers.exact.bounded_costs import BoundedCosts
from solvers.exact.branching import branch
from solvers.exact.grid_bounds import GridBound
from solvers.exact.grid_proofs import GridProofs
from solvers.exact.grid_records import GridRecord
from solvers.exact.leaf_model import Claim, Model
from solvers.exact.node import Node
from solvers.exact.relaxation import tighten_node

STEPS_ROOT, STEPS_INNER, STEPS_FINAL = 100, 15, 120
"""Subgradient steps for a whole grid, for a node of it, and before a model is built."""
STEPS_WORK = 3e8
"""Additions in one round of steps, about a third of a second: the deadline is checked in between."""
FIRST_SLICE_S = 1.0
"""Time limit of a node's first model; if it runs out the node is branched on, and its children get twice as long."""


class BranchAndBound(GridProofs):
    """Best-first search over the grids with their cheap bounds."""

    def __init__(
        self, problem: Problem, bounds: list[GridBound], model: Model, deadline: Deadline, monitor: Monitor
    ) -> None:
        records = [GridRecord(bound.grid, bound.value, feasible=bound.value is not None) for bound in bounds]
        super().__init__(problem, records, model, deadline, monitor)
        self._bounds = {bound.grid: bound for bound in bounds}
        self._order = itertools.count()
        # A grid gets a root node when its turn comes; until then its cheap bound represents it.
        self._queue: list[tuple[float, int, Node | GridRecord]] = []
        for record in records:
            if record.cheap is not None:
                self._push(record.cheap, record)
        self._closed = math.inf  # least bound of all that is closed
        self.report()

    def run(self) -> Outcome:
        """Go on until every grid is closed or the budget ends."""
        incumbent = self.incumbent
        for grid, record in self._records.items():
            incumbent.check(grid, math.inf if record.cheap is None else record.cheap, "the cheap bound")
        while self._queue and self._queue[0][0] < incumbent.target and not self._late:
            _, _, item = heapq.heappop(self._queue)
            record = item if isinstance(item, GridRecord) else self._records[item.costs.grid]
            before = self._deadline.seconds
            if isinstance(item, GridRecord):
                self._open(record)
            elif item.final:
                self._solve_leaf(item, record)
            else:
                self._branch(item, record)
            record.seconds += self._deadline.seconds - before
            self.report()
        return self._outcome(done=not self._queue or self._queue[0][0] >= incumbent.target)

    def _push(self, bound: float, item: Node | GridRecord) -> None:
        heapq.heappush(self._queue, (bound, next(self._order), item))

    def _open(self, record: GridRecord) -> None:
        record.started = True
        record.open_parts = record.parts = 1
        costs = BoundedCosts(self._problem.tables, self._problem.goal, record.grid, self._bounds[record.grid])
        self._tighten(Node.root(costs), record, STEPS_ROOT)

    def _branch(self, node: Node, record: GridRecord) -> None:
        children = branch(node)
        record.parts += len(children) - 1
        record.open_parts += len(children) - 1
        for child in children:
            self._tighten(child, record, STEPS_FINAL if child.final else STEPS_INNER)

    def _tighten(self, node: Node, record: GridRecord, steps: int) -> None:
        costs = node.costs
        groups, layers = len(costs.tables.counts), costs.tables.layers
        ways = costs.replicas if costs.joint is None else costs.replicas * len(costs.joint.digits) / groups
        work = costs.stages * ways * groups * layers * (groups + costs.width / 2)
        steps = max(1, min(steps, int(STEPS_WORK / work)))
        target = self.incumbent.target
        alive = tighten_node(node, target, steps, self.incumbent.offer)
        if alive and node.value < self.incumbent.target:
            self._push(node.value, node)
        else:
            self._close(record, node.value if alive else max(node.value, target))

    def _close(self, record: GridRecord, bound: float) -> None:
        self._closed = min(self._closed, bound)
        super()._close(record, bound)

    def _solve_leaf(self, node: Node, record: GridRecord) -> None:
        claim = self._solve(node, record, FIRST_SLICE_S * 2.0 ** min(node.attempts, 30))
        if claim is Claim.STOPPED:
            node.attempts += 1
            node.final = False  # too large for a model after all, if it can still be branched on
        if claim is not Claim.NONE:
            self._push(node.value, node)

    def _global_bound(self) -> float | None:
        """Least bound of all open and closed nodes; None if there is none."""
        bound = min(self._closed, self._queue[0][0] if self._queue else math.inf, self.incumbent.value)
        return bound if bound < math.inf else None

    def _details(self) -> dict[str, Any]:
        for record in self._records.values():
            record.open_bound = math.inf
        for bound, _, item in self._queue:
            if isinstance(item, Node):
                record = self._records[item.costs.grid]
                record.open_bound = min(record.open_bound, bound)
        return super()._details()
