"""The budget at work: how much of it is left, and the best values so far with when they were found."""

from __future__ import annotations

import time

from solvers.core.interface import Budget, Monitor, TracePoint

TELL_EVERY_S = 0.2
"""Seconds between two times that a monitor is told of the evaluations."""


class OutOfTime(Exception):  # noqa: N818 - an outcome, not an error
    """The time limit passed while something was being built."""


class Deadline:
    """Started when made; it has passed once either limit of the budget is reached.

    Attributes
    ----------
    trace
        Every improvement of the best value, in order; the monitor hears of each.
    """

    def __init__(
        self, seconds: float | None = None, evaluations: int | None = None, monitor: Monitor | None = None
    ) -> None:
        self._seconds, self._limit, self._monitor = seconds, evaluations, monitor or Monitor()
        self._start = time.perf_counter()
        self._evaluations, self._told_s = 0, 0.0
        self.trace: list[TracePoint] = []

    @classmethod
    def of(cls, budget: Budget, monitor: Monitor) -> Deadline:
        """The deadline of a whole run."""
        return cls(budget.seconds, budget.evaluations, monitor)

    @property
    def evaluations(self) -> int:
        """Plans evaluated so far; the method counts them here, and the monitor hears of them now and then."""
        return self._evaluations

    @evaluations.setter
    def evaluations(self, count: int) -> None:
        self._evaluations = count
        if self.seconds - self._told_s >= TELL_EVERY_S:
            self._told_s = self.seconds
            self._monitor.on_evaluations(count)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float | None:
        """Seconds left, 0 once they are over; None without a limit."""
        return None if self._seconds is None else max(0.0, self._seconds - self.seconds)

    @property
    def evaluations_left(self) -> int | None:
        """Evaluations left; None without a limit."""
        return None if self._limit is None else self._limit - self._evaluations

    @property
    def passed(self) -> bool:
        """Whether either limit is reached."""
        evaluations_left = self.evaluations_left
        return self.left == 0 or (evaluations_left is not None and evaluations_left <= 0)

    def check(self) -> None:
        """OutOfTime if there are no seconds left: for work that cannot be left half done."""
        if self.left == 0:
            raise OutOfTime

    def note(self, value: float) -> bool:
        """Add a value to the trace if it is the best so far; whether it was."""
        if self.trace and value >= self.trace[-1].value:
            return False
        self.trace.append(TracePoint(self.seconds, self.evaluations, value))
        self._monitor.on_trace(self.trace[-1])
        return True
