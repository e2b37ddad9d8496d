"""What solvers and models get wrong, held off: false claims, rounding, rows that are too large, limits."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace
from pathlib import Path

import pulp
import pytest
from ortools.sat.python import cp_model

from instances.files import read_instance
from instances.objective import Goal
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.tables import Grid
from solvers.brute import Brute
from solvers.core.deadline import Deadline, OutOfTime
from solvers.core.interface import Budget, Monitor, Problem, Status
from solvers.core.registry import make_solver
from solvers.exact.bounded_costs import BoundedCosts
from solvers.exact.branch_and_bound import BranchAndBound
from solvers.exact.cpsat_model.assignment import Assignment
from solvers.exact.cpsat_model.model import _CLAIM as CPSAT_CLAIM
from solvers.exact.cpsat_model.model import CpSatModel
from solvers.exact.cpsat_model.rows import LARGEST_ROW, add_row, rounded, units_for
from solvers.exact.grid_bounds import grid_bounds
from solvers.exact.grid_costs import GridCosts
from solvers.exact.leaf_model import Answer, Claim, InconsistentProofError, Model
from solvers.exact.milp_model import backends
from solvers.exact.node import Node
from solvers.exact.propagation import limit_steps, limit_sync
from solvers.exact.subproblem import Subproblem
from tests.editing import hand_instance
from tests.random_instances import random_instance

DATA = Path(__file__).parent.parent / "data"

TIME = Goal(time_weight=1.0)


def best_plan(problem: Problem) -> Plan:
    """By enumeration."""
    plan = Brute().solve(problem, Budget(), Monitor()).plan
    assert plan is not None
    return plan


def search_with(problem: Problem, model: Model) -> BranchAndBound:
    """A search whose parts are left to `model`."""
    return BranchAndBound(problem, grid_bounds(problem.tables, problem.goal), model, Deadline(), Monitor())


@dataclass(frozen=True)
class Liar:
    """A model that answers whatever it was told to."""

    answer: Answer

    def solve(self, subproblem: Subproblem, target: float, seconds: float | None) -> Answer:
        """The answer."""
        return self.answer


# Two claims that cannot both be true


def test_a_bound_above_the_models_own_plan_is_a_contradiction() -> None:
    problem = Problem(random_instance(3), TIME)
    plan = best_plan(problem)
    value = problem.value(plan)
    assert value is not None
    search = search_with(problem, Liar(Answer(Claim.BEST, plan, bound=1.01 * value)))
    node = _node_with(problem, plan)
    with pytest.raises(InconsistentProofError, match=rf"bound of .*{value!r}"):
        search._solve_leaf(node, search._records[node.costs.grid])


def test_a_plan_that_the_referee_refuses_is_a_contradiction() -> None:
    problem = Problem(random_instance(3), TIME)
    node = _node_with(problem, best_plan(problem))
    layers = problem.instance.model.layers
    wrong = Plan.from_groups(problem.instance.training.micro_batches[0], [layers + 1], [[0]])
    search = search_with(problem, Liar(Answer(Claim.BEST, wrong)))
    with pytest.raises(InconsistentProofError, match="referee refuses"):
        search._solve_leaf(node, search._records[node.costs.grid])


def test_a_cheap_bound_above_a_known_plan_is_a_contradiction() -> None:
    problem = Problem(random_instance(3), TIME)
    plan = best_plan(problem)
    value = problem.value(plan)
    assert value is not None
    bounds = [replace(bound, value=2 * value) for bound in grid_bounds(problem.tables, TIME)]
    search = BranchAndBound(problem, bounds, Liar(Answer(Claim.NONE)), Deadline(), Monitor())
    search.incumbent.offer(plan)
    with pytest.raises(InconsistentProofError, match=f"the cheap bound claims a bound of {2 * value!r}.*{value!r}"):
        search.run()


def test_sixteen_pipelines_that_match_no_ranges_are_told_at_once() -> None:
    """Every pipeline fits all ranges but the last: there is no matching, and trying all orders would take days."""
    costs = _many_pipelines(16)
    node = Node.root(costs)
    plan = Plan.from_groups(costs.grid.micro_batch, [costs.tables.layers], [[0]] * 16)
    node.low[:], node.high[:], node.sync_low, node.sync_high = 0.0, float("inf"), 0.0, float("inf")
    assert node.holds(plan)
    node.high[-2:] = 0.0
    assert not node.holds(plan)


def test_calling_a_grid_impossible_that_has_a_plan_is_a_contradiction() -> None:
    problem = Problem(random_instance(3), TIME)
    bounds = [replace(bound, value=None) for bound in grid_bounds(problem.tables, TIME)]
    search = BranchAndBound(problem, bounds, Liar(Answer(Claim.NONE)), Deadline(), Monitor())
    search.incumbent.offer(best_plan(problem))
    with pytest.raises(InconsistentProofError):
        search.run()


def test_a_solver_that_never_finishes_proves_nothing() -> None:
    """Every node is left open: the outcome keeps the start, and its bound is no better than the relaxation's."""
    problem = Problem(random_instance(3), TIME)
    plan = best_plan(problem)
    clock = Deadline(evaluations=1)
    search = BranchAndBound(problem, grid_bounds(problem.tables, TIME), Liar(Answer(Claim.STOPPED)), clock, Monitor())
    search.incumbent.offer(plan)
    outcome = search.run()
    assert outcome.status is Status.FEASIBLE
    assert outcome.limit_reached
    assert outcome.bound is not None
    value = problem.value(plan)
    assert value is not None
    assert outcome.bound <= value


# Whole numbers


def test_rounded_costs_never_claim_more_than_the_truth() -> None:
    """3 x 1.4 = 4.2 and 2 x 1.6 = 3.2: rounded to the nearest they would be 3 and 4, and 3 is a false optimum."""
    model = cp_model.CpModel()
    a, b = model.new_int_var(0, 3, "a"), model.new_int_var(0, 2, "b")
    assert rounded([(1.4, a), (1.6, b)], 1.0) == [(1, a), (1, b)]
    for units in (1.0, 7.0, 1e3, 1e6):
        cheap, dear = (cost for cost, _ in rounded([(1.4, a), (1.6, b)], units))
        assert min(3 * cheap, 2 * dear) / units <= 3.2


def test_a_row_past_two_to_the_31_is_refused() -> None:
    model = cp_model.CpModel()
    flags = [model.new_bool_var(f"x{i}") for i in range(4)]
    with pytest.raises(ArithmeticError, match=r"2\*\*31"):
        add_row(model, model.new_int_var(0, 2**40, "cost"), [(2**29, x) for x in flags])


def test_units_keep_every_row_below_the_limit() -> None:
    for width, sums in ((1.0, [1e9]), (1e-9, [5.0]), (0.0, [3.0]), (1e6, [])):
        units = units_for(width, sums)
        assert units > 0
        assert all(total * units <= LARGEST_ROW for total in sums)


def _small_model(seed: int, scale: int) -> tuple[list[list[int]], list[int], list[int], int]:
    draw = random.Random(seed)
    weights = [[draw.randrange(1, 10) * scale // 3 for _ in range(6)] for _ in range(3)]
    costs = [draw.randrange(1, 20) for _ in range(6)]
    return weights, [sum(row) // 2 for row in weights], costs, draw.randrange(1, 30)


def _true_optimum(seed: int, scale: int) -> int | None:
    weights, needs, costs, fine = _small_model(seed, scale)
    values = []
    for xs in itertools.product((0, 1), repeat=6):
        kept = [
            sum(w * x for w, x in zip(row, xs, strict=True)) >= need for row, need in zip(weights, needs, strict=True)
        ]
        if sum(xs[:3]) <= 1 and any(kept):
            values.append(sum(c * x for c, x in zip(costs, xs, strict=True)) + fine * (3 - sum(kept)))
    return min(values, default=None)


def _claimed_optimum(seed: int, scale: int, work_limit: int | None) -> float | None:
    weights, needs, costs, fine = _small_model(seed, scale)
    model = cp_model.CpModel()
    xs = [model.new_bool_var(f"x{i}") for i in range(6)]
    kept = [model.new_bool_var(f"kept{i}") for i in range(3)]
    model.add_at_most_one(xs[:3])
    for row, need, flag in zip(weights, needs, kept, strict=True):
        model.add(cp_model.LinearExpr.weighted_sum(xs, row) >= need).only_enforce_if(flag)
    model.add(sum(kept) >= 1)
    model.minimize(cp_model.LinearExpr.weighted_sum(xs, costs) + fine * (3 - sum(kept)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if work_limit is not None:
        solver.parameters.presolve_inclusion_work_limit = work_limit
    status = solver.solve(model)
    return solver.objective_value if status == cp_model.OPTIMAL else None


def test_enforced_rows_within_our_limit_are_solved_right() -> None:
    """or-tools issue 5293: past 2**31 the answer can be wrong. Below it, and with our setting, it is right."""
    scale = 10**6
    for seed in range(40):
        weights, _, _, _ = _small_model(seed, scale)
        assert max(sum(row) for row in weights) < 2**31
        assert _claimed_optimum(seed, scale, 0) == _true_optimum(seed, scale)


def test_the_step_behind_the_wrong_optimum_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    solve = cp_model.CpSolver.solve

    def spy(solver: cp_model.CpSolver, model: cp_model.CpModel) -> object:
        seen.append(solver.parameters.presolve_inclusion_work_limit)
        assert solver.parameters.relative_gap_limit == 0
        assert solver.parameters.absolute_gap_limit == 0
        return solve(solver, model)

    monkeypatch.setattr(cp_model.CpSolver, "solve", spy)
    problem = Problem(random_instance(3), TIME)
    CpSatModel(threads=1, seed=0).solve(_node_with(problem, best_plan(problem)), float("inf"), None)
    assert seen == [0]


def test_an_invalid_model_is_our_bug_and_raises() -> None:
    with pytest.raises(KeyError):
        CPSAT_CLAIM[cp_model.MODEL_INVALID]
    with pytest.raises(KeyError):
        backends._CLAIM[pulp.LpSolutionUnbounded]


def test_building_a_model_stops_at_the_deadline() -> None:
    with pytest.raises(OutOfTime):
        Deadline(0.0).check()
    problem = Problem(random_instance(3), TIME)
    answer = CpSatModel(threads=1, seed=0).solve(_node_with(problem, best_plan(problem)), float("inf"), 0.0)
    assert answer.claim is Claim.STOPPED
    assert answer.plan is None
    assert answer.bound is None


def _many_pipelines(replicas: int) -> BoundedCosts:
    """One-stage pipelines on GPUs of one group."""
    first = random_instance(2)
    group = first.groups[0].model_copy(update={"count": replicas, "memory": 1e12})
    one = tuple(row[:1] for row in first.network.latency[:1]), tuple(row[:1] for row in first.network.bandwidth[:1])
    network = first.network.model_copy(update={"latency": one[0], "bandwidth": one[1], "energy_per_byte": None})
    training = first.training.model_copy(update={"global_batch": replicas, "micro_batches": (1,)})
    pool = first.model_copy(update={"groups": (group,), "network": network, "training": training, "sites": None})
    problem = Problem(pool, TIME)
    (bound,) = [bound for bound in grid_bounds(problem.tables, TIME) if bound.grid == (replicas, 1, 1)]
    return BoundedCosts(problem.tables, TIME, bound.grid, bound)


def _node_with(problem: Problem, plan: Plan) -> Node:
    """The whole grid of a plan, as a node for a model."""
    bounds = {tuple(bound.grid): bound for bound in grid_bounds(problem.tables, problem.goal)}
    bound = bounds[plan.replicas, plan.stages, plan.micro_batch]
    node = Node.root(BoundedCosts(problem.tables, problem.goal, bound.grid, bound))
    assert limit_steps(node)
    assert limit_sync(node, float("inf"))
    node.final = True
    return node


@pytest.mark.parametrize("name", ["cpsat", "milp"])
def test_a_range_that_vanishes_beside_its_base_rules_nothing_out(name: str) -> None:
    """Five GPUs whose own energy is lost in the last digits of that of their links (4.9e13 J)."""
    pool = read_instance(DATA / "vanishing-range.json")
    fastest = Brute().solve(Problem(pool, TIME), Budget(), Monitor()).plan
    assert fastest is not None
    problem = Problem(pool, Goal(energy_weight=1.0, time_cap=evaluate(pool, fastest).time_s))
    truth = Brute().solve(problem, Budget(), Monitor()).plan
    assert truth is not None
    for start in ("megatron", "none"):
        outcome = make_solver(name, {"start": start}).solve(problem, Budget(), Monitor())
        assert outcome.status is Status.OPTIMAL
        assert outcome.plan is not None
        assert problem.value(outcome.plan) == pytest.approx(problem.value(truth), rel=1e-6)


def test_the_plans_to_start_from_are_reported_before_the_bounds_of_the_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt while the bounds of a large pool are worked out keeps a plan."""

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("solvers.exact.prove.grid_bounds", interrupted)
    problem, heard = Problem(hand_instance(), TIME), list[Plan]()
    for start in ("megatron", "memetic"):
        with pytest.raises(KeyboardInterrupt):
            make_solver("cpsat", {"start": start}).solve(problem, Budget(seconds=1), Monitor(heard.append))
        assert heard
        heard.clear()
    # The plans of the solver to start from are heard while it runs.
    monkeypatch.setattr("solvers.exact.initial_plans.best_uniform", lambda *arguments: (None, 0))
    memetic, plan = make_solver("memetic"), Plan.from_groups(1, (1, 1), [[0, 1]])

    def stopped(self: object, problem: object, budget: Budget, monitor: Monitor) -> None:
        monitor.on_plan(plan)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(memetic), "solve", stopped)
    with pytest.raises(KeyboardInterrupt):
        make_solver("cpsat").solve(problem, Budget(seconds=1), Monitor(heard.append))
    assert heard == [plan]


def test_the_row_of_a_power_cap_stays_below_what_cpsat_can_be_trusted_with() -> None:
    """64 GPUs and 48 layers: 23,040 terms, whose 2**20 units a cap would add up past 2**31."""
    groups = [
        {"name": f"g{k}", "gpu": "x", "region": "s", "count": 1, "flops": 1e6 * (1 + 0.1 * k), "memory": 1e12}
        | {"power_active": 100.0 + k, "power_idle": 10.0}
        for k in range(64)
    ]
    free = [[0.01] * 64] * 64
    changes = {
        "groups": groups,
        "network": {"latency": free, "bandwidth": [[1e5] * 64] * 64},
        "sites": {"s": {"power_cap": 990.0}},
        "model__layers": 48,
        "training__global_batch": 16,
        "training__micro_batches": [1],
    }
    problem = Problem(hand_instance(**changes), Goal(time_weight=1.0))
    model = cp_model.CpModel()
    Assignment(model, Subproblem.plain(GridCosts(problem.tables, problem.goal, Grid(2, 4, 1))), Deadline())
    sums = [sum(map(abs, row.linear.coeffs)) for row in model.proto.constraints if row.has_linear()]
    assert 2**29 < max(sums) < 2**31
