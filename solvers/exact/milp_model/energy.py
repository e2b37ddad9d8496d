"""Energy above a base, in units, with idle power times time linearised exactly (docs/model.md, Energy)."""

from __future__ import annotations

from math import inf

import pulp

from solvers.core.deadline import Deadline
from solvers.exact.leaf_costs import EnergyTerms
from solvers.exact.milp_model.assignment import Assignment
from solvers.exact.milp_model.exchange import Exchange
from solvers.exact.milp_model.rows import FORBIDDING, SPARE, Variable, scaled, total, weighted
from solvers.exact.milp_model.time import Time


class Energy(EnergyTerms[Variable]):
    """The terms of the energy, not yet scaled; `row(name, units, most, ...)` adds them to the model in some unit."""

    def __init__(self, assignment: Assignment, time: Time, exchange: Exchange | None, deadline: Deadline) -> None:
        super().__init__(assignment, time)
        self._assignment, self._deadline = assignment, deadline
        self._moved = [] if exchange is None else exchange.energy()

    def most(self, most_s: float) -> float:
        """More energy than any plan needs that takes at most `most_s`."""
        return self.worst(most_s, sum(cost for _, cost in self._moved))

    def row(self, name: str, units: float, most: float, time: Variable, per_second: float) -> Variable:
        """A variable at least the energy above the base, and at most `most` in all.

        `time` is the time above its base, of which a second is `per_second`.
        """
        self._deadline.check()
        assignment, model, tables = self._assignment, self._assignment.model, self._assignment.tables
        energy = model.add_variable(name, 0, None if most == inf else max(0.0, (most - self.base) * units) + SPARE)
        terms = [term for choice in self.choices for term in scaled(choice, units)]
        terms += [(x, cost * units) for x, cost in self._moved]
        for k, count in enumerate(tables.counts):
            uses, power = assignment.uses(k), float(tables.idle[k])
            if not uses or power == 0:
                continue
            levels: list[Variable] = []
            for number in range(min(int(count), len(assignment.serve))):
                # used_k_i is 1 when more than i GPUs of group k are used; wait_k_i is then at least the extra time
                kind = pulp.LpContinuous if count == 1 else pulp.LpBinary  # a single GPU's use is a sum of serve
                used = model.add_variable(f"used_{name}_{k}_{number}", 0, 1, kind)
                wait = model.add_variable(f"wait_{name}_{k}_{number}", 0, time.upBound)
                idle = wait - time - time.upBound * used >= -time.upBound
                model += idle, f"idle_while_used_{name}_{k}_{number}"
                if levels:
                    model += used <= levels[-1], f"used_in_order_{name}_{k}_{number}"
                levels.append(used)
                terms.append((wait, power / per_second * units))
            model += total(uses) - total(levels) == 0, f"gpus_used_{name}_{k}"
        model += total([energy]) - weighted(terms, FORBIDDING) >= 0, f"{name}_of_all"
        if most < self.base:
            model += total([energy]) <= -1, f"{name}_above_the_limit"  # no plan is that frugal
        return energy
