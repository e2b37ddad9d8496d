"""The iteration time above a base, in whole units rounded down (docs/model.md, Iteration time)."""

from __future__ import annotations

from math import floor

from ortools.sat.python import cp_model

from solvers.exact.cpsat_model.assignment import Assignment, Variable
from solvers.exact.cpsat_model.exchange import Exchange
from solvers.exact.cpsat_model.rows import Terms, add_choices, add_row, rounded
from solvers.exact.leaf_costs import ROUNDING, TimeTerms


class Time(TimeTerms[Variable]):
    """The terms of the time, not yet scaled; `row(units, most_s)` adds them to the model in some unit."""

    def __init__(self, assignment: Assignment, exchange: Exchange | None) -> None:
        super().__init__(assignment)
        self._model, self._exchange, self._least_sync = assignment.model, exchange, assignment.subproblem.sync_low

    def row_sums(self, most_s: float) -> list[float]:
        """Sums of the costs of each row to come, for choosing the units."""
        lists = [terms for fill in self.fills for terms in fill]
        lists += [terms for ways in self.steps for rows in ways for terms in rows]
        cut = most_s - min(self.bases)
        sums = [sum(min(cost, cut) for cost, _ in terms) for terms in lists]
        if self._exchange is not None:
            sums.append(self._exchange.most_seconds(most_s - self.base + self._least_sync))
        return sums

    def row(self, units: float, most_s: float) -> cp_model.IntVar:
        """A variable at least the time above the base, and at most `most_s` in all."""
        model = self._model
        most = max(-1, floor((most_s - self.base) * units * (1 + ROUNDING)))
        if most < 0:
            model.add_bool_or([])  # no plan is that fast
            return model.new_constant(0)
        time = model.new_int_var(0, most, f"time_{len(model.proto.variables)}")
        sync = [] if self._exchange is None else [self._exchange.seconds(units, most)]
        for r, fill in enumerate(self.fills):
            # A pipeline that needs less than the base may spend the difference; beyond that it breaks the limit.
            cut = most_s - self.bases[r] + 2 / units
            slowest = [self._slowest(rows, units, cut) for rows in self.steps[r]]
            terms = add_choices(model, fill, units, cut, floor(cut * units))
            terms += [(1, x) for x in [*slowest, *sync] if x is not None]
            add_row(model, time, terms, floor((self.bases[r] - self.base) * units))
        return time

    def _slowest(self, rows: list[Terms], units: float, cut: float) -> cp_model.IntVar | None:
        """A variable at least every stage's and hop's slowest step above the least, M - 1 times."""
        whole = [row for row in (rounded(terms, units, cut) for terms in rows) if row]
        if not whole:
            return None
        slowest = self._model.new_int_var(0, floor(cut * units), f"slowest_{len(self._model.proto.variables)}")
        for row in whole:
            add_row(self._model, slowest, row)
        return slowest
