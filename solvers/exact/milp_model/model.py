"""Solves one subproblem as a mixed-integer program.

Time and energy are counted above what every plan of the subproblem costs, in thousandths of the range to the target:
no row mixes large and small numbers, and a solver's tolerance stays far below the gaps that are claimed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import pulp

from instances.objective import Goal
from solvers.core.deadline import Deadline, OutOfTime
from solvers.exact.leaf_costs import ROUNDING
from solvers.exact.leaf_model import Answer, Claim
from solvers.exact.milp_model.assignment import Assignment
from solvers.exact.milp_model.backends import BACKENDS
from solvers.exact.milp_model.energy import Energy
from solvers.exact.milp_model.exchange import Exchange
from solvers.exact.milp_model.rows import NARROWEST, SPARE, UNITS, Terms, weighted
from solvers.exact.milp_model.time import Time
from solvers.exact.subproblem import Subproblem

TOLERANCE = 1e-3
"""Units that a bound is lowered by: a millionth of the range, ten thousand times a solver's tolerance on a row."""
SECONDS_PER_ENTRY = 6e-6
"""Time that PuLP takes to hand an entry of the matrix to a solver, which nothing can interrupt."""


@dataclass(frozen=True)
class MilpModel:
    """PuLP with the back end `highs` or `cbc`."""

    backend: str
    threads: int
    seed: int

    def solve(self, subproblem: Subproblem, target: float, seconds: float | None) -> Answer:
        """The best plan of the subproblem below the target, or the proof that there is none."""
        deadline = Deadline(seconds)
        try:
            built = _Built(subproblem, target, deadline)
            deadline.check()
        except OutOfTime:
            return Answer(Claim.STOPPED, seconds=deadline.seconds)
        rows = built.model.constraints()
        stopped = Answer(Claim.STOPPED, variables=built.model.numVariables(), rows=len(rows), seconds=deadline.seconds)
        if deadline.left is not None and sum(len(row) for row in rows) * SECONDS_PER_ENTRY > deadline.left:
            return stopped
        said = BACKENDS[self.backend](built.model, self.threads, self.seed, deadline)
        bound = None if said.bound is None else built.value(said.bound - TOLERANCE)
        plan = built.assignment.plan(lambda x: (x.varValue or 0.0) > 0.99) if said.has_values else None
        claim = said.claim
        if claim is Claim.BEST and plan is None:
            claim = Claim.STOPPED  # values that are no plan: the bound is good, the answer is not
        return replace(stopped, claim=claim, plan=plan, bound=bound, nodes=said.nodes, seconds=deadline.seconds)


class _Built:
    """The model of one subproblem: assignment, the time and energy that the goal speaks of, what is minimised."""

    def __init__(self, subproblem: Subproblem, target: float, deadline: Deadline) -> None:
        costs, goal = subproblem.costs, subproblem.costs.goal
        self.model = pulp.LpProblem("subproblem", pulp.LpMinimize)
        self.assignment = Assignment(self.model, subproblem, deadline)
        exchange = Exchange(self.assignment, deadline) if costs.replicas > 1 else None
        time = Time(self.assignment, exchange, deadline)
        energy = Energy(self.assignment, time, exchange, deadline)
        most_s = self._longest(time, energy, min(costs.time_limit(target), time.worst), target, goal)
        per_second = _units(most_s - time.base, time.base)
        seconds = time.row(per_second, most_s)
        if goal.energy_cap is not None:
            most = costs.energy_limit()
            energy.row("capped_energy", _units(most - energy.base, energy.base), most, seconds, per_second)
        self._base, self._per_unit = goal.time_weight * time.base, goal.time_weight / per_second
        objective: Terms = [(seconds, 1.0)]
        if goal.energy_weight:
            self._base += goal.energy_weight * energy.base
            most = energy.most(max(most_s, time.base))
            width = goal.energy_weight * (most - energy.base) + goal.time_weight * (most_s - time.base)
            width = target - self._base if target < inf else width
            self._per_unit = 1 / _units(width, self._base)
            units = goal.energy_weight / self._per_unit
            objective = [(energy.row("energy", units, inf, seconds, per_second), 1.0)]
            if goal.time_weight:
                objective.append((seconds, goal.time_weight / per_second / self._per_unit))
            if target < inf:
                limit = (target - self._base) / self._per_unit + SPARE
                self.model += weighted(objective) <= limit, "below_the_target"
        self.model += weighted(objective)

    @staticmethod
    def _longest(time: Time, energy: Energy, most_s: float, target: float, goal: Goal) -> float:
        """The most seconds of a plan below the target: so a unit of time costs no more than a unit of the objective."""
        if target == inf or not goal.energy_weight:
            return most_s
        room = target * (1 + ROUNDING)
        if goal.time_weight:
            most_s = min(most_s, (room - goal.energy_weight * energy.base) / goal.time_weight)
        return min(most_s, energy.time_limit((room - goal.time_weight * time.base) / goal.energy_weight))

    def value(self, units: float) -> float:
        """The objective value behind one in units."""
        above = units * self._per_unit
        return self._base + above - ROUNDING * (abs(self._base) + abs(above))


def _units(width: float, base: float) -> float:
    """Units per unit of cost: UNITS of them in `width`."""
    widest = max(width, NARROWEST * base)
    return UNITS / widest if widest > 0 else UNITS  # nothing costs anything: carbon may be 0
