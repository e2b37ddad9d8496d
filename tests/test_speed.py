"""How fast the hot paths are beside the kernel (`tests/solvers/test_kernel_speed.py`): `make bench`.

By default each runs once, untimed. Ratios between two commits: `python -m scripts.compare_speed BASE NEW`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.reporting.report import make_report
from bench.runs.store import Store
from instances.generator.family import generate
from instances.objective import Goal
from instances.referee.check import check
from instances.referee.evaluate import Evaluation
from instances.tables import Tables
from solvers.dtfm.cost import cost_parts
from solvers.dtfm.message_times import message_times_of
from solvers.exact.bounded_costs import BoundedCosts
from solvers.exact.cpsat_model.model import CpSatModel
from solvers.exact.grid_bounds import GridBound, grid_bounds
from solvers.exact.milp_model.model import MilpModel
from solvers.exact.node import Node
from solvers.exact.relaxation import tighten_node
from solvers.exact.subproblem import Subproblem
from tests.solving import outcome_of, problem_of

GOAL = Goal(time_weight=1.0)
LARGE = generate("dtfm", 64, 1, {"scenario": "worldwide", "gpu-mix": "mixed"})
SMALL = generate("uniform", 4, 1, {})
DEMO = Path(__file__).parent.parent / "results" / "reference" / "demo"


def widest(bounds: list[GridBound]) -> GridBound:
    """That of the grid with most GPUs; of several, the squarest."""
    fine = [bound for bound in bounds if bound.value is not None]
    return max(fine, key=lambda bound: (bound.grid.replicas * bound.grid.stages, -abs(bound.grid.replicas - 4)))


def test_referee(benchmark: Any) -> None:
    plan = outcome_of("megatron", problem_of(LARGE, "time")).plan
    assert plan is not None
    assert isinstance(benchmark(check, LARGE, plan, GOAL), Evaluation)


def test_tables(benchmark: Any) -> None:
    assert benchmark(Tables.of, LARGE).grids()


def test_cheap_bounds_of_all_grids(benchmark: Any) -> None:
    assert len(benchmark(grid_bounds, Tables.of(LARGE), GOAL)) > 100


def test_relaxation_of_a_grid(benchmark: Any) -> None:
    tables = Tables.of(LARGE)
    bound = widest(grid_bounds(tables, GOAL))
    costs = BoundedCosts(tables, GOAL, bound.grid, bound)
    target = 10 * bound.time_s
    assert benchmark(lambda: tighten_node(Node.root(costs), target, 50, lambda plan: None))


@pytest.mark.parametrize("model", [CpSatModel(1, 0), MilpModel("highs", 1, 0)], ids=["cpsat", "milp"])
def test_building_and_starting_a_leaf_model(benchmark: Any, model: Any) -> None:
    tables = Tables.of(SMALL)
    bound = widest(grid_bounds(tables, GOAL))
    leaf = Subproblem.plain(BoundedCosts(tables, GOAL, bound.grid, bound))
    answer = benchmark.pedantic(model.solve, args=(leaf, 10 * bound.time_s, 600.0), rounds=3)
    assert answer.rows


def test_cost_of_dtfm(benchmark: Any) -> None:
    groups = np.repeat(np.arange(len(LARGE.groups)), [group.count for group in LARGE.groups])
    times = message_times_of(LARGE, Tables.of(LARGE), groups, 8, 8)
    partition = np.random.default_rng(0).permutation(64).reshape(8, 8)
    assert np.isfinite(benchmark(cost_parts, times.hop, times.exchange, partition)).all()


def test_report(benchmark: Any) -> None:
    assert benchmark.pedantic(make_report, args=(Store(DEMO),), rounds=3).brief


def test_start_of_the_command(benchmark: Any) -> None:
    command = [sys.executable, "-c", "from bench.cli.app import main; main()", "--version"]
    assert benchmark.pedantic(subprocess.run, args=(command,), kwargs={"check": True}, rounds=5).returncode == 0
