"""The budget at work: seconds since the start, evaluations so far, and the trace of best values."""

from __future__ import annotations

import time

from solvers.core.interface import Budget, TracePoint


class Clock:
    """Started when made. Compilation can be taken out of the search time by `exclude`."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._start = time.perf_counter()
        self._best: float | None = None
        self.evaluations = 0
        self.excluded = 0.0
        self.trace: list[TracePoint] = []

    @property
    def seconds(self) -> float:
        """Search seconds since the start."""
        return time.perf_counter() - self._start - self.excluded

    @property
    def left(self) -> float | None:
        """Seconds left; None without a limit."""
        return None if self._budget.seconds is None else self._budget.seconds - self.seconds

    @property
    def evaluations_left(self) -> int | None:
        """Evaluations left; None without a limit."""
        return None if self._budget.evaluations is None else self._budget.evaluations - self.evaluations

    @property
    def expired(self) -> bool:
        """Whether either limit is reached."""
        left, evaluations_left = self.left, self.evaluations_left
        return (left is not None and left <= 0) or (evaluations_left is not None and evaluations_left <= 0)

    def exclude(self, seconds: float) -> None:
        """Take seconds (of compilation) out of the search time."""
        self.excluded += seconds

    def note(self, value: float) -> bool:
        """Add a value to the trace if it is the best so far; whether it was."""
        if self._best is not None and value >= self._best:
            return False
        self._best = value
        self.trace.append(TracePoint(self.seconds, self.evaluations, value))
        return True
