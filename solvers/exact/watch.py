"""A deadline that model building looks at, so that a large model cannot overrun the limit."""

from __future__ import annotations

import time


class OutOfTime(Exception):  # noqa: N818 - an outcome, not an error
    """The deadline passed."""


class Watch:
    """Started when made; without `seconds` it never ends."""

    def __init__(self, seconds: float | None) -> None:
        self._start = time.perf_counter()
        self._seconds = seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float | None:
        """Seconds left, at least 0; None without a deadline."""
        return None if self._seconds is None else max(0.0, self._seconds - self.elapsed)

    def check(self) -> None:
        """OutOfTime if the deadline has passed."""
        if self.left == 0:
            raise OutOfTime
