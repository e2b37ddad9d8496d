"""What every registered solver keeps to. A new solver is found by the registry and tested at once."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from itertools import pairwise
from typing import Any

import pytest

from bench.runs.judge import Verdict, judge
from instances.errors import InputError
from instances.generator.family import generate
from instances.instance import Instance
from instances.objective import parse_objective
from instances.plan import Plan
from instances.referee.violations import violations
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Proof, Status
from solvers.core.registry import make_solver, solver_types
from solvers.placements.uniform import reference_of
from tests.cases import CLOSE, FEASIBLE, INFEASIBLE

TYPES = solver_types()
NAMES = list(TYPES)
FRONTS = [name for name in NAMES if TYPES[name].fronts]
PROVERS = [name for name in NAMES if TYPES[name].proves in (Proof.OPTIMUM, Proof.OPTIMUM_AND_BOUND)]
STARTERS = [name for name in NAMES if TYPES[name].takes_start]
RANDOM = [name for name in NAMES if TYPES[name].random]


def enough(name: str) -> Budget:
    """Searches end by evaluations, what proves by its proof: the seconds only stop a runaway."""
    return Budget(seconds=60, evaluations=None if name in PROVERS else 400, seed=1)


# Small, with sites for carbon and cost, a power cap at one of them and link energy.
CASE = min(
    (case for case in FEASIBLE if "carbon_g" in case.truth and "uniform_time_s" in case.truth),
    key=lambda case: case.truth["feasible_plans_up_to_symmetry"],
)
TRUTH = {
    "time": CASE.truth["time_s"],
    "energy": CASE.truth["energy_j"],
    "carbon": CASE.truth["carbon_g"],
    "cost": CASE.truth["cost_usd"],
    "weighted:0.5": CASE.truth["weighted_05"],
    f"energy@{CASE.truth['time_cap_s']!r}": CASE.truth["energy_at_cap_j"],
}


@dataclass
class Heard:
    """All that a solver told while it ran."""

    plans: list[Plan] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)

    def monitor(self) -> Monitor:
        return Monitor(on_plan=self.plans.append, on_bound=lambda bound, _: self.bounds.append(bound))


def problem_of(instance: Instance, objective: str, start: Plan | None = None) -> Problem:
    return Problem(instance, parse_objective(objective).goal(reference_of(instance)), start)


def run(
    name: str, problem: Problem, budget: Budget | None = None, heard: Heard | None = None
) -> tuple[Outcome, Verdict]:
    """A solver's outcome and the referee's word on it: nothing may need correction."""
    outcome = make_solver(name).solve(problem, budget or enough(name), (heard or Heard()).monitor())
    verdict = judge(problem, outcome)
    assert verdict.status is not Status.ERROR, verdict.reason
    assert verdict.reason is None
    return outcome, verdict


def test_the_solvers_of_the_specification_that_need_no_search_are_there() -> None:
    assert {"megatron", "brute", "memetic", "dtfm"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_solver_says_what_it_is(name: str) -> None:
    kind = TYPES[name]
    assert kind.name == name == name.lower()
    assert kind.summary
    assert "\n" not in kind.summary
    assert isinstance(kind.proves, Proof)
    for flag in ("random", "fronts", "takes_start"):
        assert isinstance(getattr(kind, flag), bool), flag
    assert kind.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_options_have_defaults_that_read_back_from_text(name: str) -> None:
    assert is_dataclass(TYPES[name])
    options = fields(TYPES[name])
    assert all(option.default is not MISSING for option in options)
    assert make_solver(name, {option.name: str(option.default) for option in options}) == make_solver(name)


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_option_is_refused_by_name(name: str) -> None:
    with pytest.raises(InputError, match=f"solver {name}: unknown option 'colour'"):
        make_solver(name, {"colour": "red"})


@pytest.mark.parametrize("objective", TRUTH)
@pytest.mark.parametrize("name", NAMES)
def test_an_answer_is_honest(name: str, objective: str) -> None:
    truth, proves = TRUTH[objective], TYPES[name].proves
    heard = Heard()
    outcome, verdict = run(name, problem_of(CASE.instance, objective), heard=heard)
    assert outcome.status is not Status.INFEASIBLE
    if verdict.value is not None:
        assert verdict.value >= truth * (1 - CLOSE)
    if outcome.bound is not None:
        assert proves is not Proof.NOTHING
        assert outcome.bound <= truth * (1 + CLOSE)
    if outcome.status is Status.OPTIMAL:
        assert proves is not Proof.NOTHING
        assert verdict.value == pytest.approx(truth, rel=CLOSE)
    assert all(bound <= truth * (1 + CLOSE) for bound in heard.bounds)
    assert all(not violations(CASE.instance, plan) for plan in heard.plans)
    assert outcome.evaluations >= 0


@pytest.mark.parametrize("objective", TRUTH)
@pytest.mark.parametrize("name", PROVERS)
def test_what_proves_optima_proves_a_tiny_one(name: str, objective: str) -> None:
    outcome, verdict = run(name, problem_of(CASE.instance, objective))
    assert (outcome.status, verdict.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert verdict.value == pytest.approx(TRUTH[objective], rel=CLOSE)
    assert not outcome.limit_reached


@pytest.mark.parametrize("name", NAMES)
def test_what_was_found_was_told_and_traced(name: str) -> None:
    heard = Heard()
    problem = problem_of(CASE.instance, "energy")
    outcome, verdict = run(name, problem, heard=heard)
    values = [point.value for point in outcome.trace]
    assert all(later < earlier for earlier, later in pairwise(values))
    for name_of_axis in ("seconds", "evaluations"):
        axis = [getattr(point, name_of_axis) for point in outcome.trace]
        assert axis == sorted(axis)
    if verdict.value is not None:
        assert values[-1] == pytest.approx(verdict.value, rel=CLOSE)
        if TYPES[name].random or name in ("cpsat", "milp"):
            told = [problem.value(plan) for plan in heard.plans]
            assert verdict.value in told, "what is not told is lost when the solver is stopped from outside"


@pytest.mark.parametrize("name", FRONTS)
def test_a_front_is_nondominated_and_inside_the_true_one(name: str) -> None:
    outcome, verdict = run(name, problem_of(CASE.instance, "front"))
    assert (outcome.plan, outcome.bound) == (None, None)
    assert verdict.front
    truth = CASE.truth["front_time_s_energy_j"]
    for point in verdict.front:
        time, energy = point.evaluation.time_s * (1 + CLOSE), point.evaluation.energy_j * (1 + CLOSE)
        assert any(t <= time and e <= energy for t, e in truth)
    if outcome.status is Status.OPTIMAL:
        assert TYPES[name].proves is not Proof.NOTHING
        assert len(verdict.front) == len(truth)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_fits_and_nothing_is_made_up(name: str) -> None:
    for case in INFEASIBLE:
        outcome, verdict = run(name, problem_of(case.instance, "time"))
        assert outcome.status in (Status.INFEASIBLE, Status.UNKNOWN)
        assert (verdict.plan, verdict.value, verdict.gap) == (None, None, None)
        if outcome.status is Status.INFEASIBLE:
            assert TYPES[name].proves is not Proof.NOTHING
        if name in PROVERS:
            assert outcome.status is Status.INFEASIBLE


@pytest.mark.parametrize("name", NAMES)
def test_a_cap_that_no_plan_keeps_is_no_plan(name: str) -> None:
    outcome, verdict = run(name, problem_of(CASE.instance, f"energy@{CASE.truth['time_s'] * 0.99!r}"))
    assert outcome.status is (Status.INFEASIBLE if name in PROVERS else Status.UNKNOWN)
    assert verdict.plan is None


@pytest.mark.parametrize("name", FRONTS)
def test_the_front_of_nothing_is_none(name: str) -> None:
    outcome, verdict = run(name, problem_of(INFEASIBLE[0].instance, "front"))
    assert outcome.status in (Status.INFEASIBLE, Status.UNKNOWN)
    assert verdict.front is None


@pytest.mark.parametrize(
    "budget",
    [Budget(seconds=0), Budget(evaluations=0), Budget(seconds=0, evaluations=0), Budget(evaluations=1)],
    ids=str,
)
@pytest.mark.parametrize("objective", ["time", "front"])
@pytest.mark.parametrize("name", NAMES)
def test_next_to_no_budget_is_an_honest_answer_too(name: str, objective: str, budget: Budget) -> None:
    if objective == "front" and name not in FRONTS:
        return
    if name == "megatron":
        return  # it has no search to stop
    if budget.seconds is None and name in ("cpsat", "milp"):
        budget = Budget(seconds=60, evaluations=budget.evaluations)
    for case in (CASE, *INFEASIBLE):
        outcome, _ = run(name, problem_of(case.instance, objective), budget)
        if outcome.status is Status.OPTIMAL or (outcome.status is Status.INFEASIBLE):
            assert name in PROVERS
            assert not outcome.limit_reached


@pytest.mark.parametrize("objective", ["time", "energy"])
@pytest.mark.parametrize("name", STARTERS)
def test_an_answer_is_never_worse_than_its_start(name: str, objective: str) -> None:
    key = {"time": "time_plan", "energy": "energy_plan"}[objective]
    best = CASE.plan(key)
    for budget in (Budget(seconds=0), Budget(evaluations=0), Budget(evaluations=1), enough(name)):
        _, verdict = run(name, problem_of(CASE.instance, objective, best), budget)
        assert verdict.value == pytest.approx(TRUTH[objective], rel=CLOSE)


@pytest.mark.parametrize("objective", ["time", "energy"])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_answer(name: str, objective: str) -> None:
    problem = problem_of(CASE.instance, objective)
    (first, value), (second, again) = (run(name, problem) for _ in range(2))
    assert (first.status, first.bound, value.value) == (second.status, second.bound, again.value)
    if name not in PROVERS:  # two proofs may take different ways to plans of one value
        assert (first.plan, first.evaluations) == (second.plan, second.evaluations)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in RANDOM])
def test_a_solver_without_chance_ignores_the_seed(name: str) -> None:
    problem = problem_of(CASE.instance, "time")
    outcomes = [run(name, problem, Budget(seconds=60, seed=seed)) for seed in (0, 7)]
    assert outcomes[0][1].value == outcomes[1][1].value
    if not TYPES[name].takes_seed:
        assert outcomes[0][0].plan == outcomes[1][0].plan
        assert outcomes[0][0].evaluations == outcomes[1][0].evaluations


@pytest.mark.parametrize("name", [name for name in NAMES if TYPES[name].takes_seed])
def test_the_seed_of_a_library_decides_between_equally_good_plans(name: str) -> None:
    """By the libraries' own search: the start takes no seed."""
    problem = problem_of(generate("campus", 5, 0, {}), "time")
    solver = make_solver(name, {"start": "megatron"})
    verdicts = [judge(problem, solver.solve(problem, Budget(seed=seed), Monitor())) for seed in range(6)]
    assert {verdict.status for verdict in verdicts} == {Status.OPTIMAL}
    assert len({verdict.plan for verdict in verdicts}) > 1
    assert max(v.value or 0 for v in verdicts) == pytest.approx(min(v.value or 0 for v in verdicts), rel=2e-6)


def test_two_solvers_of_one_name_are_refused() -> None:
    from solvers.core.registry import register

    class Impostor:
        name = "megatron"

    with pytest.raises(ValueError, match="two solvers are called megatron"):
        register(Impostor)


def test_an_unknown_solver_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InputError, match=r"unknown solver 'gurobi'; expected one of brute, "):
        make_solver("gurobi")


@pytest.mark.parametrize(
    ("text", "reason"), [("x", "'x' is not a whole number"), ("1.5", "'1.5' is not a whole number")]
)
def test_an_option_of_the_wrong_type_is_refused(text: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from solvers.core import registry

    @dataclass(frozen=True)
    class Counting:
        name = "counting"
        steps: int = 3

    monkeypatch.setitem(registry._FOUND, "counting", Counting)
    with pytest.raises(InputError, match=f"solver counting: option steps: {reason}"):
        make_solver("counting", {"steps": text})
    made: Any = make_solver("counting", {"steps": "7"})
    assert made.steps == 7
