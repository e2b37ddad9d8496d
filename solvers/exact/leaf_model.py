"""What the search asks of a model of one subproblem, and what a model answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from instances.plan import Plan
from solvers.exact.subproblem import Subproblem


class Claim(Enum):
    """What a model says about the plans of a subproblem below the target, without those found before."""

    BEST = "best"  # the plan is the best of them, as far as the model's rounding lets it tell
    NONE = "none"  # there are none
    STOPPED = "stopped"  # its time was over first


@dataclass(frozen=True)
class Answer:
    """A model's answer.

    `bound` is below the value of every plan asked for, with all rounding and tolerances taken off; None if
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


class Contradiction(RuntimeError):  # noqa: N818 - the word says it
    """Two claims that cannot both be true; the message names both. The run keeps its best plan and claims nothing."""
