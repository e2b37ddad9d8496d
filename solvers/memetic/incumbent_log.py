"""Improvements as plans, with the trace, and the outcome of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from instances.plan import Plan
from instances.referee.evaluate import evaluate
from solvers.core.deadline import Deadline
from solvers.core.front import Front
from solvers.core.interface import Monitor, Outcome, Problem, Status
from solvers.placements.best_plans import EvaluatedPlan

if TYPE_CHECKING:
    from solvers.memetic.archive import Archive


class IncumbentLog:
    """Collects improvements from the compiled archive between chunks of the search."""

    def __init__(self, problem: Problem, deadline: Deadline, monitor: Monitor) -> None:
        self.deadline = deadline
        self.monitor = monitor
        self._problem = problem
        self._best: tuple[float, Plan] | None = None
        self.start: Plan | None = None
        self._ends: tuple[Plan, ...] = ()
        self._record: Archive | None = None
        self._changes = 0

    def begin_with(self, start: Plan) -> None:
        """Take the user's plan if the referee finds it feasible."""
        value = self._problem.value(start)
        if value is not None:
            self.start = start
            if not self._problem.goal.front:
                self._keep(value, start)

    def take(self, value: float, plan: EvaluatedPlan) -> None:
        """Take a plan with its value if it is better than the incumbent; a front takes none."""
        if not self._problem.goal.front and (self._best is None or value < self._best[0]):
            self._keep(value, plan.to_plan(self._problem.tables))

    def take_ends(self, plans: Iterable[EvaluatedPlan]) -> None:
        """Take site-by-site plans for the ends of a front, in case the search stops before it finds any plan."""
        self._ends = tuple(plan.to_plan(self._problem.tables) for plan in plans)

    def _keep(self, value: float, plan: Plan) -> None:
        self._best = value, plan
        self.deadline.note(value)
        self.monitor.on_plan(plan)

    def collect(self, archive: Archive) -> None:
        """Take an improvement from the archive, if there is one."""
        self._record = archive
        changes = int(archive.held[1])
        # The kernel's value is trusted here: the referee takes too long between chunks on a thousand GPUs.
        value = float(archive.best[0])
        fresh = changes != self._changes and not self._problem.goal.front
        if fresh and (self._best is None or value < self._best[0]):
            self._keep(value, plan_of(self._problem, archive, 0))
        self._changes = changes

    def outcome(self) -> Outcome:
        """The outcome; without a plan it is unknown, never infeasible."""
        front = self._front() if self._problem.goal.front else ()
        found = bool(front) or self._best is not None
        return Outcome(
            Status.FEASIBLE if found else Status.UNKNOWN,
            plan=None if self._best is None else self._best[1],
            front=front or None,
            evaluations=self.deadline.evaluations,
            trace=tuple(self.deadline.trace),
            limit_reached=True,
        )

    def _front(self) -> tuple[Plan, ...]:
        archive = self._record
        points: list[tuple[float, float, Plan]] = []
        if archive is not None:
            for i in range(int(archive.held[0])):
                time, energy = archive.point[i]
                points.append((float(time), float(energy), plan_of(self._problem, archive, i)))
        known = [] if self.start is None else [self.start]
        if not points:
            known += self._ends
        if not known:
            return tuple(plan for *_, plan in points)  # the archive holds no dominated ones
        front = Front()
        for plan in known:
            evaluation = evaluate(self._problem.instance, plan)
            points.append((evaluation.time_s, evaluation.energy_j, plan))
        for time, energy, plan in points:
            front.add(time, energy, plan)
        return front.plans()


def plan_of(problem: Problem, archive: Archive, position: int) -> Plan:
    """The plan at one position of the archive."""
    row = int(archive.slot[position])
    r, b, stages = (int(entry) for entry in archive.grids[row])
    replicas = problem.tables.replicas[r]
    groups = archive.groups[row, : replicas * stages].reshape(replicas, stages)
    return Plan.from_groups(problem.tables.micro_batches[b], archive.layers[row, :stages], groups)
