"""The one check of a plan: whether it is feasible, keeps the caps of a goal, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from instances.instance import Instance
from instances.objective import Goal
from instances.plan import Plan
from instances.referee.evaluate import Evaluation, evaluate_feasible
from instances.referee.violations import violations


@dataclass(frozen=True)
class Infeasible:
    """Why a plan is rejected, a sentence each: all that makes it infeasible, or else the caps that it breaks."""

    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join(self.reasons)


def check(instance: Instance, plan: Plan, goal: Goal | None = None) -> Evaluation | Infeasible:
    """What a plan costs, or why it is rejected: it is infeasible, or it breaks a cap of the goal.

    Caps are checked only if the plan is feasible: nothing else has a cost. Slack is as in docs/model.md, Tolerances.
    """
    reasons = violations(instance, plan)
    if reasons:
        return Infeasible(tuple(reasons))
    evaluation = evaluate_feasible(instance, plan)
    broken = goal.cap_violations(evaluation) if goal else []
    return Infeasible(tuple(broken)) if broken else evaluation
