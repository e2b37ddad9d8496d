"""A subproblem: the plans of a grid with slowest steps in given ranges and restricted choices in each stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

import numpy as np

from instances.plan import Plan
from instances.tables import Flags, Floats
from solvers.exact.grid_costs import GridCosts


@dataclass(eq=False)
class Subproblem:
    """Plans of one grid, with their pipelines in some order.

    Attributes
    ----------
    low, high
        [r, direction] range of the slowest forward and backward step of pipeline r (s), ends included. In the
        search the forward steps fall with r, as pipelines can be listed in any order.
    sync_low, sync_high
        Range of the seconds of the gradient exchange; 0 to 0 for a single pipeline.
    can_serve
        [r, s, k, l]: group k may serve stage s of pipeline r with l layers.
    can_flow
        [r, s, k, j]: pipeline r may go from group k in stage s to group j in stage s + 1.
    forbidden
        Plans already found here: the model must find another or prove that there is none.
    value
        A lower bound on the objective of the remaining plans; -inf while there is none.
    """

    costs: GridCosts
    low: Floats
    high: Floats
    sync_low: float
    sync_high: float
    can_serve: Flags
    can_flow: Flags
    forbidden: list[Plan] = field(default_factory=list)
    value: float = -np.inf

    @classmethod
    def plain(cls, costs: GridCosts) -> Self:
        """All plans of a grid, with unrestricted ranges."""
        can_serve, can_flow = (np.repeat(flags[None], costs.replicas, axis=0) for flags in costs.allowed())
        steps = np.zeros((costs.replicas, 2))
        most_sync = np.inf if costs.replicas > 1 else 0.0
        return cls(costs, steps, np.full_like(steps, np.inf), 0.0, most_sync, can_serve, can_flow)

    @property
    def alive(self) -> bool:
        """Whether every stage and hop still has a choice."""
        return bool(self.can_serve.any(axis=(2, 3)).all() and self.can_flow.any(axis=(2, 3)).all())

    def alike(self, r: int, q: int) -> bool:
        """Whether two pipelines have the same choices and so are interchangeable."""
        return bool(
            np.array_equal(self.low[r], self.low[q])
            and np.array_equal(self.high[r], self.high[q])
            and np.array_equal(self.can_serve[r], self.can_serve[q])
            and np.array_equal(self.can_flow[r], self.can_flow[q])
        )

    def holds(self, plan: Plan) -> bool:
        """Whether the exchange and the slowest steps of a plan on this grid lie in its ranges."""
        from scipy.sparse import csr_array  # loads late
        from scipy.sparse.csgraph import maximum_bipartite_matching

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
        fits = (self.low <= steps[:, None]).all(axis=2) & (steps[:, None] <= self.high).all(axis=2)
        # Every pipeline of the plan is matched to a different pipeline of the subproblem.
        return bool((maximum_bipartite_matching(csr_array(fits), perm_type="column") >= 0).all())


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
