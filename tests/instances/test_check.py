"""The one check: feasibility first, then the caps of the goal, then the cost."""

from __future__ import annotations

import pytest

from instances.objective import Goal
from instances.plan import Gpu, Plan
from instances.referee.check import Infeasible, check
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from tests.editing import hand_instance
from tests.random_instances import random_instance
from tests.random_plans import drawn, random_plan

FAST = Plan(1, (1, 1), ((Gpu(0, 0), Gpu(1, 0)),))
"""3.9 s and 705 J."""
TWICE = Plan(1, (2, 1), ((Gpu(0, 0), Gpu(0, 0)),))


@pytest.mark.parametrize("seed", range(40))
def test_a_plan_is_either_feasible_and_has_a_cost_or_has_all_its_reasons(seed: int) -> None:
    instance = random_instance(seed)  # with memories that are too small for some plans
    plan = random_plan(instance, seed)
    reasons = violations(instance, plan)
    if reasons:
        assert check(instance, plan) == Infeasible(tuple(reasons))
    else:
        assert check(instance, plan) == evaluate(instance, plan)
    assert check(*drawn(seed)) == evaluate(*drawn(seed))


@pytest.mark.parametrize(
    ("goal", "reasons"),
    [
        (Goal(time_weight=1, energy_cap=706), []),
        (Goal(energy_weight=1, time_cap=3.8), ["the cap is 3.8 s"]),
        (Goal(time_weight=1, energy_cap=700), ["the cap is 700 J"]),
        (Goal(time_cap=3, energy_cap=700), ["the cap is 3 s", "the cap is 700 J"]),
    ],
)
def test_a_feasible_plan_may_break_caps_of_the_goal(goal: Goal, reasons: list[str]) -> None:
    found = check(hand_instance(), FAST, goal)
    if reasons:
        assert isinstance(found, Infeasible)
        assert len(found.reasons) == len(reasons)
        assert all(word in reason for word, reason in zip(reasons, found.reasons, strict=True))
    else:
        assert found == evaluate(hand_instance(), FAST)


def test_caps_are_not_asked_of_a_plan_without_a_cost() -> None:
    found = check(hand_instance(), TWICE, Goal(time_cap=0.001))
    assert str(found) == "the stages hold 3 layers, the model has 2; a/0 serves 2 slots"
