"""The two exact methods against enumeration: same optimum, no bound above it, also when cut off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import pytest

from instances.objective import Goal, Reference, parse_objective
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from solvers.brute import Brute
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Status
from solvers.core.registry import make_solver
from solvers.exact import branching, grid_proofs
from tests.random_instances import random_instance, random_objectives

METHODS = [("cpsat", {}), ("milp", {}), ("milp", {"backend": "cbc"})]
WHOLE = 320
TIME = Goal(time_weight=1.0)
ROUNDING = 1 + 1e-12


@dataclass
class Heard:
    """What a monitor was told."""

    bounds: list[float] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)

    def monitor(self) -> Monitor:
        """A monitor that keeps bounds and plans, and checks that each bound is what its figures say."""
        return Monitor(on_bound=self._hear, on_plan=self.plans.append)

    def _hear(self, bound: float, proof: Mapping[str, Any]) -> None:
        grids = [grid["bound"] for grid in proof.get("grids", []) if grid["bound"] is not None]
        # The best value known is a bound as well once every grid is closed above it.
        assert bound <= min(grids, default=inf)
        self.bounds.append(bound)


@pytest.fixture(autouse=True)
def _every_bound_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_proofs, "REPORT_EVERY_S", 0.0)


def problems(seed: int) -> Iterator[tuple[str, Problem]]:
    """One random instance with every objective, capped near its fastest plan."""
    instance = random_instance(seed)
    fastest = Brute().solve(Problem(instance, TIME), Budget(), Monitor()).plan
    if fastest is None:
        yield "time", Problem(instance, TIME)
        return
    found = evaluate(instance, fastest)
    for text in random_objectives(seed, found.time_s, found.energy_j):
        yield text, Problem(instance, parse_objective(text).goal(Reference(found.time_s, found.energy_j)))


def check_against_enumeration(problem: Problem, outcome: Outcome, heard: Heard, where: str) -> None:
    """Status, value to 1e-6, every bound; optimal only with a matching bound."""
    truth = Brute().solve(problem, Budget(), Monitor())
    if truth.plan is None:
        assert outcome.status in (Status.INFEASIBLE, Status.UNKNOWN), where
        assert outcome.plan is None, where
        return
    optimum = problem.value(truth.plan)
    assert optimum is not None
    assert outcome.status in (Status.OPTIMAL, Status.FEASIBLE, Status.UNKNOWN), where
    for bound in [*heard.bounds, *([] if outcome.bound is None else [outcome.bound])]:
        assert bound <= optimum * ROUNDING, where
    if outcome.plan is not None:
        value = problem.value(outcome.plan)
        assert value is not None, where
        assert value >= optimum / ROUNDING, where
        if outcome.status is Status.OPTIMAL:
            assert value == pytest.approx(optimum, rel=1e-6), where
            assert outcome.bound is not None, where
            assert (value - outcome.bound) / value <= 1e-6, where


def check_proof(problem: Problem, outcome: Outcome) -> None:
    """Every legal grid is listed, closed, and their bounds give the global one."""
    grids = outcome.details["grids"]
    legal = [tuple(grid) for grid in problem.tables.grids()]
    assert [(grid["replicas"], grid["stages"], grid["micro_batch"]) for grid in grids] == legal
    assert {grid["closed"] for grid in grids} <= {"cheap bound", "infeasible", "solved"}
    if outcome.plan is not None:
        bounds = [grid["bound"] for grid in grids if grid["bound"] is not None]
        assert min([*bounds, problem.value(outcome.plan)]) == outcome.bound


@pytest.mark.parametrize(("name", "options"), METHODS)
@pytest.mark.parametrize(
    "seed",
    # 195: a pipeline much faster than the other, which may spend the difference on its slowest step.
    [*range(8), 195, *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(8, WHOLE) if seed != 195)],
)
def test_agrees_with_enumeration_on_every_objective(
    name: str, options: dict[str, str], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:
        # Tiny as the models are, split them as far as large ones.
        monkeypatch.setattr(branching, "FEW", 0)
        monkeypatch.setattr(branching, "FEW_ALIKE", 0)
    for text, problem in problems(seed):
        heard = Heard()
        outcome = make_solver(name, {**options, "start": "megatron"}).solve(problem, Budget(), heard.monitor())
        where = f"{name} {options} on random instance {seed}, {text}"
        assert outcome.status in (Status.OPTIMAL, Status.INFEASIBLE), where
        check_against_enumeration(problem, outcome, heard, where)
        check_proof(problem, outcome)


@pytest.mark.parametrize(("name", "options"), METHODS)
@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(2, 40))])
def test_agrees_without_a_plan_to_start_from(name: str, options: dict[str, str], seed: int) -> None:
    for text, problem in problems(seed):
        heard = Heard()
        outcome = make_solver(name, {**options, "start": "none"}).solve(problem, Budget(), heard.monitor())
        where = f"{name} {options} on random instance {seed}, {text}, no start"
        assert outcome.status in (Status.OPTIMAL, Status.INFEASIBLE), where
        check_against_enumeration(problem, outcome, heard, where)


@pytest.mark.parametrize(("name", "options"), METHODS)
@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(5, WHOLE))])
@pytest.mark.parametrize("evaluations", [1, 4])
def test_bounds_hold_when_cut_off(name: str, options: dict[str, str], seed: int, evaluations: int) -> None:
    """Cut off after so many valued plans: a limit that strikes at the same place on every machine."""
    for text, problem in problems(seed):
        heard = Heard()
        solver = make_solver(name, {**options, "start": "megatron"})
        outcome = solver.solve(problem, Budget(evaluations=evaluations), heard.monitor())
        where = f"{name} {options} on random instance {seed}, {text}, {evaluations} evaluations"
        check_against_enumeration(problem, outcome, heard, where)


@pytest.mark.wide
@pytest.mark.parametrize("name", ["cpsat", "milp"])
@pytest.mark.parametrize("seed", range(0, WHOLE, 4))
def test_bounds_hold_after_a_short_while(name: str, seed: int) -> None:
    for text, problem in problems(seed):
        heard = Heard()
        outcome = make_solver(name, {"start": "megatron"}).solve(problem, Budget(seconds=0.3), heard.monitor())
        check_against_enumeration(problem, outcome, heard, f"{name} on random instance {seed}, {text}, 0.3 s")


@pytest.mark.parametrize("name", ["cpsat", "milp"])
def test_outcome_is_never_worse_than_the_start(name: str) -> None:
    instance = random_instance(2)
    best = Brute().solve(Problem(instance, TIME), Budget(), Monitor()).plan
    assert best is not None
    problem = Problem(instance, TIME, start=best)
    outcome = make_solver(name, {"start": "none"}).solve(problem, Budget(evaluations=1), Monitor())
    assert outcome.plan is not None
    assert problem.value(outcome.plan) == problem.value(best)


@pytest.mark.parametrize("name", ["cpsat", "milp"])
def test_a_start_that_breaks_a_rule_is_not_believed(name: str) -> None:
    """All layers on one GPU of 1 byte: the plan is refused and the instance proven infeasible."""
    instance = random_instance(1)
    groups = tuple(group.model_copy(update={"memory": 1.0}) for group in instance.groups)
    starved = instance.model_copy(update={"groups": groups})
    start = Plan.from_groups(instance.training.micro_batches[0], [instance.model.layers], [[0]])
    outcome = make_solver(name, {"start": "none"}).solve(Problem(starved, TIME, start), Budget(), Monitor())
    assert outcome.status is Status.INFEASIBLE
    assert outcome.plan is None


@pytest.mark.parametrize("name", ["cpsat", "milp"])
def test_no_time_at_all_gives_an_honest_bound(name: str) -> None:
    problem = Problem(random_instance(5), TIME)
    outcome = make_solver(name, {"start": "megatron"}).solve(problem, Budget(seconds=0.0), Monitor())
    best = Brute().solve(problem, Budget(), Monitor()).plan
    assert best is not None
    optimum = problem.value(best)
    assert optimum is not None
    assert outcome.status is not Status.OPTIMAL or outcome.bound is not None
    assert outcome.bound is not None
    assert outcome.bound <= optimum * ROUNDING


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("milp", {"backend": "glpk"}, "neither highs nor cbc"),
        ("milp", {"start": "luck"}, "expected memetic, megatron or none"),
        ("cpsat", {"start": "luck"}, "expected memetic, megatron or none"),
    ],
)
def test_options_that_do_not_exist_are_refused(name: str, options: dict[str, str], reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        make_solver(name, options)
