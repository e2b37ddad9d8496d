"""Pools in which some groups have no link: all exact methods agree, and no solver uses a link that is not there."""

from __future__ import annotations

import warnings

import pytest

from instances.errors import InputError
from instances.files import instance_from_json, instance_to_json
from instances.instance import Instance
from instances.plan import Plan
from instances.reduce import without
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from solvers.core.interface import Budget, Monitor, Solver, Status
from solvers.cpsat import CpSat
from solvers.milp import Milp
from tests.missing_links import without_links
from tests.random_instances import random_instance
from tests.solving import outcome_of, problem_of

SEEDS = range(6)
OBJECTIVES = ("time", "energy")
EXACT: tuple[Solver, ...] = (
    CpSat(start="none"),
    Milp(start="none"),
    Milp(start="none", backend="cbc"),
    Milp(start="none", whole=True),
    CpSat(start="none", whole=True),
)


def line(count: int = 1, loop: float | None = 1e9) -> Instance:
    """Groups A, S and B: A and B reach each other only over S."""
    data = instance_to_json(random_instance(0))
    group = {"gpu": "any", "region": "here", "count": count, "flops": 1e10, "memory": 1e12}
    power = {"power_active": 300.0, "power_idle": 60.0}
    data["groups"] = [{"name": name, **group, **power} for name in "ASB"]
    link = {"latency": 0.001, "bandwidth": 1e9}
    data["network"] = {key: [[value] * 3 for _ in range(3)] for key, value in link.items()}
    data["network"]["bandwidth"][0][2] = data["network"]["bandwidth"][2][0] = None
    for k in range(3):
        data["network"]["bandwidth"][k][k] = loop
    data["sites"] = None
    return instance_from_json(data, "line")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_exact_methods_agree(seed: int, objective: str) -> None:
    instance = without_links(random_instance(seed), seed)
    problem = problem_of(instance, objective)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        truth = outcome_of("brute", problem)
        for solver in EXACT:
            found = solver.solve(problem, Budget(), Monitor())
            assert found.status == truth.status, solver
            if truth.plan is not None and found.plan is not None:
                assert problem.value(found.plan) == pytest.approx(problem.value(truth.plan), rel=1e-6), solver
        tried = outcome_of("memetic", problem, Budget(evaluations=50_000))
    if truth.plan is None:
        assert tried.plan is None
    else:
        assert tried.plan is not None
        assert problem.value(tried.plan) == pytest.approx(problem.value(truth.plan), rel=1e-6)


@pytest.mark.parametrize("solver", ["megatron", "contiguous", "random", "dtfm", "memetic"])
def test_heuristics_use_no_missing_link(solver: str) -> None:
    instance = line(2)
    problem = problem_of(instance, "time")
    outcome = outcome_of(solver, problem, Budget(evaluations=2_000))
    assert outcome.status in (Status.FEASIBLE, Status.UNKNOWN)
    if outcome.plan is not None:
        assert not violations(instance, outcome.plan)


def test_referee_names_pair_and_direction() -> None:
    data = instance_to_json(line())
    data["network"]["bandwidth"][2][0] = 1e9
    instance = instance_from_json(data, "one direction")
    layers = instance.model.layers
    assert violations(instance, Plan.from_groups(1, (1, layers - 1), [[0, 2]])) == [
        "there is no link from A to B, stages 0 and 1 need it"
    ]
    assert violations(instance, Plan.from_groups(1, (layers,), [[0], [2]])) == [
        "there is no link from A to B, holders of stage 0 need it"
    ]
    assert not violations(instance, Plan.from_groups(1, (1, 1, layers - 2), [[0, 1, 2]]))


def test_two_gpus_of_a_group_need_its_diagonal() -> None:
    instance = line(2, loop=None)
    layers = instance.model.layers
    assert violations(instance, Plan.from_groups(1, (layers,), [[0], [0]]))[0].startswith(
        "there is no link from A to A"
    )
    assert violations(instance, Plan.from_groups(1, (1, layers - 1), [[0, 0]]))
    assert not violations(instance, Plan.from_groups(1, (1, layers - 1), [[0, 1]]))


def test_missing_links_survive_files_and_reduction() -> None:
    instance = line()
    assert instance_from_json(instance_to_json(instance), "again").content_hash == instance.content_hash
    assert without(instance, ["S"]).instance.network.bandwidth == ((1e9, None), (None, 1e9))
    one = without(instance, ["A"]).instance
    assert one.links.linked == ((True, True), (True, True))


def test_a_copy_has_links_of_its_own() -> None:
    instance = line()
    assert not instance.links.linked[0][2]
    full = instance.network.model_copy(update={"bandwidth": ((1e9,) * 3,) * 3})
    assert instance.model_copy(update={"network": full}).links.linked[0][2]


def test_a_latency_is_needed_where_there_is_a_bandwidth() -> None:
    data = instance_to_json(line())
    data["network"]["latency"][0][2] = None
    instance = instance_from_json(data, "fine")
    assert evaluate(instance, Plan.from_groups(1, (instance.model.layers,), [[0]])).time_s > 0
    data["network"]["latency"][0][1] = None
    with pytest.raises(InputError, match=r"network\.latency\[0\]\[1\]: is null, but there is a bandwidth"):
        instance_from_json(data, "wrong")
