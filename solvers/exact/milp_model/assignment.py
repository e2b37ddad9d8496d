"""The decisions: which group serves each slot with how many layers, and the flow between stages."""

from __future__ import annotations

import pulp

from instances.plan import Plan
from solvers.core.deadline import Deadline
from solvers.exact.leaf_assignment import MOST_ORDERED, LeafAssignment
from solvers.exact.milp_model.rows import Variable, total, weighted
from solvers.exact.subproblem import Subproblem


class Assignment(LeafAssignment[Variable]):
    """The variables and constraints of docs/model.md, Plan and feasibility, for one subproblem.

    `flow` is 0 or 1 wherever `serve` is, so it need not be an integer variable.
    """

    def __init__(self, model: pulp.LpProblem, subproblem: Subproblem, deadline: Deadline) -> None:
        self.model = model
        super().__init__(subproblem, deadline, self.binary, lambda name: model.add_variable(name, 0, 1))
        for (r, s), slot in self.serve.items():
            model += total(slot.values()) == 1, f"one_gpu_serves_{r}_{s}"
        for name, served, moved in self.joins():
            model += total(served) - total(moved) == 0, name
        self._hold_layers()
        self._limit_gpus()
        self._limit_power()
        for name, apart in self.unlinked():
            model += total(apart) <= 1, name
        for name, *first_groups in self.interchangeable():
            first, second = (weighted([(x, float(k)) for k, x in row]) for row in first_groups)
            model += first <= second, name
        for number, plan in enumerate(subproblem.forbidden):
            self._forbid(plan, number)

    def binary(self, name: str) -> Variable:
        """A variable that is 0 or 1."""
        return self.model.add_variable(name, cat=pulp.LpBinary)

    def _hold_layers(self) -> None:
        """Every pipeline holds all layers, in the same split."""
        for r in range(self.replicas):
            self.model += weighted([(x, held) for held, x in self.held(r)]) == self.tables.layers, f"layers_{r}"
        for name, rows in self.splits():
            for r in range(1, self.replicas):
                self.model += total(rows[0]) - total(rows[r]) == 0, f"{name}_{r}"

    def _limit_gpus(self) -> None:
        """No group is used more often than it has GPUs."""
        for name, count, uses in self.scarce():
            self.model += total(uses) <= count, name

    def _limit_power(self) -> None:
        """The GPUs used at a site draw no more than its cap."""
        for name, shares in self.powered():
            self.model += weighted([(x, share) for share, x in shares]) <= 1 + 1e-9, name

    def _forbid(self, plan: Plan, number: int) -> None:
        """Exclude a plan, in every order of its pipelines."""
        if self.replicas <= MOST_ORDERED:
            for i, chosen in enumerate(self.excluded_orders(plan)):
                self.model += total(chosen) <= len(chosen) - 1, f"not_again_{number}_{i}"
            return
        fewer = []
        for i, (count, rows) in enumerate(self.excluded_rows(plan) or ()):
            taken = []
            for r, row in enumerate(rows):
                # takes is 1 when a pipeline is row i of the plan
                takes = self.binary(f"takes_{number}_{i}_{r}")
                self.model += total(row) - takes <= len(row) - 1, f"row_taken_{number}_{i}_{r}"
                taken.append(takes)
            # fewer is 1 only when fewer than `count` pipelines are row i
            fewer.append(self.binary(f"fewer_{number}_{i}"))
            most = len(rows) - count + 1
            self.model += total(taken) + most * fewer[-1] <= len(rows), f"row_not_as_often_{number}_{i}"
        if fewer:
            self.model += total(fewer) >= 1, f"not_again_{number}"
