"""What can be tuned, one dataclass a component, with where each value comes from."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """The parameters as compiled code takes them; see the dataclasses for what they mean."""

    starts: int
    elites: int
    crossover: float
    transplant: float
    fresh: float
    tries: int
    construct: bool
    layer_fit: bool
    anneal: bool
    descent: bool
    focus: float
    structural: float
    length: float
    growth: float
    longest: float
    hot: float
    warm: float
    cold: float
    optimism: float
    guide: float
