"""What an outcome is worth once the referee has seen it."""

from __future__ import annotations

import pytest

from bench.runs.judge import judge
from instances.objective import Goal
from instances.plan import Gpu, Plan
from solvers.core.gap import OPTIMAL_GAP
from solvers.core.interface import Outcome, Problem, Proof, Status
from tests.bench.folders import FAST, SLOW
from tests.editing import hand_instance

TIME = Problem(hand_instance(), Goal(time_weight=1))
FRONT = Problem(hand_instance(), Goal(front=True))
TWICE = Plan(1, (1, 1), ((Gpu(0, 0), Gpu(0, 0)),))


def test_a_plan_is_valued_by_the_referee() -> None:
    verdict = judge(TIME, Outcome(Status.FEASIBLE, SLOW))
    assert (verdict.status, verdict.plan, verdict.bound, verdict.gap) == (Status.FEASIBLE, SLOW, None, None)
    assert verdict.value == pytest.approx(7.3)
    assert verdict.evaluation is not None
    assert verdict.evaluation.energy_j == pytest.approx(819)
    assert verdict.reason is None


@pytest.mark.parametrize("bound", [3.9, 3.9 * (1 - 1e-9), 3.9 * (1 + 1e-12), 3.9 * (1 - 0.9 * OPTIMAL_GAP)])
def test_a_bound_that_meets_the_value_makes_it_optimal(bound: float) -> None:
    verdict = judge(TIME, Outcome(Status.OPTIMAL, FAST, bound=bound))
    assert (verdict.status, verdict.reason) == (Status.OPTIMAL, None)
    assert verdict.bound is not None
    assert verdict.value is not None
    assert verdict.bound <= verdict.value
    assert verdict.gap == pytest.approx((verdict.value - verdict.bound) / verdict.value)
    assert 0 <= verdict.gap <= OPTIMAL_GAP


def test_the_gap_is_relative_to_the_value() -> None:
    verdict = judge(TIME, Outcome(Status.FEASIBLE, FAST, bound=3.0))
    assert (verdict.status, verdict.bound, verdict.gap) == (Status.FEASIBLE, 3.0, pytest.approx(0.9 / 3.9))
    assert verdict.reason is None


@pytest.mark.parametrize(
    ("plan", "bound", "words"),
    [
        (FAST, None, "no bound"),
        (FAST, 3.0, "a certified gap of 0.231"),
        (SLOW, 3.9, "a certified gap of 0.466"),
        (FAST, 3.9 * (1 - 2 * OPTIMAL_GAP), "a certified gap of 2e-06"),
    ],
)
def test_a_claim_of_optimality_without_its_proof_is_demoted(plan: Plan, bound: float | None, words: str) -> None:
    verdict = judge(TIME, Outcome(Status.OPTIMAL, plan, bound=bound))
    assert verdict.status is Status.FEASIBLE
    assert verdict.reason == f"the solver claims optimality, but {words} does not certify it"
    assert verdict.value is not None


def test_a_bound_above_the_value_is_an_error_that_names_both() -> None:
    verdict = judge(TIME, Outcome(Status.OPTIMAL, FAST, bound=4.0))
    assert verdict.status is Status.ERROR
    assert verdict.reason is not None
    assert "the bound 4.0" in verdict.reason
    assert repr(judge(TIME, Outcome(Status.FEASIBLE, FAST)).value) in verdict.reason
    assert (verdict.plan, verdict.value, verdict.bound, verdict.gap) == (None, None, None, None)


@pytest.mark.parametrize("bound", [float("nan"), float("inf"), float("-inf")])
def test_a_bound_that_is_no_number_is_an_error(bound: float) -> None:
    assert judge(TIME, Outcome(Status.FEASIBLE, FAST, bound=bound)).status is Status.ERROR
    assert judge(TIME, Outcome(Status.UNKNOWN, bound=bound)).status is Status.ERROR


def test_an_infeasible_plan_is_an_error_that_says_why() -> None:
    verdict = judge(TIME, Outcome(Status.OPTIMAL, TWICE, bound=1.0))
    assert (verdict.status, verdict.plan, verdict.value) == (Status.ERROR, None, None)
    assert verdict.reason == "the solver returned a plan that is infeasible: a/0 serves 2 slots"


def test_a_plan_that_breaks_a_cap_is_an_error() -> None:
    capped = Problem(hand_instance(), Goal(energy_weight=1, time_cap=5))
    assert judge(capped, Outcome(Status.FEASIBLE, FAST)).status is Status.FEASIBLE
    verdict = judge(capped, Outcome(Status.FEASIBLE, SLOW))
    assert verdict.status is Status.ERROR
    assert "the cap is 5 s" in (verdict.reason or "")


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.UNKNOWN, Status.ERROR])
def test_without_a_plan_there_are_no_figures(status: Status) -> None:
    verdict = judge(TIME, Outcome(status))
    assert verdict.status is status
    assert (verdict.plan, verdict.value, verdict.gap, verdict.evaluation) == (None, None, None, None)


def test_a_bound_without_a_plan_is_kept_unless_nothing_exists() -> None:
    assert judge(TIME, Outcome(Status.UNKNOWN, bound=2.0)).bound == 2.0
    assert judge(TIME, Outcome(Status.INFEASIBLE, bound=2.0)).bound is None


def test_a_front_is_judged_plan_by_plan() -> None:
    verdict = judge(FRONT, Outcome(Status.OPTIMAL, front=(FAST,)))
    assert verdict.status is Status.OPTIMAL
    assert (verdict.value, verdict.bound, verdict.gap, verdict.plan) == (None, None, None, None)
    assert [point.plan for point in verdict.front or ()] == [FAST]


@pytest.mark.parametrize(
    ("front", "words"),
    [((FAST, SLOW), "dominate"), ((SLOW, FAST), "out of order"), ((FAST, FAST), "dominate"), ((TWICE,), "infeasible")],
)
def test_a_front_that_is_none_is_an_error(front: tuple[Plan, ...], words: str) -> None:
    verdict = judge(FRONT, Outcome(Status.FEASIBLE, front=front))
    assert verdict.status is Status.ERROR
    assert words in (verdict.reason or "")


@pytest.mark.parametrize("problem", [TIME, FRONT])
def test_an_answer_to_another_question_is_an_error(problem: Problem) -> None:
    outcome = Outcome(Status.FEASIBLE, front=(FAST,)) if problem is TIME else Outcome(Status.FEASIBLE, FAST)
    assert judge(problem, outcome).status is Status.ERROR


@pytest.mark.parametrize(
    ("status", "plan"),
    [(Status.OPTIMAL, None), (Status.FEASIBLE, None), (Status.INFEASIBLE, FAST), (Status.UNKNOWN, FAST)],
)
def test_an_outcome_cannot_contradict_itself(status: Status, plan: Plan | None) -> None:
    with pytest.raises(ValueError, match="an outcome that is"):
        Outcome(status, plan)


@pytest.mark.parametrize(
    ("problem", "outcome", "proves", "status", "bound"),
    [
        (TIME, Outcome(Status.OPTIMAL, FAST, bound=3.9), Proof.NOTHING, Status.FEASIBLE, None),
        (TIME, Outcome(Status.FEASIBLE, FAST, bound=3.0), Proof.NOTHING, Status.FEASIBLE, None),
        (TIME, Outcome(Status.INFEASIBLE), Proof.NOTHING, Status.UNKNOWN, None),
        (TIME, Outcome(Status.INFEASIBLE), Proof.BOUND, Status.UNKNOWN, None),
        (FRONT, Outcome(Status.OPTIMAL, front=(FAST,)), Proof.NOTHING, Status.FEASIBLE, None),
        (FRONT, Outcome(Status.OPTIMAL, front=(FAST,)), Proof.BOUND, Status.FEASIBLE, None),
        (TIME, Outcome(Status.FEASIBLE, FAST, bound=3.0), Proof.OPTIMUM, Status.FEASIBLE, None),
        (TIME, Outcome(Status.OPTIMAL, FAST, bound=3.9), Proof.OPTIMUM, Status.OPTIMAL, 3.9),
        (TIME, Outcome(Status.OPTIMAL, FAST, bound=3.9), Proof.BOUND, Status.OPTIMAL, 3.9),
    ],
)
def test_a_claim_beyond_what_a_solver_proves_is_dropped(
    problem: Problem, outcome: Outcome, proves: Proof, status: Status, bound: float | None
) -> None:
    verdict = judge(problem, outcome, proves)
    assert (verdict.status, verdict.bound) == (status, None if bound is None else pytest.approx(bound))
    dropped = status is not outcome.status or bound is None
    assert (verdict.reason is not None) == dropped
    assert not dropped or f"declares that it proves {proves.value}" in str(verdict.reason)
