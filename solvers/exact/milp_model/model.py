"""Solves one part of a grid as a mixed-integer programme."""

from __future__ import annotations

from dataclasses import dataclass, replace

from solvers.core.deadline import Deadline, OutOfTime
from solvers.exact.leaf_model import Answer, Claim
from solvers.exact.milp_model.backends import BACKENDS
from solvers.exact.milp_model.program import Programme
from solvers.exact.subproblem import Part

TOLERANCE = 1e-3
"""Units that a bound is lowered by: a millionth of the range, ten thousand times a solver's tolerance on a row."""
SECONDS_PER_ENTRY = 6e-6
"""Time that PuLP takes to hand an entry of the matrix to a solver, which nothing can interrupt."""


@dataclass(frozen=True)
class MipModel:
    """PuLP with the back end `highs` or `cbc`."""

    backend: str
    threads: int
    seed: int

    def solve(self, part: Part, target: float, seconds: float | None) -> Answer:
        """The best plan of the part below the target, or the proof that there is none."""
        deadline = Deadline(seconds)
        try:
            programme = Programme(part, target, deadline)
            deadline.check()
        except OutOfTime:
            return Answer(Claim.STOPPED, seconds=deadline.seconds)
        variables, rows = programme.size
        stopped = Answer(Claim.STOPPED, variables=variables, rows=rows, seconds=deadline.seconds)
        if deadline.left is not None and programme.entries * SECONDS_PER_ENTRY > deadline.left:
            return stopped
        said = BACKENDS[self.backend](programme.problem, self.threads, self.seed, deadline)
        bound = None if said.bound is None else programme.value(said.bound - TOLERANCE)
        plan = programme.network.plan() if said.has_values else None
        claim = said.claim
        if claim is Claim.BEST and plan is None:
            claim = Claim.STOPPED  # values that are no plan: the bound is good, the answer is not
        return replace(stopped, claim=claim, plan=plan, bound=bound, nodes=said.nodes, seconds=deadline.seconds)
