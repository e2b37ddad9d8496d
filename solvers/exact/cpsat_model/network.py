"""What is decided: the group and the layers of every slot, and the hops between stages; no costs here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import permutations
from math import floor

import numpy as np
from ortools.sat.python import cp_model

from instances.plan import Plan
from instances.tables import Flags
from solvers.core.deadline import Deadline
from solvers.exact.subproblem import MOST_ORDERED, Part

Literal = cp_model.IntVar
Slot = tuple[int, int]  # (pipeline r, stage s)
WATTS_SCALE = 2**20
"""Units in a site's power cap: watts are rounded down, and a plan that slips over the cap is refused later."""


class Choices:
    """The Boolean variables of a part and the rules of SPEC 1.2.

    Attributes
    ----------
    hold
        `hold[r, s][k, l]` is 1 when slot (r, s) is a GPU of group k with l layers.
    ride
        `ride[r, s][k, j]` is 1 when pipeline r goes from group k in stage s to group j in stage s + 1.
    """

    def __init__(self, model: cp_model.CpModel, part: Part, deadline: Deadline) -> None:
        self.model, self.part = model, part
        self.replicas, self.stages = part.costs.replicas, part.costs.stages
        self.hold: dict[Slot, dict[tuple[int, int], Literal]] = {}
        self.ride: dict[Slot, dict[tuple[int, int], Literal]] = {}
        self._holders: dict[tuple[int, int, int], Literal] = {}
        for r in range(self.replicas):
            for s in range(self.stages):
                deadline.check()
                self.hold[r, s] = {
                    (k, held): model.new_bool_var(f"hold_{r}_{s}_{k}_{held}") for k, held in _pairs(part.stay[r, s])
                }
                model.add_exactly_one(self.hold[r, s].values())
        for r in range(self.replicas):
            for s in range(self.stages - 1):
                deadline.check()
                self.ride[r, s] = {
                    (k, j): model.new_bool_var(f"ride_{r}_{s}_{k}_{j}") for k, j in _pairs(part.move[r, s])
                }
                self._join_stages(r, s)
        self._spend_layers()
        self._spend_gpus()
        self._keep_power_caps()
        self._order_pipelines()
        for plan in part.forbidden:
            self._forbid(plan)

    def on(self, r: int, s: int, k: int) -> list[Literal]:
        """The variables that put group k into slot (r, s); one of them is 1 if it is there."""
        return [variable for (group, _), variable in self.hold[r, s].items() if group == k]

    def holder(self, s: int, k: int, held: int) -> Literal:
        """A variable that is 1 if some pipeline has a GPU of group k with so many layers in stage s."""
        if (s, k, held) not in self._holders:
            holder = self.model.new_bool_var(f"holder_{s}_{k}_{held}")
            for r in range(self.replicas):
                if (k, held) in self.hold[r, s]:
                    self.model.add_implication(self.hold[r, s][k, held], holder)
            self._holders[s, k, held] = holder
        return self._holders[s, k, held]

    def uses(self, k: int) -> list[Literal]:
        """The variables that use a GPU of group k anywhere."""
        return [x for r in range(self.replicas) for s in range(self.stages) for x in self.on(r, s, k)]

    def plan(self, value: cp_model.CpSolver) -> Plan:
        """The plan of a solution."""
        chosen = [
            [next(key for key, x in self.hold[r, s].items() if value.boolean_value(x)) for s in range(self.stages)]
            for r in range(self.replicas)
        ]
        layers = [held for _, held in chosen[0]]
        return Plan.from_groups(self.part.costs.bound.grid.micro_batch, layers, [[k for k, _ in row] for row in chosen])

    def _join_stages(self, r: int, s: int) -> None:
        """Flow: a pipeline leaves the group it is on and arrives at the group it goes to."""
        rides = self.ride[r, s]
        for k in range(len(self.part.costs.tables.counts)):
            leaving = [x for (a, _), x in rides.items() if a == k]
            arriving = [x for (_, b), x in rides.items() if b == k]
            here, there = self.on(r, s, k), self.on(r, s + 1, k)
            if here or leaving:
                self.model.add(sum(here) == sum(leaving))
            if there or arriving:
                self.model.add(sum(there) == sum(arriving))
        self.model.add_exactly_one(rides.values())

    def _spend_layers(self) -> None:
        """All layers are held, by the same split in every pipeline."""
        total = self.part.costs.tables.layers
        for r in range(self.replicas):
            self.model.add(
                sum(held * x for s in range(self.stages) for (_, held), x in self.hold[r, s].items()) == total
            )
        for s in range(self.stages):
            for held in sorted({held for _, held in self.hold[0, s]}) if self.replicas > 1 else ():
                with_count = [
                    [x for (_, count), x in self.hold[r, s].items() if count == held] for r in range(self.replicas)
                ]
                # split_s_l is 1 when stage s holds l layers, in all pipelines
                split = self.model.new_bool_var(f"split_{s}_{held}")
                for row in with_count:
                    self.model.add(sum(row) == split)

    def _spend_gpus(self) -> None:
        """No group gives more GPUs than it has."""
        for k, count in enumerate(self.part.costs.tables.counts):
            uses = self.uses(k)
            if count == 1:
                self.model.add_at_most_one(uses)
            elif count < self.replicas * self.stages:
                self.model.add(sum(uses) <= int(count))

    def _keep_power_caps(self) -> None:
        """The GPUs used at a site draw no more than its cap."""
        tables = self.part.costs.tables
        for site, cap in enumerate(tables.power_caps):
            here = np.flatnonzero(tables.site == site)
            if float((tables.power * tables.counts)[here].sum()) <= cap:
                continue
            terms = [
                (min(floor(float(tables.power[k]) / float(cap) * WATTS_SCALE), WATTS_SCALE + 1), x)
                for k in here
                for x in self.uses(int(k))
            ]
            self.model.add(sum(watts * x for watts, x in terms) <= WATTS_SCALE)

    def _order_pipelines(self) -> None:
        """Pipelines that may choose the same are interchangeable: their first groups rise."""
        for r in range(self.replicas - 1):
            if not self.part.alike(r, r + 1):
                continue
            first, second = (sum(k * x for (k, _), x in self.hold[row, 0].items()) for row in (r, r + 1))
            self.model.add(first <= second)

    def _forbid(self, plan: Plan) -> None:
        """Exclude a plan, in every order of its pipelines."""
        rows = sorted(plan.groups)
        if len(rows) > MOST_ORDERED:
            self._forbid_counts(plan)
            return
        for order in set(permutations(rows)):
            keys = [(r, s, (k, plan.layers[s])) for r, row in enumerate(order) for s, k in enumerate(row)]
            if all(key in self.hold[r, s] for r, s, key in keys):
                self.model.add_bool_or([self.hold[r, s][key].negated() for r, s, key in keys])

    def _forbid_counts(self, plan: Plan) -> None:
        """The same for many pipelines: of some row there must be fewer than the plan has."""
        fewer = []
        for row, count in Counter(plan.groups).items():
            taken = []
            for r in range(self.replicas):
                keys = [(s, (k, plan.layers[s])) for s, k in enumerate(row)]
                if all(key in self.hold[r, s] for s, key in keys):
                    # takes is 1 when pipeline r is this row of the plan
                    takes = self.model.new_bool_var(f"takes_{len(self.model.proto.variables)}")
                    self.model.add_bool_or([takes, *(self.hold[r, s][key].negated() for s, key in keys)])
                    taken.append(takes)
            if len(taken) < count:
                return  # the part does not have the plan
            # fewer_i is 1 only when fewer than `count` pipelines are this row
            fewer.append(self.model.new_bool_var(f"fewer_{len(self.model.proto.variables)}"))
            self.model.add(sum(taken) <= count - 1).only_enforce_if(fewer[-1])
        self.model.add_bool_or(fewer)


def _pairs(flags: Flags) -> Iterable[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in zip(*np.nonzero(flags), strict=True)]
