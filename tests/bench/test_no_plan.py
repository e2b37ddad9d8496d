"""A run without a plan says why: the limit that leaves none, with its figures, or what was tried."""

from __future__ import annotations

from typing import Any

import pytest

from bench.runs.judge import judge
from bench.runs.no_plan import explained, obstacle
from instances.instance import Instance
from solvers.core.interface import Budget, Outcome, Status
from solvers.core.registry import solver_types
from tests.cases import FEASIBLE, INFEASIBLE, Case, named
from tests.editing import hand_instance
from tests.random_instances import random_instance
from tests.solvers.test_missing_links import line
from tests.solving import outcome_of, problem_of

# By hand, on tests/data/hand-instance.json: 1,000 parameters in a block and in each embedding, 16 bytes each; every
# sequence leaves 50 * (10 * 18 + 4 * 30) + 5 * 50 * 50 = 27,500 bytes in a block; head input 1,000, logits 20,000.
# The last stage with one layer: 2 * 16,000 + 4 * 27,500 + 4 * 1,000 + 20,000 = 166,000 bytes = 162.1 KiB.
# The only stage with two layers: 4 * 16,000 + 4 * 2 * 27,500 + 24,000 = 308,000 bytes = 300.8 KiB.
# A stage between others, in 200,000 bytes: 16,000 + 4 * 27,500 = 126,000 a layer, so one layer on each of two GPUs.
OBSTACLES: dict[str, tuple[dict[str, Any], str]] = {
    "batch": (
        {"training__micro_batches": [3, 5, 7]},
        "no micro-batch size (3, 5, 7) divides the global batch of 4",
    ),
    "memory of a stage": (
        {"groups__0__memory": 50_000, "groups__1__memory": 60_000},
        "even one layer a stage needs 162.1 KiB on a GPU, the largest has 58.59 KiB",
    ),
    "layers": (
        {"model__layers": 6},
        "the GPUs hold 2 of the 6 layers at most, whatever the grid",
    ),
    "no power": (
        {"sites": {"west": {"power_cap": 99}, "east": {"power_cap": 199}}},
        "the power cap of every site is below what one of its GPUs draws",
    ),
    "memory within power": (
        {"sites": {"west": {"power_cap": 99}}, "groups__1__memory": 50_000},
        "the only stage needs 300.8 KiB on a GPU, the largest that the power caps allow has 48.83 KiB",
    ),
}


def reason_of(solver: str, instance: Instance, objective: str = "time", budget: Budget | None = None) -> str:
    problem = problem_of(instance, objective)
    outcome = outcome_of(solver, problem, budget or Budget(evaluations=100))
    verdict = explained(problem, outcome, judge(problem, outcome))
    assert verdict.status in (Status.INFEASIBLE, Status.UNKNOWN)
    assert verdict.reason
    return verdict.reason


@pytest.mark.parametrize(("changes", "words"), OBSTACLES.values(), ids=OBSTACLES)
def test_the_limit_that_leaves_no_plan_is_named(changes: dict[str, Any], words: str) -> None:
    instance = hand_instance(**changes)
    problem = problem_of(instance, "time")
    assert outcome_of("brute", problem).status is Status.INFEASIBLE
    assert obstacle(problem) == words


@pytest.mark.parametrize("case", **named(FEASIBLE))
def test_what_has_a_plan_has_no_obstacle(case: Case) -> None:
    assert obstacle(problem_of(case.instance, "time")) is None


@pytest.mark.parametrize("seed", range(40))
def test_an_obstacle_is_true(seed: int) -> None:
    problem = problem_of(random_instance(seed), "time")
    if obstacle(problem) is not None:
        assert outcome_of("brute", problem).status is Status.INFEASIBLE


@pytest.mark.parametrize("solver", [name for name in solver_types() if name != "exec"])  # tests/bench/test_exec.py
@pytest.mark.parametrize("changes", [OBSTACLES["batch"][0], OBSTACLES["layers"][0]], ids=["batch", "layers"])
def test_every_solver_without_a_plan_has_a_reason(solver: str, changes: dict[str, Any]) -> None:
    assert obstacle(problem_of(hand_instance(**changes), "time")) == reason_of(solver, hand_instance(**changes))


@pytest.mark.parametrize("case", **named(INFEASIBLE))
def test_a_proof_that_there_is_no_plan_has_a_reason(case: Case) -> None:
    assert reason_of("brute", case.instance, budget=Budget())


def test_a_cap_is_named_beside_the_usual_plan() -> None:
    words = "the time cap of 1 s, where the best uniform plan takes 3.9 s"
    assert reason_of("brute", hand_instance(), "energy@1", Budget()) == (
        f"no plan keeps all limits at once: memory; {words}"
    )
    assert reason_of("megatron", hand_instance(), "energy@1").endswith(words)


def test_missing_links_are_named() -> None:
    problem = problem_of(line(2, loop=None), "time")
    nothing = Outcome(Status.UNKNOWN, evaluations=7)
    assert explained(problem, nothing, judge(problem, nothing)).reason == (
        "7 plans tried, none keeps all limits: memory; no link between the GPUs of A, A and B, the GPUs of S and 1 more"
    )


def test_a_limit_that_comes_first_is_said() -> None:
    assert reason_of("brute", hand_instance(), budget=Budget(seconds=0)) == "no plan was tried before the limit"


def test_a_plan_needs_no_reason() -> None:
    problem = problem_of(hand_instance(), "time")
    outcome = outcome_of("brute", problem)
    assert explained(problem, outcome, judge(problem, outcome)).reason is None
