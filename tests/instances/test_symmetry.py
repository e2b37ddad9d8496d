"""What a plan costs at best does not depend on the order, the names or the bundling of the groups."""

from __future__ import annotations

import random
from typing import Any

import pytest

from bench.runs.judge import Verdict, judge
from instances.files import instance_from_json, instance_to_json
from instances.instance import Instance
from instances.objective import Reference, parse_objective
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from solvers.core.interface import Problem
from tests.cases import CASES, CLOSE, FEASIBLE, Case, named
from tests.random_instances import random_instance
from tests.random_plans import random_plan
from tests.solving import outcome_of

SEEDS = range(25)
REFERENCE = Reference(time_s=3.0, energy_j=700.0)  # fixed: that of the uniform plan depends on the listed order


def reordered(instance: Instance, order: list[int]) -> Instance:
    """The same cluster with its groups listed in another order."""
    data = instance_to_json(instance)
    data["groups"] = [data["groups"][k] for k in order]
    _select(data, order)
    return instance_from_json(data, "reordered")


def renamed(instance: Instance) -> Instance:
    """The same cluster under other names, of the groups as of all else."""
    data = instance_to_json(instance)
    data["name"] = "another"
    for number, group in enumerate(data["groups"]):
        group["name"] = f"z{97 - number}"
        group["gpu"] = "unknown"
    for group in data["groups"]:
        group["region"] = f"region {group['region']}"
    if "sites" in data:
        data["sites"] = {f"region {name}": site for name, site in reversed(data["sites"].items())}
    return instance_from_json(data, "renamed")


def split(instance: Instance, position: int) -> Instance:
    """The same cluster with one GPU of a group made a group of its own, listed last."""
    data = instance_to_json(instance)
    group = data["groups"][position]
    assert group["count"] > 1
    data["groups"].append({**group, "name": f"{group['name']} alone", "count": 1})
    group["count"] -= 1
    _select(data, [*range(len(instance.groups)), position])
    return instance_from_json(data, "split")


def _select(data: dict[str, Any], order: list[int]) -> None:
    network = data["network"]
    for field, matrix in network.items():
        network[field] = [[matrix[k][j] for j in order] for k in order]


def variants(instance: Instance) -> list[Instance]:
    """Reversed, shuffled, renamed and, wherever there is a group of two or more, split."""
    order = list(range(len(instance.groups)))
    shuffled = order.copy()
    random.Random(instance.name).shuffle(shuffled)
    apart = [split(instance, k) for k, group in enumerate(instance.groups) if group.count > 1]
    return [reordered(instance, order[::-1]), reordered(instance, shuffled), renamed(instance), *apart]


def objectives(instance: Instance) -> list[str]:
    """All kinds; the caps lie between the optima of time and energy, so that they bind."""
    time, energy = (optimum(instance, name) for name in ("time", "energy"))
    figures = [
        figure for figure in ("carbon", "cost") if all(_figure(instance, g.region, figure) for g in instance.groups)
    ]
    if time.evaluation is None or energy.evaluation is None:
        return ["time", "energy", *figures]
    middle = (time.evaluation.time_s + energy.evaluation.time_s) / 2
    most = (time.evaluation.energy_j + energy.evaluation.energy_j) / 2
    return ["time", "energy", f"energy@{middle!r}", f"time@{most!r}", "weighted:0.3", *figures]


def _figure(instance: Instance, region: str, figure: str) -> float | None:
    site = (instance.sites or {}).get(region)
    return None if site is None else site.carbon if figure == "carbon" else site.price


def optimum(instance: Instance, objective: str) -> Verdict:
    """The best of all plans, by enumeration."""
    problem = Problem(instance, parse_objective(objective).goal(REFERENCE))
    return judge(problem, outcome_of("brute", problem))


def front(instance: Instance) -> list[tuple[float, float]]:
    found = optimum(instance, "front").front or ()
    return [(point.evaluation.time_s, point.evaluation.energy_j) for point in found]


def same_optima(instance: Instance) -> None:
    for objective in objectives(instance):
        expected = optimum(instance, objective)
        for other in variants(instance):
            found = optimum(other, objective)
            assert found.status is expected.status, f"{objective} of {other.name}"
            assert found.value == (expected.value and pytest.approx(expected.value, rel=CLOSE, abs=0))
    points = front(instance)
    for other in variants(instance):
        assert front(other) == [pytest.approx(point, rel=CLOSE, abs=0) for point in points]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_optimum_depends_on_how_a_random_cluster_is_listed(seed: int) -> None:
    same_optima(random_instance(seed, gpus=4))


@pytest.mark.parametrize("case", **named(CASES))
def test_no_optimum_of_a_known_case_depends_on_how_it_is_listed(case: Case) -> None:
    same_optima(case.instance)


def test_the_variants_cover_groups_of_two() -> None:
    assert any(group.count == 2 for case in FEASIBLE for group in case.instance.groups)
    instance = next(case.instance for case in FEASIBLE if any(group.count == 2 for group in case.instance.groups))
    apart = variants(instance)[-1]
    assert len(apart.groups) == len(instance.groups) + 1
    assert apart.gpus == instance.gpus


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_costs_the_same_to_the_referee_however_the_groups_are_listed(seed: int) -> None:
    instance = random_instance(seed)
    order = list(range(len(instance.groups)))[::-1]
    other = reordered(instance, order)
    for number in range(5):
        plan = random_plan(instance, number)
        moved = type(plan)(
            plan.micro_batch,
            plan.layers,
            tuple(tuple(gpu._replace(group=order.index(gpu.group)) for gpu in row) for row in plan.pipelines),
        )
        assert sorted(violations(other, moved)) == sorted(violations(instance, plan))
        if not violations(instance, plan):
            assert evaluate(other, moved).time_s == pytest.approx(evaluate(instance, plan).time_s, rel=CLOSE)
            assert evaluate(other, moved).energy_j == pytest.approx(evaluate(instance, plan).energy_j, rel=CLOSE)
