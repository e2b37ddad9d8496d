"""Every value of the cases with known truth, by the referee, by enumeration and by the uniform baseline."""

from __future__ import annotations

import pytest

from instances.referee.evaluate import evaluate
from solvers.core.interface import Status
from tests.cases import CASES, CLOSE, FEASIBLE, INFEASIBLE, Case, named
from tests.solving import solved

OPTIMA = {"time": "time_s", "energy": "energy_j", "carbon": "carbon_g", "cost": "cost_usd"}
UNIFORM = [case for case in FEASIBLE if "uniform_time_s" in case.truth]


def close(expected: float) -> object:
    return pytest.approx(expected, rel=CLOSE, abs=0)


def test_there_are_cases_of_every_kind() -> None:
    assert len(CASES) >= 14
    assert INFEASIBLE
    assert len(UNIFORM) < len(FEASIBLE), "one case has no uniform plan"
    assert any("carbon_g" in case.truth for case in FEASIBLE)


@pytest.mark.parametrize("case", **named(FEASIBLE))
def test_the_referee_gives_the_known_costs_of_the_known_plans(case: Case) -> None:
    fastest = evaluate(case.instance, case.plan("time_plan"))
    assert fastest.time_s == close(case.truth["time_s"])
    assert fastest.energy_j == close(case.truth["time_plan_energy_j"])
    assert fastest.pipeline_s == close(case.truth["time_plan_pipeline_s"])
    assert fastest.sync_s == close(case.truth["time_plan_sync_s"])
    assert fastest.network_energy_j == close(case.truth["time_plan_network_energy_j"])
    assert evaluate(case.instance, case.plan("energy_plan")).energy_j == close(case.truth["energy_j"])


@pytest.mark.parametrize(
    ("case", "objective", "key"),
    [
        pytest.param(case, objective, key, id=f"{case.name}-{objective}")
        for case in FEASIBLE
        for objective, key in OPTIMA.items()
        if key in case.truth
    ],
)
def test_enumeration_finds_the_known_optimum(case: Case, objective: str, key: str) -> None:
    found = solved("brute", case.instance, objective)
    assert (found.status, found.value, found.gap) == (Status.OPTIMAL, close(case.truth[key]), 0)


@pytest.mark.parametrize("case", **named(FEASIBLE))
def test_enumeration_finds_the_known_least_energy_under_a_time_cap(case: Case) -> None:
    found = solved("brute", case.instance, f"energy@{case.truth['time_cap_s']!r}")
    assert (found.status, found.value) == (Status.OPTIMAL, close(case.truth["energy_at_cap_j"]))
    assert found.evaluation is not None
    assert found.evaluation.time_s <= case.truth["time_cap_s"] * (1 + CLOSE)


@pytest.mark.parametrize("case", **named(UNIFORM))
def test_enumeration_finds_the_known_weighted_optimum(case: Case) -> None:
    found = solved("brute", case.instance, "weighted:0.5")
    assert (found.status, found.value) == (Status.OPTIMAL, close(case.truth["weighted_05"]))


@pytest.mark.parametrize("case", **named(FEASIBLE))
def test_enumeration_finds_the_known_front(case: Case) -> None:
    found = solved("brute", case.instance, "front")
    assert (found.status, found.value, found.bound, found.gap) == (Status.OPTIMAL, None, None, None)
    assert found.front is not None
    points = [(point.evaluation.time_s, point.evaluation.energy_j) for point in found.front]
    assert points == [(close(time), close(energy)) for time, energy in case.truth["front_time_s_energy_j"]]


@pytest.mark.parametrize("case", **named(UNIFORM))
def test_megatron_is_the_known_uniform_plan(case: Case) -> None:
    found = solved("megatron", case.instance, "time")
    assert (found.status, found.value) == (Status.FEASIBLE, close(case.truth["uniform_time_s"]))
    assert found.evaluation is not None
    assert found.evaluation.energy_j == close(case.truth["uniform_energy_j"])


@pytest.mark.parametrize("case", **named([case for case in CASES if case not in UNIFORM]))
def test_megatron_finds_nothing_where_no_uniform_plan_fits(case: Case) -> None:
    found = solved("megatron", case.instance, "time")
    assert (found.status, found.plan, found.value) == (Status.UNKNOWN, None, None)


@pytest.mark.parametrize("objective", ["time", "energy", "front"])
@pytest.mark.parametrize("case", **named(INFEASIBLE))
def test_enumeration_proves_that_nothing_fits(case: Case, objective: str) -> None:
    found = solved("brute", case.instance, objective)
    assert found.status is Status.INFEASIBLE
    assert (found.plan, found.value, found.bound, found.gap, found.front) == (None,) * 5


@pytest.mark.parametrize("case", **named(FEASIBLE))
def test_a_cap_below_the_optimum_is_infeasible_and_one_at_the_optimum_is_not(case: Case) -> None:
    least = case.truth["time_s"]
    assert solved("brute", case.instance, f"energy@{least * (1 - 1e-8)!r}").status is Status.INFEASIBLE
    at_least = solved("brute", case.instance, f"energy@{least!r}")
    assert at_least.status is Status.OPTIMAL
    assert at_least.value == close(case.truth["front_time_s_energy_j"][0][1])
