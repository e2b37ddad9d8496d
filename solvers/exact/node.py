"""A node of the branch and bound search: a subproblem with its bounds and multipliers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from instances.tables import Floats
from solvers.exact.bounded_costs import BoundedCosts
from solvers.exact.grid_bounds import SAFETY
from solvers.exact.subproblem import Subproblem


@dataclass(eq=False)
class Node(Subproblem):
    """A subproblem with bounds; the nodes of a grid cover all of its plans that no bound excludes.

    Attributes
    ----------
    time_s, pipeline_s
        Lower bounds on the time, and on the time without gradient exchange, of the plans left.
    multipliers
        The best Lagrangian multipliers found so far by name of the relaxation: [k] on groups, [r] on pipelines.
    final
        Whether a leaf model is next, rather than branching.
    attempts
        How often a leaf model ran out of time on it or its ancestors.
    """

    costs: BoundedCosts
    time_s: float = 0.0
    pipeline_s: float = 0.0
    multipliers: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    final: bool = False
    attempts: int = 0

    @classmethod
    def root(cls, costs: BoundedCosts) -> Node:
        """All plans of a grid that may have some."""
        node, bound = cls.plain(costs), costs.bound
        assert bound.value is not None
        node.low[:] = bound.steps
        node.low[0, 0] = bound.worst_steps[0]  # the first pipeline has the slowest forward step
        if costs.replicas == 1:
            node.low[0] = bound.worst_steps
        node.sync_low, node.value, node.time_s = bound.sync_s, bound.value, bound.time_s
        node.pipeline_s = (bound.time_s - bound.sync_s) * (1 - SAFETY)
        return node

    def child(self) -> Node:
        """A copy to be narrowed."""
        return replace(
            self,
            **{name: getattr(self, name).copy() for name in ("low", "high", "can_serve", "can_flow", "forbidden")},
            multipliers={name: (gpus.copy(), weights.copy()) for name, (gpus, weights) in self.multipliers.items()},
            final=False,
        )
