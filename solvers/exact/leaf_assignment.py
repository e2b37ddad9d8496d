"""The decisions of a leaf model, for both back ends: which group serves each slot with how many layers, and hops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from typing import Generic, TypeVar

import numpy as np

from instances.plan import Plan
from solvers.core.deadline import Deadline
from solvers.exact.subproblem import Subproblem

V = TypeVar("V")
Slot = tuple[int, int]  # pipeline r, stage s
MOST_ORDERED = 6
"""Most pipelines of a plan that a model excludes order by order; with more there are too many orders."""


class LeafAssignment(Generic[V]):
    """The variables of a back end, and the constraints of docs/model.md, Plan and feasibility, as lists of them.

    Attributes
    ----------
    serve
        `serve[r, s][k, l]` is 1 when group k serves stage s of pipeline r with l layers.
    flow
        `flow[r, s][k, j]` is 1 when pipeline r goes from group k in stage s to group j in stage s + 1.
    """

    def __init__(
        self, subproblem: Subproblem, deadline: Deadline, serve: Callable[[str], V], flow: Callable[[str], V]
    ) -> None:
        self.subproblem, self.tables = subproblem, subproblem.costs.tables
        self.replicas, self.stages = subproblem.costs.replicas, subproblem.costs.stages
        self.serve: dict[Slot, dict[tuple[int, int], V]] = {}
        self.flow: dict[Slot, dict[tuple[int, int], V]] = {}
        for r in range(self.replicas):
            for s in range(self.stages):
                deadline.check()
                slots = np.argwhere(subproblem.can_serve[r, s]).tolist()
                self.serve[r, s] = {(k, held): serve(f"serve_{r}_{s}_{k}_{held}") for k, held in slots}
                if s < self.stages - 1:
                    hops = np.argwhere(subproblem.can_flow[r, s]).tolist()
                    self.flow[r, s] = {(k, j): flow(f"flow_{r}_{s}_{k}_{j}") for k, j in hops}

    def on(self, r: int, s: int, k: int) -> list[V]:
        """The variables that put group k into slot (r, s); one of them is 1 if it is there."""
        return [x for (group, _), x in self.serve[r, s].items() if group == k]

    def uses(self, k: int) -> list[V]:
        """The variables that use a GPU of group k anywhere."""
        return [x for slot in self.serve for x in self.on(*slot, k)]

    def joins(self) -> Iterator[tuple[str, list[V], list[V]]]:
        """(name, served, flows) of flow conservation: the flow passes through the groups that serve a stage."""
        for (r, s), flow in self.flow.items():
            for k in range(len(self.tables.counts)):
                leaving = [x for (a, _), x in flow.items() if a == k]
                arriving = [x for (_, b), x in flow.items() if b == k]
                for name, served, moved in (
                    (f"leaves_{r}_{s}_{k}", self.on(r, s, k), leaving),
                    (f"reaches_{r}_{s}_{k}", self.on(r, s + 1, k), arriving),
                ):
                    if served or moved:
                        yield name, served, moved

    def held(self, r: int) -> list[tuple[int, V]]:
        """(layers, variable) of all slots of a pipeline."""
        return [(count, x) for s in range(self.stages) for (_, count), x in self.serve[r, s].items()]

    def splits(self) -> Iterator[tuple[str, list[list[V]]]]:
        """(name, variables by pipeline) of every stage and number of layers: all pipelines have the same."""
        for s in range(self.stages):
            for held in sorted({count for r in range(self.replicas) for _, count in self.serve[r, s]}):
                yield (
                    f"split_{s}_{held}",
                    [[x for (_, n), x in self.serve[r, s].items() if n == held] for r in range(self.replicas)],
                )

    def interchangeable(self) -> Iterator[tuple[str, list[tuple[int, V]], list[tuple[int, V]]]]:
        """(name, (group, variable) of the first stages of two pipelines): symmetry breaking by rising first groups."""
        for r in range(self.replicas - 1):
            if self.subproblem.alike(r, r + 1):
                first, second = ([(k, x) for (k, _), x in self.serve[row, 0].items()] for row in (r, r + 1))
                yield f"order_{r}", first, second

    def scarce(self) -> Iterator[tuple[str, int, list[V]]]:
        """(name, GPUs, uses) of every group that plans could use too often."""
        for k, count in enumerate(self.tables.counts):
            uses = self.uses(k)
            if uses and count < self.replicas * self.stages:
                yield f"gpus_of_{k}", int(count), uses

    def unlinked(self) -> Iterator[tuple[str, list[V]]]:
        """(name, variables) of pairs of slots of one stage and groups that cannot exchange: at most one is 1."""
        pairs = np.argwhere(~self.tables.linked).tolist()
        for s in range(self.stages):
            for r, q in combinations(range(self.replicas), 2):
                for k, j in pairs:
                    ours, theirs = self.on(r, s, k), self.on(q, s, j)
                    if ours and theirs:
                        yield f"no_link_{s}_{r}_{q}_{k}_{j}", ours + theirs

    def powered(self) -> Iterator[tuple[str, list[tuple[float, V]]]]:
        """(name, (share of the cap, variable)) of every site whose power cap plans could break."""
        tables = self.tables
        for site, cap in enumerate(tables.power_caps):
            here = np.flatnonzero(tables.site == site)
            if float((tables.power * tables.counts)[here].sum()) > cap:
                yield f"power_{site}", [(float(tables.power[k] / cap), x) for k in here for x in self.uses(int(k))]

    def excluded_orders(self, plan: Plan) -> Iterator[list[V]]:
        """The variables that are all 1 in a plan, for every order of its pipelines that the subproblem contains."""
        for order in sorted(set(permutations(plan.groups))):
            rows = [self._taken(r, row, plan) for r, row in enumerate(order)]
            if all(row is not None for row in rows):
                yield [x for row in rows for x in row or ()]

    def excluded_rows(self, plan: Plan) -> list[tuple[int, list[list[V]]]] | None:
        """(count, variables of pipelines that can be it) of every row of a plan, for plans of many pipelines.

        Some row must occur less often than in the plan. None if the subproblem does not contain the plan.
        """
        found = []
        for row, count in sorted(Counter(plan.groups).items()):
            taken = [self._taken(r, row, plan) for r in range(self.replicas)]
            possible = [variables for variables in taken if variables is not None]
            if len(possible) < count:
                return None
            found.append((count, possible))
        return found

    def plan(self, chosen: Callable[[V], bool]) -> Plan | None:
        """The plan of a solution; None if the values are not those of one (a back end may leave fractions)."""
        slots = {slot: [key for key, x in serve.items() if chosen(x)] for slot, serve in self.serve.items()}
        if any(len(keys) != 1 for keys in slots.values()):
            return None
        rows = [[slots[r, s][0] for s in range(self.stages)] for r in range(self.replicas)]
        layers = [held for _, held in rows[0]]
        if any([held for _, held in row] != layers for row in rows):
            return None
        return Plan.from_groups(self.subproblem.costs.grid.micro_batch, layers, [[k for k, _ in row] for row in rows])

    def _taken(self, r: int, row: tuple[int, ...], plan: Plan) -> list[V] | None:
        """The variables that make pipeline r the given row of a plan; None if the subproblem excludes that."""
        keys = [((r, s), (k, plan.layers[s])) for s, k in enumerate(row)]
        return (
            [self.serve[slot][key] for slot, key in keys]
            if all(key in self.serve[slot] for slot, key in keys)
            else None
        )
