"""What every registered solver keeps to. A new solver is found by the registry and tested at once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from bench.runs.contract import RULES, Known, Subject, known_by_enumeration
from bench.runs.judge import judge
from instances.contract import Rule, findings
from instances.errors import InputError
from instances.generator.family import generate
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Solver, Status
from solvers.core.registry import make_solver, solver_types
from tests.cases import DATA, FEASIBLE, INFEASIBLE
from tests.solving import problem_of

TYPES = solver_types()
PLANNER = f"{sys.executable} {DATA / 'planner.py'} {{instance}} {{plan}}"
OPTIONS = {"exec": {"command": PLANNER}}

# Small, with sites for carbon and cost, a power cap at one of them and link energy.
CASE = min(
    (case for case in FEASIBLE if "carbon_g" in case.truth and "uniform_time_s" in case.truth),
    key=lambda case: case.truth["feasible_plans_up_to_symmetry"],
)
KNOWN = Known(
    CASE.instance,
    {
        "time": CASE.truth["time_s"],
        "energy": CASE.truth["energy_j"],
        "carbon": CASE.truth["carbon_g"],
        "cost": CASE.truth["cost_usd"],
        "weighted:0.5": CASE.truth["weighted_05"],
        f"energy@{CASE.truth['time_cap_s']!r}": CASE.truth["energy_at_cap_j"],
    },
    tuple(map(tuple, CASE.truth["front_time_s_energy_j"])),
    {"time": CASE.plan("time_plan"), "energy": CASE.plan("energy_plan")},
    tuple(case.instance for case in INFEASIBLE),
)


def test_the_solvers_of_the_specification_that_need_no_search_are_there() -> None:
    assert {"megatron", "brute", "memetic", "dtfm"} <= set(TYPES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.promise)
@pytest.mark.parametrize("name", TYPES)
def test_every_solver_keeps_the_contract(name: str, rule: Rule[Subject]) -> None:
    rule.check(Subject(name, OPTIONS.get(name, {}), KNOWN))


def test_what_enumeration_knows_of_a_pool_is_what_the_exact_methods_prove() -> None:
    known = known_by_enumeration()
    assert set(known.optima) == {"time", "energy", "carbon", "cost", "weighted:0.5", "energy@1x"}
    assert len(known.front) > 1
    for objective, optimum in known.optima.items():
        problem = known.problem(objective)
        verdict = judge(problem, make_solver("cpsat").solve(problem, Budget(60), Monitor()))
        assert verdict.status is Status.OPTIMAL
        assert verdict.value == pytest.approx(optimum, rel=1e-9)


@dataclass(frozen=True)
class Honest(Solver):
    """The uniform plan, told and traced."""

    name: ClassVar[str] = "planted"
    summary: ClassVar[str] = "a solver that keeps the contract"

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        return make_solver("megatron").solve(problem, budget, monitor)


class Liar(Honest):
    """Calls it optimal."""

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        found = super().solve(problem, budget, monitor)
        return found if found.plan is None else Outcome(Status.OPTIMAL, found.plan, bound=problem.value(found.plan))


class Nameless(Honest):
    """No summary."""

    summary = ""


class Silent(Honest):
    """Says that it searches at random, and tells nobody of its plans."""

    random = True


class Forger(Honest):
    """A front where one plan was asked for."""

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        return Outcome(Status.INFEASIBLE)


class Raising(Honest):
    """Fails with a bare error."""

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        raise IndexError


class Undecided(Honest):
    """Has an answer of another kind."""

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("planted", "promises", "words"),
    [
        (Liar, {"honest about values and bounds"}, "claims more than `proves` says"),
        (Nameless, {"says what it is"}, "is not one line"),
        (Silent, {"tells what it finds"}, "was not told to the monitor"),
        (Forger, {"makes nothing up", "keeps caps", "honest about values and bounds"}, "calls a feasible instance"),
        (Raising, {"keeps caps"}, "IndexError"),
        (Undecided, {"keeps caps"}, "solve returned NoneType, expected an Outcome"),
    ],
)
def test_a_broken_promise_is_found_and_explained(
    planted: type[Any], promises: set[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from solvers.core import registry

    rules = [rule for rule in RULES if rule.promise != "keeps limits"]  # its process does not know what is planted
    for kind in (Honest, planted):
        monkeypatch.setitem(registry._FOUND, "planted", kind)
        found = {each.promise: each.problem for each in findings(rules, Subject("planted", {}, KNOWN)) if each.problem}
        if kind is Honest:
            assert found == {}
    assert promises <= set(found)
    assert any(words in problem for problem in found.values())


@pytest.mark.parametrize("name", [name for name in TYPES if TYPES[name].takes_seed])
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
