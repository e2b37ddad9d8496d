"""The decisions: which group serves each slot with how many layers, and the flow between stages."""

from __future__ import annotations

from math import floor

from ortools.sat.python import cp_model

from instances.plan import Plan
from solvers.core.deadline import Deadline
from solvers.exact.cpsat_model.rows import LARGEST_ROW, add_row
from solvers.exact.leaf_assignment import MOST_ORDERED, LeafAssignment
from solvers.exact.subproblem import Subproblem

Variable = cp_model.IntVar
POWER_UNITS = 2**20
"""Most units in a site's power cap: watts are rounded down, and a plan that slips over the cap is refused later."""


class Assignment(LeafAssignment[Variable]):
    """The variables and constraints of docs/model.md, Plan and feasibility, for one subproblem."""

    def __init__(self, model: cp_model.CpModel, subproblem: Subproblem, deadline: Deadline) -> None:
        super().__init__(subproblem, deadline, model.new_bool_var, model.new_bool_var)
        self.model = model
        self._holders: dict[tuple[int, int, int], Variable] = {}
        for variables in (*self.serve.values(), *self.flow.values()):
            model.add_exactly_one(variables.values())
        for _, served, moved in self.joins():
            model.add(sum(served) == sum(moved))
        self._hold_layers()
        self._limit_gpus()
        self._limit_power()
        for _, apart in self.unlinked():
            model.add_at_most_one(apart)
        for _, first, second in self.interchangeable():
            model.add(sum(k * x for k, x in first) <= sum(k * x for k, x in second))
        for plan in subproblem.forbidden:
            self._forbid(plan)

    def holder(self, s: int, k: int, held: int) -> Variable:
        """A variable that is 1 if some pipeline has a GPU of group k with so many layers in stage s."""
        if (s, k, held) not in self._holders:
            holder = self.model.new_bool_var(f"holder_{s}_{k}_{held}")
            for r in range(self.replicas):
                if (k, held) in self.serve[r, s]:
                    self.model.add_implication(self.serve[r, s][k, held], holder)
            self._holders[s, k, held] = holder
        return self._holders[s, k, held]

    def _hold_layers(self) -> None:
        """Every pipeline holds all layers, in the same split."""
        for r in range(self.replicas):
            self.model.add(sum(held * x for held, x in self.held(r)) == self.tables.layers)
        for name, rows in self.splits() if self.replicas > 1 else ():
            split = self.model.new_bool_var(name)
            for row in rows:
                self.model.add(sum(row) == split)

    def _limit_gpus(self) -> None:
        """No group is used more often than it has GPUs."""
        for _, count, uses in self.scarce():
            if count == 1:
                self.model.add_at_most_one(uses)
            else:
                self.model.add(sum(uses) <= count)

    def _limit_power(self) -> None:
        """The GPUs used at a site draw no more than its cap."""
        for _, shares in self.powered():
            # A coefficient is at most a unit above its share of the units, so that the row stays below the limit.
            most = floor((LARGEST_ROW - len(shares)) / max(1.0, sum(min(share, 1.0) for share, _ in shares)))
            units = min(POWER_UNITS, most)
            add_row(self.model, units, [(min(floor(share * units), units + 1), x) for share, x in shares])

    def _forbid(self, plan: Plan) -> None:
        """Exclude a plan, in every order of its pipelines."""
        if self.replicas <= MOST_ORDERED:
            for chosen in self.excluded_orders(plan):
                self.model.add_bool_or([x.negated() for x in chosen])
            return
        fewer = []
        for count, rows in self.excluded_rows(plan) or ():
            taken = []
            for row in rows:
                # takes is 1 when a pipeline is this row of the plan
                takes = self.model.new_bool_var(f"takes_{len(self.model.proto.variables)}")
                self.model.add_bool_or([takes, *(x.negated() for x in row)])
                taken.append(takes)
            # fewer is 1 only when fewer than `count` pipelines are this row
            fewer.append(self.model.new_bool_var(f"fewer_{len(self.model.proto.variables)}"))
            self.model.add(sum(taken) <= count - 1).only_enforce_if(fewer[-1])
        if fewer:
            self.model.add_bool_or(fewer)
