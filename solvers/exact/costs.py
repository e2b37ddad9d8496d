"""What one grid's stages and hops cost, as the relaxations and the splitting need it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from instances.objective import CAP_SLACK, Goal
from instances.tables import Flags, Floats, Tables
from solvers.exact.grid_bounds import GridBound, cheapest_partners
from solvers.exact.joint_states import MOST_ENTRIES, JointStates, joint_entries, joint_states


@dataclass(frozen=True)
class GridCosts:
    """Seconds and energies of one micro-batch on one grid; [last, k, layers] or [k, j].

    Layers run from 0 to the most that a stage can hold when every other stage holds one.
    """

    tables: Tables
    goal: Goal
    bound: GridBound

    @cached_property
    def position(self) -> tuple[int, int]:
        """Where the grid stands in the tables, (r, b)."""
        return self.tables.indices(self.bound.grid)

    @property
    def stages(self) -> int:
        """S."""
        return self.bound.grid.stages

    @property
    def replicas(self) -> int:
        """R."""
        return self.bound.grid.replicas

    @cached_property
    def repeats(self) -> int:
        """How often a pipeline repeats its slowest step, M - 1."""
        return self.tables.micro_batch_count(self.bound.grid) - 1

    @property
    def width(self) -> int:
        """Most layers of a stage, and one."""
        return self.tables.layers - self.stages + 2

    @cached_property
    def forward(self) -> Floats:
        """x by [last, k, layers], s."""
        return self._trimmed(self.tables.forward)

    @cached_property
    def backward(self) -> Floats:
        """y by [last, k, layers], s."""
        return self._trimmed(self.tables.backward)

    @cached_property
    def send(self) -> Floats:
        """c by [k, j], s; its transpose is d."""
        return np.ascontiguousarray(self.tables.send[self.position[1]])

    @cached_property
    def hop(self) -> Floats:
        """All seconds between two stages: both sends and both latencies, [k, j]."""
        latency = self.tables.latency
        return self.send + self.send.T + latency + latency.T

    @cached_property
    def above_idle(self) -> Floats:
        """Energy of a busy GPU above an idle one, all micro-batches, [last, k, layers]."""
        above = (self.tables.active - self.tables.idle)[None, :, None]
        return (self.repeats + 1) * above * (self.forward + self.backward)

    @cached_property
    def hop_energy(self) -> Floats:
        """Energy of all activations and their gradients between two stages, [k, j]."""
        moved = self.tables.batch // self.replicas * self.tables.message_bytes
        return moved * (self.tables.per_byte + self.tables.per_byte.T)

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

    def energy_limit(self) -> float:
        """The most energy a plan may use."""
        cap = self.goal.energy_cap
        return np.inf if cap is None else cap * (1 + 2 * CAP_SLACK)

    def time_limit(self, target: float) -> float:
        """The most seconds a plan may take if its value is to be below the target and its caps kept."""
        goal = self.goal
        limit = np.inf if goal.time_cap is None else goal.time_cap * (1 + 2 * CAP_SLACK)
        slope = goal.time_weight + goal.energy_weight * self.idle_power
        if slope > 0 and target < np.inf:
            limit = min(limit, (target - goal.energy_weight * self.busy_energy) / slope)
        if self.energy_limit() < np.inf:
            limit = min(limit, (self.energy_limit() - self.busy_energy) / self.idle_power)
        return float(limit)

    def allowed(self) -> tuple[Flags, Flags]:
        """`stay[s, k, l]` and `move[s, k, j]`: what memory and the number of GPUs allow."""
        r, b = self.position
        groups, stages = len(self.tables.counts), self.stages
        stay = np.zeros((stages, groups, self.width), dtype=bool)
        for s in range(stages):
            fits = self.tables.fits[r, b, :, int(s == 0), int(s == stages - 1)]
            stay[s] = (np.arange(self.width) >= 1) & (np.arange(self.width) <= fits[:, None])
        move = np.ones((max(stages - 1, 0), groups, groups), dtype=bool)
        move[:, np.arange(groups), np.arange(groups)] = self.tables.counts > 1
        return stay, move

    def steps_of(self, stay: Flags, move: Flags) -> tuple[Floats, Floats]:
        """All seconds that the slowest forward and backward step can take, rising."""
        kinds = (self.forward, self.send), (self.backward, self.send.T)
        forward, backward = (
            np.unique(np.concatenate([compute[0][stay[:-1].any(axis=0)], compute[1][stay[-1]], send[move.any(axis=0)]]))
            for compute, send in kinds
        )
        return forward, backward

    def _trimmed(self, table: Floats) -> Floats:
        return np.ascontiguousarray(table[self.position[1], :, :, : self.width].transpose(1, 0, 2))
