"""A proof in progress, grid by grid: the incumbent, the answers of leaf models, and the outcome."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from instances.referee.violations import violations
from instances.tables import Grid
from solvers.core.deadline import Deadline
from solvers.core.gap import OPTIMAL_GAP, TOLERANCE, certified_gap
from solvers.core.interface import Monitor, Outcome, Problem, Status
from solvers.exact.grid_records import GridRecord
from solvers.exact.incumbent import Incumbent
from solvers.exact.leaf_model import Answer, Claim, InconsistentProofError, Model
from solvers.exact.subproblem import Subproblem

CLOSING_S = 0.1
"""Seconds reserved for returning in time."""
REPORT_EVERY_S = 1.0


class GridProofs(ABC):
    """Base of the search and of the whole models. Offer initial plans to its `incumbent`, then `run` it."""

    def __init__(
        self, problem: Problem, records: Iterable[GridRecord], model: Model, deadline: Deadline, monitor: Monitor
    ) -> None:
        self._problem, self._model, self._deadline, self._monitor = problem, model, deadline, monitor
        self.incumbent = Incumbent(problem, deadline, monitor)
        self._records: dict[Grid, GridRecord] = {record.grid: record for record in records}
        self._reported_s = -math.inf

    def report(self) -> None:
        """Pass the bound and the proof behind it to the monitor, at most once a second."""
        if self._deadline.seconds - self._reported_s >= REPORT_EVERY_S:
            self._reported_s = self._deadline.seconds
            bound = self._global_bound()
            if bound is not None:
                self._monitor.on_bound(bound, self._details())

    @property
    def _late(self) -> bool:
        return self._deadline.passed or (self._deadline.left is not None and self._deadline.left <= CLOSING_S)

    def _solve(self, subproblem: Subproblem, record: GridRecord, seconds: float) -> Claim:
        """Run the model for at most `seconds`; its answer may raise the subproblem's bound and the incumbent.

        Returns
        -------
        The claim; NONE if the subproblem is closed.
        """
        left = math.inf if self._deadline.left is None else self._deadline.left - CLOSING_S
        limit, target = min(seconds, left), self.incumbent.target
        answer = self._model.solve(subproblem, target, None if limit == math.inf else limit)
        record.add(answer)
        if answer.bound is not None:
            subproblem.value = max(subproblem.value, min(answer.bound, target))
        if answer.plan is not None:
            self._take(subproblem, answer)
        if answer.claim is Claim.NONE:
            self._close(record, max(subproblem.value, target))
        elif subproblem.value >= self.incumbent.target:
            self._close(record, subproblem.value)
            return Claim.NONE
        return answer.claim

    def _close(self, record: GridRecord, bound: float) -> None:
        """Close a subproblem of a grid."""
        record.close_part(bound)
        if not record.open_parts:
            self.incumbent.check(record.grid, record.closed_bound, "a closed subproblem")

    def _take(self, subproblem: Subproblem, answer: Answer) -> None:
        """Let the referee evaluate a model's plan, then forbid the plan so that the next answer differs."""
        plan = answer.plan
        assert plan is not None
        value = self.incumbent.offer(plan)
        if value is None:
            # Rounding down costs and watts can let a plan break a cap, but no other constraint.
            reasons = violations(self._problem.instance.model_copy(update={"sites": None}), plan)
            if reasons:
                raise InconsistentProofError(f"the model calls a plan feasible that the referee refuses: {reasons[0]}")
        elif subproblem.holds(plan) and value < subproblem.value * (1 - TOLERANCE):
            raise InconsistentProofError(
                f"the model claims a bound of {subproblem.value!r}, but the referee values its own plan at {value!r}"
            )
        subproblem.forbidden.append(plan)

    @abstractmethod
    def run(self) -> Outcome:
        """Go on until every grid is closed or the budget ends."""

    @abstractmethod
    def _global_bound(self) -> float | None:
        """A lower bound over all grids; None if there is none."""

    def _details(self) -> dict[str, Any]:
        target = self.incumbent.target
        return {"grids": [record.as_json(target) for record in self._records.values()]}

    def withdrawn(self, contradiction: str) -> Outcome:
        """The incumbent, evaluated by the referee, without any claim: two claims of the proof contradict each other."""
        return Outcome(
            Status.UNKNOWN if self.incumbent.plan is None else Status.FEASIBLE,
            self.incumbent.plan,
            evaluations=self._deadline.evaluations,
            trace=tuple(self._deadline.trace),
            details={"distrusted": contradiction},
        )

    def _outcome(self, done: bool) -> Outcome:
        plan, value, bound = self.incumbent.plan, self.incumbent.value, self._global_bound()
        if plan is None:
            status = Status.INFEASIBLE if done else Status.UNKNOWN
        else:
            proven = done and bound is not None and certified_gap(value, bound) <= OPTIMAL_GAP
            status = Status.OPTIMAL if proven else Status.FEASIBLE
        return Outcome(
            status,
            plan,
            bound=bound,
            evaluations=self._deadline.evaluations,
            trace=tuple(self._deadline.trace),
            limit_reached=not done,
            details=self._details(),
        )
