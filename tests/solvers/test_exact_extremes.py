"""The exact methods where floating point is worst: incumbents, links and GPUs that are many powers of ten apart."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.runs.judge import judge
from instances.files import instance_from_json, read_instance
from instances.instance import SCHEMA, Instance, Model, Training
from instances.objective import CAP_SLACK, Goal, parse_objective
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.seeds import stream
from instances.workload import Workload
from solvers.brute import Brute
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Status
from solvers.core.registry import make_solver
from solvers.exact import prove
from solvers.exact.bounded_costs import BoundedCosts
from solvers.exact.grid_bounds import grid_bounds
from solvers.exact.node import Node
from solvers.exact.relaxation import tighten_node
from tests.editing import changed
from tests.random_instances import random_instance
from tests.solvers.test_bounds import best_on

DATA = Path(__file__).parent.parent / "data"
ROUNDING = 1e-9
POOLS = 2000
METHODS: list[tuple[str, dict[str, str]]] = [("cpsat", {}), ("milp", {}), ("milp", {"backend": "cbc"})]
STARTS = ("none", "megatron", "none", "megatron", "memetic")


def extreme_pool(seed: int) -> Instance:
    """3 to 5 GPUs of which some are 1e-3 to 1e-14 as fast as the others, with links from 1 to 1e-6."""
    draw = stream("extreme pool", seed)
    sizes = [draw.choice((1, 1, 1, 2)) for _ in range(draw.randint(2, 4))]
    while not 3 <= sum(sizes) <= 5:
        sizes = [draw.choice((1, 1, 1, 2)) for _ in range(draw.randint(2, 4))]
    model = {
        "name": "x",
        "layers": draw.randint(2, 6),
        "hidden": 4,
        "heads": 1,
        "kv_heads": 1,
        "ffn": draw.choice((1, 8)),
        "gated_ffn": False,
        "vocab": draw.choice((1, 1, 64)),
        "sequence": 1,
        "tied_embeddings": False,
    }
    training = {
        "global_batch": draw.choice((2, 3, 4, 6)),
        "micro_batches": [1, 2] if draw.random() < 0.3 else [1],
        "schedule": "gpipe",
        "recompute": "none",
        "state_bytes_per_parameter": 16,
        "gradient_bytes": 2,
    }
    groups = [_group(draw, f"g{k}", count, _needs(model, training)) for k, count in enumerate(sizes)]
    return instance_from_json(
        {
            "schema": SCHEMA,
            "name": f"extreme-{seed}",
            "model": model,
            "training": training,
            "groups": groups,
            "network": _network(draw, len(sizes)),
        },
        f"extreme pool {seed}",
    )


def _needs(model: dict[str, Any], training: dict[str, Any]) -> list[float]:
    """Bytes of an inner stage by number of blocks."""
    work = Workload.of(Model(**model), Training(**{**training, "micro_batches": tuple(training["micro_batches"])}))
    return [work.stage_bytes(held, True, True, replicas=1, micro_batch=1) for held in range(1, model["layers"] + 1)]


def _group(draw: random.Random, name: str, count: int, needs: list[float]) -> dict[str, Any]:
    active = draw.choice((100.0, 100.0 * 10 ** draw.uniform(-3, 3)))
    return {
        "name": name,
        "gpu": "x",
        "region": "s",
        "count": count,
        "flops": draw.uniform(100, 500) * (10 ** -draw.uniform(3, 14) if draw.random() < 0.35 else 1.0),
        "memory": draw.choice((draw.choice(needs), needs[-1])) * draw.uniform(1.0, 1.3),
        "power_active": active,
        "power_idle": active * draw.choice((0.1, 1.0, 1e-6, draw.random())),
    }


def _network(draw: random.Random, size: int) -> dict[str, Any]:
    def rows(entry: Any) -> list[list[float]]:
        return [[entry() for _ in range(size)] for _ in range(size)]

    network: dict[str, Any] = {
        "latency": rows(lambda: draw.choice((0.0, 0.0, 10 ** draw.uniform(-9, 1)))),
        "bandwidth": rows(lambda: draw.choice((8e3, 80.0, 10 ** draw.uniform(0, 4), 8e3 * 10 ** -draw.uniform(1, 6)))),
    }
    if draw.random() < 0.4:
        network["energy_per_byte"] = rows(lambda: draw.choice((0.0, 10 ** draw.uniform(-9, 6))))
    return network


def questions(seed: int, pool: Instance) -> list[tuple[str, Goal]]:
    """Two objectives with caps that are near, or 1e3 to 1e16 times away from what the fastest plan needs."""
    draw = stream("extreme questions", seed)
    fastest = Brute().solve(Problem(pool, Goal(time_weight=1.0)), Budget(), Monitor()).plan
    if fastest is None:
        return [("time", Goal(time_weight=1.0))]
    cost = evaluate(pool, fastest)
    away = [draw.choice((10 ** draw.uniform(3, 16), draw.uniform(0.9, 2.0))) for _ in range(2)]
    texts = [f"energy@{min(1e30, cost.time_s * away[0])!r}", f"time@{min(1e30, cost.energy_j * away[1])!r}"]
    texts += ["time", "energy"]
    mixed = Goal(time_weight=1 / cost.time_s, energy_weight=10 ** draw.uniform(-12, 3) / cost.energy_j)
    found = [(text, parse_objective(text).goal(None)) for text in texts] + [("weighted", mixed)]
    return draw.sample(found, 2)


def hopeless_start(seed: int, problem: Problem) -> Plan | None:
    """The worst of some random plans: often as far from the optimum as the pool allows."""
    draw = stream("hopeless start", seed)
    gpus = [k for k, group in enumerate(problem.instance.groups) for _ in range(group.count)]
    worst: tuple[float, Plan | None] = (0.0, None)
    for _ in range(60):
        replicas, stages, size = draw.choice(problem.tables.grids())
        order = draw.sample(gpus, replicas * stages)
        ends = [0, *sorted(draw.sample(range(1, problem.tables.layers), stages - 1)), problem.tables.layers]
        layers = [after - before for before, after in itertools.pairwise(ends)]
        plan = Plan.from_groups(size, layers, [order[r * stages : (r + 1) * stages] for r in range(replicas)])
        worst = max(worst, (problem.value(plan) or 0.0, plan), key=lambda found: found[0])
    return worst[1]


def wrong(problem: Problem, truth: float | None, outcome: Outcome, bounds: list[float], cut: bool) -> str | None:
    """What an outcome claims that is not so; None if it is honest."""
    value = None if outcome.plan is None else problem.value(outcome.plan)
    least = math.inf if truth is None else truth
    claimed = [*bounds, *([] if outcome.bound is None else [outcome.bound])]
    given = math.inf if problem.start is None else problem.value(problem.start) or math.inf
    said = {
        "distrusts its proof": "distrusted" in outcome.details,
        "calls infeasible what has a plan": outcome.status is Status.INFEASIBLE and truth is not None,
        "has a bound above the truth": any(bound > least * (1 + ROUNDING) for bound in claimed),
        "has a false optimum": outcome.status is Status.OPTIMAL and (value or 0.0) > least * (1 + 2e-6),
        "has a plan that the referee refuses": outcome.plan is not None and value is None,
        "lost its plan": (math.inf if value is None else value) > given,
        "does not end": not cut and outcome.status not in (Status.OPTIMAL, Status.INFEASIBLE),
    }
    found = [text for text, so in said.items() if so]
    return f"{', '.join(found)}: {outcome.status} {value!r}, bounds {claimed[-1:]}, truth {truth!r}" if found else None


def attack(seed: int) -> list[str]:
    """Both methods on one pool, whole and searched, cut off and not; all that is wrong."""
    pool, findings = extreme_pool(seed), []
    for number, (text, goal) in enumerate(questions(seed, pool)):
        bare = Problem(pool, goal)
        best = Brute().solve(bare, Budget(), Monitor()).plan
        truth = None if best is None else bare.value(best)
        started = Problem(pool, goal, hopeless_start(seed, bare))
        for i, (name, options) in enumerate(METHODS):
            start = STARTS[(seed + number + i) % len(STARTS)]
            runs = [
                (bare, {"start": start}, Budget(seed=seed)),
                (started, {"start": "none"}, Budget(seed=seed)),
                (started, {"start": "none"}, Budget(seed=seed, evaluations=1 + seed % 4)),
                ((bare, started)[seed % 2], {"start": "none", "whole": "true"}, Budget(seed=seed, seconds=3.0)),
            ]
            for problem, more, budget in runs:
                bounds: list[float] = []
                monitor = Monitor(on_bound=lambda bound, _, kept=bounds: kept.append(bound))  # type: ignore[misc]
                outcome = make_solver(name, {**options, **more}).solve(problem, budget, monitor)
                cut = budget.evaluations is not None or budget.seconds is not None
                finding = wrong(problem, truth, outcome, bounds, cut)
                if finding:
                    given = "" if problem.start is None else ", hopeless start"
                    findings.append(f"pool {seed}, {text}, {name} {options} {more}{given}, {budget}: {finding}")
    return findings


@pytest.mark.parametrize(
    "seed",
    # 141: HiGHS with all its presolve rules calls a feasible model infeasible.
    [*range(3), 141, *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(3, POOLS) if seed != 141)],
)
def test_nothing_false_is_claimed_on_an_extreme_pool(seed: int) -> None:
    assert attack(seed) == []


@pytest.mark.parametrize(("name", "options"), METHODS)
@pytest.mark.parametrize("start", ["none", "megatron"])
def test_an_incumbent_far_away_makes_no_false_optimum(name: str, options: dict[str, str], start: str) -> None:
    """Multipliers as large as the way to the incumbent, 1e8 times the optimum, once cancelled to a bound above it."""
    pool = read_instance(DATA / "cancelling-prices.json")
    problem = Problem(pool, parse_objective("energy@1e16").goal(None))
    outcome = make_solver(name, {**options, "start": start}).solve(problem, Budget(), Monitor())
    assert wrong(problem, 3611.701127813688, outcome, [], False) is None


@pytest.mark.parametrize(("name", "options"), METHODS)
def test_weights_of_pipelines_stay_numbers_where_squares_of_costs_underflow(name: str, options: dict[str, str]) -> None:
    """Squares of deviations below 1e-308 once made weights that were no numbers, and closed grids with plans."""
    pool = read_instance(DATA / "underflowing-squares.json")
    problem = Problem(pool, Goal(time_weight=1e-156, energy_weight=1.0))
    outcome = make_solver(name, {**options, "start": "megatron"}).solve(problem, Budget(), Monitor())
    best = Brute().solve(problem, Budget(), Monitor()).plan
    assert best is not None
    truth = problem.value(best)
    assert truth == pytest.approx(994.29472, rel=1e-7)
    assert wrong(problem, truth, outcome, [], False) is None


@pytest.mark.parametrize("share", [0.2, 0.98, 1 - 1e-5, 1.0, 1 + 1e-5, 1.02, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_all_methods_agree_within_the_slack_of_a_cap(seed: int, share: float) -> None:
    """A time cap just below the least time: within the referee's slack there is a plan, beyond it there is none."""
    pool = random_instance(seed)
    fastest = Brute().solve(Problem(pool, Goal(time_weight=1.0)), Budget(), Monitor()).plan
    assert fastest is not None
    cap = evaluate(pool, fastest).time_s / (1 + share * CAP_SLACK)
    problem = Problem(pool, Goal(energy_weight=1.0, time_cap=cap))
    expected = Status.INFEASIBLE if problem.value(fastest) is None else Status.OPTIMAL
    assert share == 1 or (expected is Status.OPTIMAL) == (share < 1)
    for solver in ("brute", "cpsat", "milp"):
        assert make_solver(solver).solve(problem, Budget(), Monitor()).status is expected


@pytest.mark.parametrize("seed", range(8))
def test_sites_without_carbon_are_free_and_all_methods_agree(seed: int) -> None:
    pool = random_instance(seed)
    regions = sorted({group.region for group in pool.groups})
    sites = {
        region: {"carbon": 0 if n % 2 == seed % 2 and len(regions) > 1 else 100} for n, region in enumerate(regions)
    }
    problem = Problem(changed(pool, {"sites": sites}), parse_objective("carbon").goal(None))
    best = Brute().solve(problem, Budget(), Monitor()).plan
    truth = None if best is None else problem.value(best)
    for name, options in [*METHODS, *((name, {**options, "whole": "true"}) for name, options in METHODS)]:
        outcome = make_solver(name, options).solve(problem, Budget(), Monitor())
        assert wrong(problem, truth, outcome, [], False) is None


@pytest.mark.parametrize("scale", [1e3, 1e8, 1e12, 1e16])
@pytest.mark.parametrize("seed", range(6))
def test_a_bound_is_lowered_by_all_that_its_multipliers_may_cancel(seed: int, scale: float) -> None:
    """Whatever the multipliers: each grid's bound stays below its best plan, and no choice of that plan is excluded."""
    draw = stream("huge multipliers", seed)
    problem = Problem(random_instance(seed), Goal(time_weight=1e-3, energy_weight=1.0))
    for cheap in grid_bounds(problem.tables, problem.goal):
        plan = best_on(problem, cheap.grid)
        value = None if plan is None else problem.value(plan)
        if plan is None or value is None:
            continue
        node = Node.root(BoundedCosts(problem.tables, problem.goal, cheap.grid, cheap))
        huge = value * scale * np.array([draw.random() for _ in problem.instance.groups])
        for name in ("value", "all times", *(f"time {r}" for r in range(cheap.grid.replicas))):
            pipelines = 1 if name.startswith("time ") else cheap.grid.replicas
            node.multipliers[name] = huge, np.full(pipelines, 1 / pipelines)
        target = value * (1 + 1e-9)
        assert tighten_node(node, target, 30, lambda _: None)
        assert node.value <= value
        assert all(
            any(node.can_serve[r, s, row[s], plan.layers[s]] for r in range(plan.replicas))
            for row in plan.groups
            for s in range(plan.stages)
        )


@pytest.mark.parametrize("name", ["cpsat", "milp"])
def test_a_contradiction_keeps_the_plan_and_claims_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cheap bounds twice too high: the run ends with the plan it had, no bound, and says what it distrusts."""
    problem = Problem(random_instance(3), Goal(time_weight=1.0))
    honest = grid_bounds(problem.tables, problem.goal)
    false = [replace(bound, value=None if bound.value is None else 100 * bound.value) for bound in honest]
    monkeypatch.setattr(prove, "grid_bounds", lambda *_: false)
    outcome = make_solver(name, {"start": "megatron"}).solve(problem, Budget(), Monitor())
    assert outcome.status is Status.FEASIBLE
    assert outcome.plan is not None
    assert outcome.bound is None
    assert "the cheap bound claims" in outcome.details["distrusted"]
    assert "grids" not in outcome.details
    verdict = judge(problem, outcome)
    assert (verdict.status, verdict.bound) == (Status.FEASIBLE, None)
