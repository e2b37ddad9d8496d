"""A part of a grid: the plans whose slowest steps lie in a range, and what their stages may still choose."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from instances.plan import Plan
from instances.tables import Floats
from solvers.bounds import SAFETY
from solvers.exact.costs import Flags, GridCosts

Steps = tuple[float, float]


@dataclass(eq=False)
class Part:
    """One part. Every plan of its grid that no bound rules out lies in exactly one part of the grid.

    Attributes
    ----------
    low, high
        Range of the slowest forward and backward step over all pipelines (s), ends included.
    stay
        [s, k, l]: stage s may hold l layers on group k.
    move
        [s, k, j]: a pipeline may go from group k in stage s to group j in stage s + 1.
    value, time_s, pipeline_s
        Lower bounds on the objective, the time, and the time without gradient exchange of the plans left.
    prices
        The best prices on groups found so far, by relaxation.
    final
        Not to be split further: a model's turn.
    forbidden
        Plans that were found here already: the model must find another or prove that there is none.
    attempts
        How often a model ran out of its time on it.
    """

    costs: GridCosts
    low: Steps
    high: Steps
    stay: Flags
    move: Flags
    value: float
    time_s: float
    pipeline_s: float
    prices: dict[str, Floats] = field(default_factory=dict)
    final: bool = False
    forbidden: list[Plan] = field(default_factory=list)
    attempts: int = 0

    @classmethod
    def whole(cls, costs: GridCosts) -> Part:
        """All plans of a grid that has some."""
        stay, move = costs.allowed()
        bound = costs.bound
        assert bound.value is not None
        high = (np.inf, np.inf)
        pipeline = (bound.time_s - bound.sync_s) * (1 - SAFETY)
        return cls(costs, bound.worst_steps, high, stay, move, bound.value, bound.time_s, pipeline)

    def child(self, low: Steps, high: Steps) -> Part:
        """The same with a narrower range of steps."""
        prices = {name: price.copy() for name, price in self.prices.items()}
        return Part(
            self.costs,
            low,
            high,
            self.stay.copy(),
            self.move.copy(),
            self.value,
            self.time_s,
            self.pipeline_s,
            prices,
        )

    @property
    def alive(self) -> bool:
        """Whether each stage and each hop still has a choice."""
        return bool(self.stay.any(axis=(1, 2)).all() and self.move.any(axis=(1, 2)).all())
