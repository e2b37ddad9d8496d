"""The interface of leaf models: they solve one subproblem at a time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from instances.plan import Plan
from solvers.exact.subproblem import Subproblem


class Claim(Enum):
    """A model's claim about the plans of a subproblem below the target, except those found before."""

    BEST = "best"  # the plan is the best of them, up to the model's rounding
    NONE = "none"  # there are none
    STOPPED = "stopped"  # it ran out of time


@dataclass(frozen=True)
class Answer:
    """A model's answer.

    `bound` is a lower bound on the value of every such plan, lowered by all rounding and tolerances; None if
    the model has none. `nodes` are branches, `seconds` include building the model.
    """

    claim: Claim
    plan: Plan | None = None
    bound: float | None = None
    variables: int = 0
    rows: int = 0
    nodes: int = 0
    seconds: float = 0.0


class Model(Protocol):
    """A back end that solves one subproblem at a time."""

    def solve(self, subproblem: Subproblem, target: float, seconds: float | None) -> Answer:
        """Find the best plan of the subproblem below the target, or prove that there is none."""
        ...


class InconsistentProofError(RuntimeError):
    """Two claims that contradict each other; the message names both. The run keeps its best plan, without a bound."""
