"""Solves one subproblem with CP-SAT."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ortools.sat.python import cp_model

from solvers.core.deadline import Deadline, OutOfTime
from solvers.exact.cpsat_model.assignment import Assignment
from solvers.exact.cpsat_model.energy import Energy
from solvers.exact.cpsat_model.exchange import Exchange
from solvers.exact.cpsat_model.rows import LARGEST_ROW, RowTooLarge, units_for
from solvers.exact.cpsat_model.time import Time
from solvers.exact.leaf_costs import ROUNDING
from solvers.exact.leaf_model import Answer, Claim
from solvers.exact.subproblem import Subproblem

_CLAIM = {
    cp_model.OPTIMAL: Claim.BEST,
    cp_model.INFEASIBLE: Claim.NONE,
    cp_model.FEASIBLE: Claim.STOPPED,
    cp_model.UNKNOWN: Claim.STOPPED,
}  # MODEL_INVALID is left out on purpose: it is our bug and must raise


@dataclass(frozen=True)
class CpSatModel:
    """CP-SAT with its own settings; the seed decides how long it takes and which of several best answers it gives."""

    threads: int
    seed: int

    def solve(self, subproblem: Subproblem, target: float, seconds: float | None) -> Answer:
        """The best plan of the subproblem below the target, or the proof that there is none."""
        deadline = Deadline(seconds)
        coarser = 1.0
        while True:
            try:
                built = _Built(subproblem, target, deadline, coarser)
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
            plan=built.assignment.plan(solver.boolean_value) if found else None,
            bound=bound,
            variables=len(built.model.proto.variables),
            rows=len(built.model.proto.constraints),
            nodes=solver.num_branches,
            seconds=deadline.seconds,
        )


class _Built:
    """The model of one subproblem: assignment, the time and energy that the goal speaks of, what is minimised."""

    def __init__(self, subproblem: Subproblem, target: float, deadline: Deadline, coarser: float) -> None:
        goal = subproblem.costs.goal
        self.model = cp_model.CpModel()
        self.assignment = Assignment(self.model, subproblem, deadline)
        self._coarser = coarser
        exchange = Exchange(self.assignment) if subproblem.costs.replicas > 1 else None
        deadline.check()
        time = Time(self.assignment, exchange)
        most_s = min(subproblem.costs.time_limit(target), time.worst)
        if goal.energy_weight or goal.energy_cap is not None:
            energy = Energy(self.assignment, time, exchange)
            if goal.energy_cap is not None:
                most = subproblem.costs.energy_limit()
                most_s = min(most_s, energy.time_limit(most))
                energy.row(self._units(most - energy.base, energy.row_sums(most, most_s)), most, most_s)
        deadline.check()
        if goal.energy_weight:
            self.model.minimize(self._with_energy(time, energy, most_s, target, goal.time_weight, goal.energy_weight))
        else:
            # The time alone, in units of its own.
            units = self._units(most_s - time.base, time.row_sums(most_s))
            self._base, self._per_unit = goal.time_weight * time.base, units / goal.time_weight
            self.model.minimize(time.row(units, most_s))

    def value(self, units: float) -> float | None:
        """The objective value behind a bound in whole units; None if it is none."""
        if abs(units) > 1e17:
            return None
        above = units / self._per_unit
        return self._base + above - ROUNDING * (abs(self._base) + abs(above))

    def _units(self, width: float, sums: list[float]) -> float:
        return units_for(width, sums) / self._coarser

    def _with_energy(
        self, time: Time, energy: Energy, most_s: float, target: float, time_weight: float, energy_weight: float
    ) -> cp_model.LinearExpr:
        """The objective, where energy counts, and the limit on it."""
        self._base = time_weight * time.base + energy_weight * energy.base
        longest, most = time.worst, energy.most(most_s)
        if target < inf:
            most = min(most, (target - time_weight * time.base) / energy_weight)
            most_s = min(most_s, energy.time_limit(most))
        width = time_weight * (most_s - time.base) + energy_weight * (most - energy.base)
        sums = [time_weight * sum_ for sum_ in time.row_sums(most_s)]
        sums += [energy_weight * sum_ for sum_ in energy.row_sums(most, most_s)]
        self._per_unit = self._units(min(width, target - self._base), sums)
        objective: cp_model.LinearExpr = energy.row(energy_weight * self._per_unit, most, most_s)
        if time_weight:
            objective = objective + time.row(time_weight * self._per_unit, most_s)
        elif most_s < longest:
            # The limit on the time, as finely as it can be said.
            time.row(self._units(most_s - time.base, time.row_sums(most_s)), most_s)
        limit = (target - self._base) * self._per_unit * (1 + ROUNDING) + 1
        if limit < 0:
            self.model.add_bool_or([])  # no plan is that good
        elif limit < LARGEST_ROW:  # beyond that it is no limit: the objective's own range is far smaller
            self.model.add(objective <= int(limit))
        return objective
