"""The best plan by hand of every grid, as placements come in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from instances.objective import Goal
from instances.plan import Plan
from instances.tables import Ints, Tables
from solvers.kernel.pricer import Pricer
from solvers.placements.site_by_site import Placement


class PricedPlan(NamedTuple):
    """A feasible plan as arrays, with the positions of R and mb in the tables."""

    value: float
    r_index: int
    b: int
    layers: Ints  # [S]
    groups: Ints  # [R, S]

    def to_plan(self, tables: Tables) -> Plan:
        """The plan with GPUs by name."""
        return Plan.from_groups(tables.micro_batches[self.b], self.layers, self.groups)


class BestPlans:
    """Prices placements compiled; makes one goal's best plan of all, and of each grid what is not far behind.

    Parameters
    ----------
    slack
        What costs more than so many times the best plan is left out, which makes pricing faster; at least 1.
    """

    def __init__(self, tables: Tables, goal: Goal, slack: float) -> None:
        self._tables, self._slack = tables, slack
        self._arrays = Pricer(tables, goal).arrays
        self._found: dict[int, _Found] = {}
        self.best: PricedPlan | None = None
        nothing = Placement(np.zeros((1, 1), dtype=np.int64), equal=False, every_depth=False)
        self.price(nothing, -np.inf)  # compiles, or loads what was compiled

    def price(self, placement: Placement, least: float = np.inf) -> int:
        """Take in one placement, at each of its depths, if below `least`; number of plans priced."""
        from solvers.placements.pricing import price_placement

        replicas, columns = placement.groups.shape
        r_index = self._tables.replicas.index(replicas)
        found = self._found_of(r_index)
        if self.best is not None:
            least = min(least, self.best.value)
        before = found.values.copy()
        shallowest = 1 if placement.every_depth else columns
        arrays = found.values, found.layers, found.turned
        priced: int = price_placement(
            self._arrays, r_index, placement.groups, placement.equal, shallowest, least, self._slack, *arrays
        )
        if priced:
            for stages, b in np.argwhere(found.values < before).tolist():
                found.groups[stages, b] = placement.groups
                if found.values[stages, b] < least:
                    least = float(found.values[stages, b])
                    self.best = found.plan(r_index, stages, b)
        return priced

    def _found_of(self, r_index: int) -> _Found:
        if r_index not in self._found:
            self._found[r_index] = _Found(self._tables)
        return self._found[r_index]

    def by_grid(self) -> Iterator[PricedPlan]:
        """The best plan of each grid that has one within the slack."""
        for r_index, found in self._found.items():
            for stages, b in np.argwhere(np.isfinite(found.values)).tolist():
                if self.best is not None and found.values[stages, b] < self.best.value * self._slack:
                    yield found.plan(r_index, stages, b)


class _Found:
    """The best plans of R pipelines, one for each depth S and micro-batch size b."""

    def __init__(self, tables: Tables) -> None:
        shape = tables.layers + 1, len(tables.micro_batches)
        self.values = np.full(shape, np.inf)
        self.layers = np.zeros((*shape, tables.layers), dtype=np.int64)
        self.turned = np.zeros(shape, dtype=np.bool_)
        self.groups: dict[tuple[int, int], Ints] = {}

    def plan(self, r_index: int, stages: int, b: int) -> PricedPlan:
        groups = self.groups[stages, b][:, :stages]
        if self.turned[stages, b]:
            groups = groups[:, ::-1]
        value, layers = float(self.values[stages, b]), self.layers[stages, b, :stages].copy()
        return PricedPlan(value, r_index, b, layers, groups)
