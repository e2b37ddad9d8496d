"""Energy above a base, in whole units rounded down, with idle power times time linearised exactly.

docs/model.md, Energy.
"""

from __future__ import annotations

from math import floor

from ortools.sat.python import cp_model

from solvers.exact.cpsat_model.assignment import Assignment, Variable
from solvers.exact.cpsat_model.exchange import Exchange
from solvers.exact.cpsat_model.rows import add_choices, add_row
from solvers.exact.cpsat_model.time import Time
from solvers.exact.leaf_costs import ROUNDING, EnergyTerms


class Energy(EnergyTerms[Variable]):
    """The terms of the energy, not yet scaled; `row(units, most, most_s)` adds them to the model in some unit.

    Every used GPU idles for the base time at least: that is part of its slot's cost. For the rest,
    idle power times the time above the base is a variable per idle power, which counts once for each used
    GPU of that power: the product of a 0-1 variable and a time, with no rounding but the rows' own.
    """

    def __init__(self, assignment: Assignment, time: Time, exchange: Exchange | None) -> None:
        super().__init__(assignment, time)
        self._assignment, self._exchange = assignment, exchange
        self._above_base = time

    def row_sums(self, most: float, most_s: float) -> list[float]:
        """Sums of the costs of each row to come, for choosing the units."""
        lists = self.choices + ([] if self._exchange is None else [terms for _, _, terms in self._exchange.pairs])
        sums = [sum(min(cost, most - self.base) for cost, _ in terms) for terms in lists]
        return sums + [self.most_idle * cost for cost in self._above_base.row_sums(most_s)]

    def most(self, most_s: float) -> float:
        """More energy than any plan needs that takes at most `most_s`."""
        pairs = [] if self._exchange is None else self._exchange.pairs
        return self.worst(most_s, sum(cost for _, _, terms in pairs for cost, _ in terms))

    def row(self, units: float, most: float, most_s: float) -> cp_model.IntVar:
        """A variable at least the energy above the base, and at most `most` in all, for times up to `most_s`."""
        model = self._assignment.model
        limit = max(-1, floor((most - self.base) * units * (1 + ROUNDING)))
        if limit < 0:
            model.add_bool_or([])  # no plan is that frugal
            return model.new_constant(0)
        energy = model.new_int_var(0, limit, f"energy_{len(model.proto.variables)}")
        waits = self._waits(units, most_s)
        exchange = [] if self._exchange is None else self._exchange.energy(units, limit)
        terms = add_choices(model, self.choices, units, most - self.base + 2 / units, limit + 2)
        add_row(model, energy, terms + [(1, x) for x in [*waits, *exchange]])
        return energy

    def _waits(self, units: float, most_s: float) -> list[cp_model.IntVar]:
        """For every GPU that may be used, its idle power times the time above the base; 0 if it is not used."""
        assignment, model, tables = self._assignment, self._assignment.model, self._assignment.tables
        by_power: dict[float, cp_model.IntVar] = {}
        waits = []
        for k in range(len(tables.counts)):
            uses, power = assignment.uses(k), float(tables.idle[k])
            if not uses or power == 0:
                continue
            if power not in by_power:
                by_power[power] = self._above_base.row(units * power, most_s)
            most = floor(max(0.0, most_s - self._above_base.base) * units * power * (1 + ROUNDING))
            levels: list[cp_model.IntVar] = []
            for number in range(min(int(tables.counts[k]), len(assignment.serve))):
                # used_k_i is 1 when more than i GPUs of group k are used; wait_k_i is then at least the extra time
                used = model.new_bool_var(f"used_{k}_{number}")
                wait = model.new_int_var(0, most, f"wait_{k}_{number}_{len(model.proto.variables)}")
                model.add(wait >= by_power[power]).only_enforce_if(used)
                if levels:
                    model.add_implication(used, levels[-1])
                levels.append(used)
                waits.append(wait)
            model.add(sum(uses) == sum(levels))
        return waits
