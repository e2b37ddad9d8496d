"""Costs of the stages and hops on one grid, from the instance's tables alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from instances.objective import CAP_SLACK, Goal
from instances.tables import Flags, Floats, Grid, Tables


@dataclass(frozen=True)
class GridCosts:
    """Seconds and energies of one micro-batch on one grid; [last, k, layers] or [k, j].

    Layers run from 0 to the most that a stage can hold when every other stage holds one.
    """

    tables: Tables
    goal: Goal
    grid: Grid

    @cached_property
    def position(self) -> tuple[int, int]:
        """Indices of the grid in the tables, (r, b)."""
        return self.tables.indices(self.grid)

    @property
    def stages(self) -> int:
        """S."""
        return self.grid.stages

    @property
    def replicas(self) -> int:
        """R."""
        return self.grid.replicas

    @cached_property
    def repeats(self) -> int:
        """How often a pipeline repeats its slowest step, M - 1."""
        return self.tables.micro_batch_count(self.grid) - 1

    @property
    def width(self) -> int:
        """Most layers of a stage, plus one."""
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

    def energy_limit(self) -> float:
        """The most energy a plan may use."""
        cap = self.goal.energy_cap
        return np.inf if cap is None else cap * (1 + 2 * CAP_SLACK)

    def time_limit(self, target: float) -> float:
        """The most seconds a plan may take to be below the target and within the caps."""
        goal = self.goal
        limit = np.inf if goal.time_cap is None else goal.time_cap * (1 + 2 * CAP_SLACK)
        return min(limit, target / goal.time_weight) if goal.time_weight > 0 else limit

    def allowed(self) -> tuple[Flags, Flags]:
        """`can_serve[s, k, l]` and `can_flow[s, k, j]`: what memory, links and the number of GPUs allow."""
        r, b = self.position
        groups, stages = len(self.tables.counts), self.stages
        can_serve = np.zeros((stages, groups, self.width), dtype=bool)
        for s in range(stages):
            fits = self.tables.fits[r, b, :, int(s == 0), int(s == stages - 1)]
            can_serve[s] = (np.arange(self.width) >= 1) & (np.arange(self.width) <= fits[:, None])
        can_flow = np.repeat(self.tables.linked[None], max(stages - 1, 0), axis=0)
        can_flow[:, np.arange(groups), np.arange(groups)] &= self.tables.counts > 1
        return can_serve, can_flow

    def _trimmed(self, table: Floats) -> Floats:
        return np.ascontiguousarray(table[self.position[1], :, :, : self.width].transpose(1, 0, 2))
