"""A part of a grid: the plans whose slowest steps lie in a range, and what their stages may still choose."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from instances.plan import Plan
from instances.tables import Flags, Floats
from solvers.exact.costs import GridCosts
from solvers.exact.grid_bounds import SAFETY

MOST_ORDERED = 6
"""Pipelines of a plan that a model excludes order by order; with more the orders are too many."""


@dataclass(eq=False)
class Part:
    """One part. Every plan of its grid that no bound rules out lies in a part, with its pipelines in some order.

    Attributes
    ----------
    low, high
        [r, direction] range of the slowest forward and backward step of pipeline r (s), ends included. Over
        all parts the forward steps fall with r, as pipelines can be listed in any order.
    sync_low, sync_high
        Range of the seconds of the gradient exchange; 0 to 0 for a single pipeline.
    stay
        [r, s, k, l]: stage s of pipeline r may hold l layers on group k.
    move
        [r, s, k, j]: pipeline r may go from group k in stage s to group j in stage s + 1.
    value, time_s, pipeline_s
        Lower bounds on the objective, the time, and the time without gradient exchange of the plans left.
    multipliers
        The best Lagrangian multipliers found so far by name of the relaxation: [k] on groups, [r] on pipelines.
    final
        Not to be split further: a model's turn.
    forbidden
        Plans that were found here already: the model must find another or prove that there is none.
    attempts
        How often a model ran out of its time on it, or on what it was split from.
    """

    costs: GridCosts
    low: Floats
    high: Floats
    sync_low: float
    sync_high: float
    stay: Flags
    move: Flags
    value: float
    time_s: float
    pipeline_s: float
    multipliers: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    final: bool = False
    forbidden: list[Plan] = field(default_factory=list)
    attempts: int = 0

    @classmethod
    def whole(cls, costs: GridCosts) -> Part:
        """All plans of a grid that has some."""
        bound, replicas = costs.bound, costs.replicas
        assert bound.value is not None
        low = np.tile(np.array(bound.steps), (replicas, 1))
        low[0, 0] = bound.worst_steps[0]  # the first pipeline has the slowest forward step
        if replicas == 1:
            low[0] = bound.worst_steps
        stay, move = (np.repeat(flags[None], replicas, axis=0) for flags in costs.allowed())
        pipeline = (bound.time_s - bound.sync_s) * (1 - SAFETY)
        most_sync = np.inf if replicas > 1 else 0.0
        high = np.full_like(low, np.inf)
        return cls(costs, low, high, bound.sync_s, most_sync, stay, move, bound.value, bound.time_s, pipeline)

    def child(self) -> Part:
        """A copy to be narrowed."""
        return Part(
            self.costs,
            self.low.copy(),
            self.high.copy(),
            self.sync_low,
            self.sync_high,
            self.stay.copy(),
            self.move.copy(),
            self.value,
            self.time_s,
            self.pipeline_s,
            {name: (gpus.copy(), weights.copy()) for name, (gpus, weights) in self.multipliers.items()},
            forbidden=list(self.forbidden),
            attempts=self.attempts,
        )

    @property
    def alive(self) -> bool:
        """Whether each stage and each hop still has a choice."""
        return bool(self.stay.any(axis=(2, 3)).all() and self.move.any(axis=(2, 3)).all())

    def alike(self, r: int, q: int) -> bool:
        """Whether two pipelines may choose the same: then they are interchangeable."""
        return bool(
            np.array_equal(self.low[r], self.low[q])
            and np.array_equal(self.high[r], self.high[q])
            and np.array_equal(self.stay[r], self.stay[q])
            and np.array_equal(self.move[r], self.move[q])
        )

    def holds(self, plan: Plan) -> bool:
        """Whether the exchange and the slowest steps of a plan on this grid lie in the part's ranges."""
        costs, b = self.costs, self.costs.position[1]
        tables, stages = costs.tables, costs.stages
        if costs.replicas > 1 and not self.sync_low <= _exchange(costs, plan) <= self.sync_high:
            return False
        steps = np.zeros((costs.replicas, 2))
        for r, row in enumerate(plan.groups):
            for direction, (table, send) in enumerate(
                ((tables.forward[b], costs.send), (tables.backward[b], costs.send.T))
            ):
                compute = [float(table[k, int(s == stages - 1), plan.layers[s]]) for s, k in enumerate(row)]
                hops = [float(send[k, j]) for k, j in pairwise(row)]
                steps[r, direction] = max(compute + hops)
        fits = [
            [bool((self.low[r] <= step).all() and (step <= self.high[r]).all()) for r in range(len(steps))]
            for step in steps
        ]
        return _has_matching(fits)


def _exchange(costs: GridCosts, plan: Plan) -> float:
    """Seconds of the gradient exchange of a plan."""
    tables, replicas, stages = costs.tables, costs.replicas, costs.stages
    slowest = 0.0
    for s, held in enumerate(plan.layers):
        share = float(tables.gradient[int(s == 0), int(s == stages - 1), held]) / replicas
        holders = np.array([row[s] for row in plan.groups])
        cost = (tables.latency + share / tables.bandwidth)[np.ix_(holders, holders)]
        np.fill_diagonal(cost, 0.0)
        slowest = max(slowest, float(cost.sum(axis=0).max()), float(cost.sum(axis=1).max()))
    return 2 * slowest


def _has_matching(fits: list[list[bool]]) -> bool:
    """Whether every row can take a column of its own that fits it."""
    if not fits:
        return True
    return any(
        _has_matching([[ok for at, ok in enumerate(row) if at != column] for row in fits[1:]])
        for column, fine in enumerate(fits[0])
        if fine
    )
