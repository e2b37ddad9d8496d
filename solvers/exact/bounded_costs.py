"""A grid's costs together with its cheap bound and what follows from it for every plan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from instances.tables import Flags, Floats
from solvers.exact.grid_bounds import GridBound, cheapest_partners
from solvers.exact.grid_costs import GridCosts
from solvers.exact.joint_states import MOST_ENTRIES, JointStates, joint_entries, joint_states


@dataclass(frozen=True)
class BoundedCosts(GridCosts):
    """The costs of one grid with a cheap bound."""

    bound: GridBound

    @cached_property
    def exchange(self) -> Floats:
        """Least seconds that a holder spends on the gradient exchange, [first, last, k, layers]."""
        tables, replicas = self.tables, self.replicas
        found = np.zeros((2, 2, len(tables.counts), self.width))
        if replicas > 1:
            for first in (0, 1):
                for last in (0, 1):
                    for held in range(1, self.width):
                        share = float(tables.gradient[first, last, held]) / replicas
                        cost = tables.latency + share / tables.bandwidth
                        out, into = (cheapest_partners(c, tables.counts, replicas) for c in (cost, cost.T))
                        found[first, last, :, held] = 2 * np.maximum(out, into)
        return found

    @cached_property
    def alone(self) -> JointStates:
        """The states of a single pipeline: one for each group."""
        return joint_states(self.tables, 1, self.width)

    @cached_property
    def joint(self) -> JointStates | None:
        """The states of all pipelines together, if they are not too many."""
        entries = joint_entries(self.tables, self.replicas, self.stages, self.width)
        return joint_states(self.tables, self.replicas, self.width) if entries <= MOST_ENTRIES else None

    @cached_property
    def idle_power(self) -> float:
        """Least idle power of all GPUs that the grid uses."""
        idle = np.sort(np.repeat(self.tables.idle, self.tables.counts))
        return float(idle[: self.replicas * self.stages].sum())

    @cached_property
    def busy_energy(self) -> float:
        """A lower bound on the energy apart from idle power."""
        return max(0.0, self.bound.energy - self.idle_power * self.bound.time_s)

    def time_limit(self, target: float) -> float:
        """As in `GridCosts`, tightened by the least idle power of the GPUs."""
        goal, limit = self.goal, super().time_limit(target)
        if self.least_per_second > 0 and target < np.inf:
            limit = min(limit, (target - goal.energy_weight * self.busy_energy) / self.least_per_second)
        if self.energy_limit() < np.inf:
            limit = min(limit, (self.energy_limit() - self.busy_energy) / self.idle_power)
        return float(limit)

    @property
    def least_per_second(self) -> float:
        """Least objective value of one second."""
        return self.goal.time_weight + self.goal.energy_weight * self.idle_power

    def steps_of(self, can_serve: Flags, can_flow: Flags) -> tuple[Floats, Floats]:
        """All seconds that the slowest forward and backward step can take, rising."""
        inner, hops = can_serve[:-1].any(axis=0), can_flow.any(axis=0)
        forward, backward = (
            np.unique(np.concatenate([slot[0][inner], slot[1][can_serve[-1]], send[hops]]))
            for slot, send in ((self.forward, self.send), (self.backward, self.send.T))
        )
        return forward, backward
