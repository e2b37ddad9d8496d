"""Solves one part of a grid with CP-SAT."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ortools.sat.python import cp_model

from solvers.core.deadline import Deadline, OutOfTime
from solvers.exact.cpsat_model.energy import Joules
from solvers.exact.cpsat_model.network import Choices
from solvers.exact.cpsat_model.rows import LARGEST_ROW, RowTooLarge, units_for
from solvers.exact.cpsat_model.time import Seconds
from solvers.exact.leaf_model import Answer, Claim
from solvers.exact.subproblem import Part

SAFETY = 1e-9
"""Relative lowering of a bound for the rounding of the floating-point sums around the whole numbers."""

_CLAIM = {
    cp_model.OPTIMAL: Claim.BEST,
    cp_model.INFEASIBLE: Claim.NONE,
    cp_model.FEASIBLE: Claim.STOPPED,
    cp_model.UNKNOWN: Claim.STOPPED,
}  # MODEL_INVALID is left out on purpose: it is our bug and must raise


@dataclass(frozen=True)
class SatModel:
    """CP-SAT with its own settings; the seed only matters for the time it takes."""

    threads: int
    seed: int

    def solve(self, part: Part, target: float, seconds: float | None) -> Answer:
        """The best plan of the part below the target, or the proof that there is none."""
        deadline = Deadline(seconds)
        coarser = 1.0
        while True:
            try:
                built = _Built(part, target, deadline, coarser)
                deadline.check()
                break
            except RowTooLarge:
                coarser *= 4  # the units were chosen from estimates of the rows; this is rare
            except OutOfTime:
                return Answer(Claim.STOPPED, seconds=deadline.seconds)
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.num_workers = self.threads
        parameters.random_seed = self.seed % 2**31
        parameters.presolve_inclusion_work_limit = 0  # the step behind or-tools issue 5293
        parameters.relative_gap_limit = 0.0
        parameters.absolute_gap_limit = 0.0
        parameters.catch_sigint_signal = False  # it would swallow Ctrl-C
        if deadline.left is not None:
            parameters.max_time_in_seconds = deadline.left
        status = solver.solve(built.model)
        claim = _CLAIM[status]
        found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)  # without a solution the values are garbage
        bound = None if claim is Claim.NONE else built.value(solver.best_objective_bound)
        return Answer(
            claim,
            plan=built.choices.plan(solver) if found else None,
            bound=bound,
            variables=len(built.model.proto.variables),
            rows=len(built.model.proto.constraints),
            nodes=solver.num_branches,
            seconds=deadline.seconds,
        )


class _Built:
    """The model of one part: choices, the time and energy that the goal speaks of, and what is minimised."""

    def __init__(self, part: Part, target: float, deadline: Deadline, coarser: float) -> None:
        goal = part.costs.goal
        self.model = cp_model.CpModel()
        self.choices = Choices(self.model, part, deadline)
        seconds = Seconds(self.choices, part)
        deadline.check()
        most_s = min(part.costs.time_limit(target), seconds.most())
        joules = Joules(self.choices, part, seconds) if goal.energy_weight or goal.energy_cap is not None else None
        if goal.energy_cap is not None:
            assert joules is not None
            most = part.costs.energy_limit()
            most_s = min(most_s, joules.time_limit(most))
            units = units_for(most - joules.base, joules.row_sums(most, most_s)) / coarser
            joules.row(units, most, most_s)
        deadline.check()
        if not goal.energy_weight:
            # The time alone, in units of its own.
            units = units_for(most_s - seconds.base, seconds.row_sums(most_s)) / coarser
            self._base, self._units = goal.time_weight * seconds.base, units / goal.time_weight
            objective: cp_model.LinearExprT = seconds.row(units, most_s)
        else:
            assert joules is not None
            weights = goal.time_weight, goal.energy_weight
            self._base = weights[0] * seconds.base + weights[1] * joules.base
            most = joules.most(most_s)
            if target < inf:
                most = min(most, (target - weights[0] * seconds.base) / weights[1])
                most_s = min(most_s, joules.time_limit(most))
            width = weights[0] * (most_s - seconds.base) + weights[1] * (most - joules.base)
            if target < inf:
                width = min(width, target - self._base)
            sums = [weights[0] * sum_ for sum_ in seconds.row_sums(most_s)]
            sums += [weights[1] * sum_ for sum_ in joules.row_sums(most, most_s)]
            self._units = units_for(width, sums) / coarser
            energy = joules.row(weights[1] * self._units, most, most_s)
            objective = energy
            if goal.time_weight:
                objective = energy + seconds.row(weights[0] * self._units, most_s)
            elif most_s < seconds.most():
                # The limit on the time, as finely as it can be said.
                seconds.row(units_for(most_s - seconds.base, seconds.row_sums(most_s)) / coarser, most_s)
            limit = (target - self._base) * self._units * (1 + SAFETY) + 1
            if limit < LARGEST_ROW:  # beyond that it is no limit: the objective's own range is far smaller
                self.model.add(objective <= int(limit))
        self.model.minimize(objective)

    def value(self, units: float) -> float | None:
        """The objective value behind a bound in whole units; None if it is none."""
        if abs(units) > 1e17:
            return None
        value = self._base + units / self._units
        return value - SAFETY * abs(value)
