"""The iteration time above a base, in units (docs/model.md, Iteration time)."""

from __future__ import annotations

from solvers.core.deadline import Deadline
from solvers.exact.leaf_costs import TimeTerms
from solvers.exact.milp_model.assignment import Assignment
from solvers.exact.milp_model.exchange import Exchange
from solvers.exact.milp_model.rows import SPARE, Variable, cut_above, scaled, total, weighted


class Time(TimeTerms[Variable]):
    """The terms of the time, not yet scaled; `row(units, most_s)` adds them to the model in some unit."""

    def __init__(self, assignment: Assignment, exchange: Exchange | None, deadline: Deadline) -> None:
        super().__init__(assignment)
        self._model, self._exchange, self._deadline = assignment.model, exchange, deadline
        self._least_sync = assignment.subproblem.sync_low

    def row(self, units: float, most_s: float) -> Variable:
        """A variable at least the time above the base, and at most `most_s` in all."""
        most = max(0.0, (most_s - self.base) * units) + SPARE
        time = self._model.add_variable("time", 0, most)
        sync = [] if self._exchange is None else [self._sync(self._exchange, units, most)]
        for r, fill in enumerate(self.fills):
            self._deadline.check()
            # A pipeline that needs less than the base may spend the difference on its slowest steps.
            shortfall = (self.base - self.bases[r]) * units
            cut = cut_above(shortfall)
            slowest = []
            for way, rows in zip(("forward", "backward"), self.steps[r], strict=True):
                # slowest is at least M - 1 times every forward (backward) step above the least
                slowest.append(self._model.add_variable(f"slowest_{way}_{r}", 0, most + shortfall))
                for i, terms in enumerate(rows):
                    self._model += slowest[-1] - weighted(scaled(terms, units), cut) >= 0, f"{way}_step_{r}_{i}"
            first = weighted([term for terms in fill for term in scaled(terms, units)], cut)
            self._model += time - first - total([*slowest, *sync]) >= -shortfall, f"time_of_pipeline_{r}"
        return time

    def _sync(self, exchange: Exchange, units: float, most: float) -> Variable:
        """A variable at least every holder's seconds of the exchange above the least, both ports."""
        sync, least = self._model.add_variable("sync", 0, most), self._least_sync * units
        for (r, s, port), terms in exchange.ports().items():
            seconds = weighted([(x, cost * units) for x, cost in terms], cut_above(least))
            self._model += sync - seconds >= -least, f"exchange_{port}_{r}_{s}"
        return sync
