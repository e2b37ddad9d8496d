"""What an outcome is worth: the referee's value, the certified gap, and the status that they allow."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from math import isfinite

from instances.plan import Plan
from instances.referee.check import Infeasible, check
from instances.referee.evaluate import Evaluation
from solvers.core.gap import OPTIMAL_GAP, TOLERANCE, certified_gap
from solvers.core.interface import Outcome, Problem, Proof, Status


@dataclass(frozen=True)
class JudgedPlan:
    """One plan of a front, by the referee."""

    plan: Plan
    evaluation: Evaluation


@dataclass(frozen=True)
class Verdict:
    """An outcome after the referee. Metrics are None where there is no plan; `reason` explains a changed status, or
    that there is no plan (`bench.runs.no_plan`)."""

    status: Status
    plan: Plan | None = None
    evaluation: Evaluation | None = None
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    front: tuple[JudgedPlan, ...] | None = None
    reason: str | None = None


def judge(problem: Problem, outcome: Outcome, proves: Proof = Proof.OPTIMUM_AND_BOUND) -> Verdict:
    """Re-evaluate what a solver returned, which declares that it `proves` so much.

    A claim that the referee contradicts becomes an error that says so; one beyond what the solver proves is dropped.
    """
    able = _within(outcome, proves)
    verdict = _judge(problem, able)
    if able == outcome or verdict.reason is not None:
        return verdict
    claim = outcome.status if outcome.status is not able.status else "a bound"
    return replace(verdict, reason=f"the solver claims {claim}, but declares that it proves {proves.value}")


def _within(outcome: Outcome, proves: Proof) -> Outcome:
    """The outcome without what a solver of this kind cannot know."""
    status, bound = outcome.status, outcome.bound
    if proves in (Proof.NOTHING, Proof.BOUND) and (status is Status.INFEASIBLE or outcome.front is not None):
        status = Status.UNKNOWN if status is Status.INFEASIBLE else Status.FEASIBLE
    if proves is Proof.NOTHING or (proves is Proof.OPTIMUM and status is not Status.OPTIMAL):
        bound = None
    if proves is Proof.NOTHING and status is Status.OPTIMAL:
        status = Status.FEASIBLE
    return replace(outcome, status=status, bound=bound)


def _judge(problem: Problem, outcome: Outcome) -> Verdict:
    if outcome.status is Status.ERROR:
        return Verdict(Status.ERROR)
    if outcome.bound is not None and not isfinite(outcome.bound):
        return Verdict(Status.ERROR, reason=f"the solver claims the bound {outcome.bound!r}, which is not finite")
    if outcome.plan if problem.goal.front else outcome.front:
        return Verdict(Status.ERROR, reason="the solver returned a plan for a front, or a front for a plan")
    if problem.goal.front:
        return _judge_front(problem, outcome)
    plan = outcome.plan
    if plan is None:
        return Verdict(outcome.status, bound=outcome.bound if outcome.status is Status.UNKNOWN else None)
    evaluation = check(problem.instance, plan, problem.goal)
    if isinstance(evaluation, Infeasible):
        return Verdict(Status.ERROR, reason=f"the solver returned a plan that is infeasible: {evaluation}")
    value, bound = problem.goal.value(evaluation), outcome.bound
    if bound is not None and bound > value * (1 + TOLERANCE):
        return Verdict(
            Status.ERROR,
            reason=f"the solver claims the bound {bound!r}, its own plan has the value {value!r} by the referee",
        )
    if bound is None:
        return Verdict(Status.FEASIBLE, plan, evaluation, value, reason=_demoted(outcome, None))
    bound = min(bound, value)  # above it by rounding only, as just checked
    gap = certified_gap(value, bound)
    status = Status.OPTIMAL if gap <= OPTIMAL_GAP else Status.FEASIBLE
    reason = _demoted(outcome, gap) if status is Status.FEASIBLE else None
    return Verdict(status, plan, evaluation, value, bound, gap, reason=reason)


def _demoted(outcome: Outcome, gap: float | None) -> str | None:
    if outcome.status is not Status.OPTIMAL:
        return None
    certified = "no bound" if gap is None else f"a certified gap of {gap:.3g}"
    return f"the solver claims optimality, but {certified} does not certify it"


def _judge_front(problem: Problem, outcome: Outcome) -> Verdict:
    if outcome.front is None:
        return Verdict(outcome.status)
    points = []
    for plan in outcome.front:
        evaluation = check(problem.instance, plan, problem.goal)
        if isinstance(evaluation, Infeasible):
            return Verdict(Status.ERROR, reason=f"the front holds a plan that is infeasible: {evaluation}")
        points.append(JudgedPlan(plan, evaluation))
    for left, right in itertools.pairwise(points):
        slower = right.evaluation.time_s > left.evaluation.time_s
        if not slower or right.evaluation.energy_j >= left.evaluation.energy_j:
            return Verdict(Status.ERROR, reason="the front holds plans that dominate each other or are out of order")
    return Verdict(outcome.status, front=tuple(points))
