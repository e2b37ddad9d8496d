"""The plans that no other dominates in time and energy, as they come in."""

from __future__ import annotations

from instances.objective import CAP_SLACK
from instances.plan import Plan


class Front:
    """Nondominated plans; points within `CAP_SLACK` of each other count as one.

    Not with moocore: it filters whole sets, and without slack.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[float, float, Plan]] = []

    def add(self, time_s: float, energy_j: float, plan: Plan) -> bool:
        """Keep a plan unless a kept one is at least as good in both; whether it was kept."""
        slack = 1 + CAP_SLACK
        if any(t <= time_s * slack and e <= energy_j * slack for t, e, _ in self._kept):
            return False
        self._kept = [kept for kept in self._kept if time_s > kept[0] * slack or energy_j > kept[1] * slack]
        self._kept.append((time_s, energy_j, plan))
        return True

    def plans(self) -> tuple[Plan, ...]:
        """What was kept, by rising time."""
        return tuple(plan for _, _, plan in sorted(self._kept, key=lambda kept: kept[:2]))
