"""The models' costs against the referee: where only one plan is left, a model must say what the referee says."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from instances.instance import Instance
from instances.objective import Goal, Reference, parse_objective
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from instances.seeds import stream
from solvers.core.interface import Problem
from solvers.exact.bounded_costs import BoundedCosts
from solvers.exact.cpsat_model.model import CpSatModel
from solvers.exact.grid_bounds import grid_bounds
from solvers.exact.leaf_model import Claim, Model
from solvers.exact.milp_model.model import MilpModel
from solvers.exact.node import Node
from solvers.exact.propagation import limit_steps
from solvers.exact.relaxation import tighten_node
from tests.random_instances import random_instance, random_objectives

MODELS: list[Model] = [CpSatModel(threads=1, seed=0), MilpModel("highs", threads=1, seed=0)]
SEEDS = [*range(12), *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(12, 300))]


def random_plan(instance: Instance, seed: int) -> Plan:
    """A plan that uses each GPU once at most; with room for all and no power caps it is feasible."""
    draw = stream("random plan", seed)
    gpus = [k for k, group in enumerate(instance.groups) for _ in range(group.count)]
    training = instance.training
    shapes = [
        (replicas, stages, size)
        for replicas in range(1, len(gpus) + 1)
        for stages in range(1, min(instance.model.layers, len(gpus) // replicas) + 1)
        for size in training.micro_batches
        if training.global_batch % (replicas * size) == 0
    ]
    replicas, stages, size = shapes[int(draw.random() * len(shapes))]
    order = sorted(gpus, key=lambda _: draw.random())
    cuts = sorted(range(1, instance.model.layers), key=lambda _: draw.random())[: stages - 1]
    ends = [0, *sorted(cuts), instance.model.layers]
    layers = [after - before for before, after in pairwise(ends)]
    return Plan.from_groups(size, layers, [order[r * stages : (r + 1) * stages] for r in range(replicas)])


def ample_instance(seed: int) -> Instance:
    """A random instance of 6 to 8 GPUs whose links are slow and lopsided, without limits that could bind."""
    instance = random_instance(seed, 6 + seed % 3)
    draw = stream("lopsided", seed)
    size = len(instance.groups)
    bandwidth = tuple(tuple(1e5 * 50 ** draw.random() for _ in range(size)) for _ in range(size))
    network = instance.network.model_copy(update={"bandwidth": bandwidth})
    groups = tuple(group.model_copy(update={"memory": 1e12}) for group in instance.groups)
    sites = {name: site.model_copy(update={"power_cap": None}) for name, site in (instance.sites or {}).items()}
    return instance.model_copy(update={"network": network, "groups": groups, "sites": sites})


def grid_node(problem: Problem, grid: tuple[int, int, int]) -> Node:
    """All plans of a grid."""
    (bound,) = [bound for bound in grid_bounds(problem.tables, problem.goal) if bound.grid == grid]
    return Node.root(BoundedCosts(problem.tables, problem.goal, bound.grid, bound))


def only(problem: Problem, plan: Plan) -> Node:
    """The grid of a plan with nothing but the plan left to choose; its slowest steps are not known yet."""
    node = grid_node(problem, (plan.replicas, plan.stages, plan.micro_batch))
    node.low[:] = node.costs.bound.steps
    node.can_serve[:], node.can_flow[:] = False, False
    for r, row in enumerate(_by_forward_step(node.costs, plan)):
        for s, k in enumerate(row):
            node.can_serve[r, s, k, plan.layers[s]] = True
            if s + 1 < plan.stages:
                node.can_flow[r, s, k, row[s + 1]] = True
    return node


def _by_forward_step(costs: BoundedCosts, plan: Plan) -> list[tuple[int, ...]]:
    """Pipelines as a node lists them: the slowest forward step first."""

    def slowest(row: tuple[int, ...]) -> float:
        last = plan.stages - 1
        compute = [costs.forward[int(s == last), k, plan.layers[s]] for s, k in enumerate(row)]
        return float(max([*compute, *(costs.send[k, j] for k, j in pairwise(row))]))

    return sorted(plan.groups, key=slowest, reverse=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_model_of_one_plan_costs_what_the_referee_says(seed: int) -> None:
    instance = ample_instance(seed)
    for number in range(3):
        plan = random_plan(instance, 3 * seed + number)
        assert not violations(instance, plan)
        found = evaluate(instance, plan)
        reference = Reference(found.time_s, found.energy_j)
        for text in random_objectives(seed, 2 * found.time_s, 2 * found.energy_j):
            problem = Problem(instance, parse_objective(text).goal(reference))
            value = problem.value(plan)
            assert value is not None
            for model in MODELS:
                where = f"{model} with ample memory, instance {seed}, plan {number}, {text}"
                answer = model.solve(only(problem, plan), 1.1 * value, None)
                assert answer.claim is Claim.BEST, where
                assert answer.plan == plan, where
                assert answer.bound is not None, where
                assert answer.bound <= value * (1 + 1e-12), where
                assert answer.bound == pytest.approx(value, rel=2e-6), where


@pytest.mark.parametrize("seed", SEEDS)
def test_the_relaxation_of_one_plan_is_below_the_referee(seed: int) -> None:
    """With one pipeline it is exact; with several it knows the slowest, but not the whole of the exchange."""
    instance = ample_instance(seed)
    for number in range(5):
        plan = random_plan(instance, 5 * seed + number)
        problem = Problem(instance, Goal(time_weight=1.0))
        value = problem.value(plan)
        assert value is not None
        node = only(problem, plan)
        assert limit_steps(node)
        assert node.holds(plan)
        assert tighten_node(node, math.inf, 20, lambda _: None)
        assert node.value <= value * (1 + 1e-12)
        if plan.replicas == 1:
            assert node.value == pytest.approx(value, rel=1e-7)
        else:
            pipelines = value - evaluate(instance, plan).sync_s
            assert node.pipeline_s == pytest.approx(pipelines, abs=2e-8 * value)


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_at_the_target_is_not_below_it(model: Model) -> None:
    instance = ample_instance(2)
    plan = random_plan(instance, 5)
    problem = Problem(instance, Goal(time_weight=1.0))
    value = problem.value(plan)
    assert value is not None
    assert model.solve(only(problem, plan), 0.999 * value, None).claim is Claim.NONE
    assert model.solve(only(problem, plan), 1.001 * value, None).claim is Claim.BEST


@pytest.mark.parametrize("model", MODELS)
def test_a_forbidden_plan_is_not_found_again(model: Model) -> None:
    instance = ample_instance(2)
    plan = random_plan(instance, 5)
    problem = Problem(instance, Goal(time_weight=1.0))
    value = problem.value(plan)
    assert value is not None
    node = only(problem, plan)
    node.forbidden.append(plan)
    assert model.solve(node, 2 * value, None).claim is Claim.NONE


@pytest.mark.parametrize("model", MODELS)
def test_with_many_pipelines_every_plan_is_found_once(model: Model) -> None:
    """Eight single GPUs, seven pipelines of one stage: eight plans, whatever the order of their pipelines."""
    instance, size = ample_instance(2), 8
    first = instance.groups[0].model_copy(update={"count": 1})
    groups = tuple(first.model_copy(update={"name": f"g{k}"}) for k in range(size))
    latency = tuple(tuple(1e-3 * (1 + a + 2 * b) for b in range(size)) for a in range(size))
    bandwidth = tuple(tuple(1e6 for _ in range(size)) for _ in range(size))
    network = instance.network.model_copy(update={"latency": latency, "bandwidth": bandwidth, "energy_per_byte": None})
    training = instance.training.model_copy(update={"global_batch": (size - 1) * 2, "micro_batches": (1,)})
    pool = instance.model_copy(update={"groups": groups, "network": network, "training": training})
    problem = Problem(pool, Goal(time_weight=1.0))
    node = grid_node(problem, (size - 1, 1, 1))
    assert tighten_node(node, math.inf, 20, lambda _: None)
    while (answer := model.solve(node, math.inf, None)).plan is not None:
        assert answer.plan not in node.forbidden
        node.forbidden.append(answer.plan)
    assert answer.claim is Claim.NONE
    assert len(node.forbidden) == size
