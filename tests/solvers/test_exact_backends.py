"""What PuLP and its back ends get wrong: limits, banners, temporary folders, coefficients of odd sizes."""

from __future__ import annotations

import random
import warnings

import pulp
import pytest

from instances.objective import Goal
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Problem, Status
from solvers.core.registry import make_solver
from solvers.exact.leaf_model import Claim
from solvers.exact.milp_model import backends
from solvers.exact.milp_model.rows import LARGEST, weighted
from tests.random_instances import random_instance


def test_coefficients_beyond_what_a_solver_can_be_trusted_with_are_refused() -> None:
    x = pulp.LpProblem("one").add_variable("x", 0, 1)
    with pytest.raises(ArithmeticError, match="too large"):
        weighted([(x, 10 * LARGEST)], cut=100 * LARGEST)
    assert len(weighted([(x, 1e-12)])) == 0


def _knapsack(items: int) -> pulp.LpProblem:
    draw = random.Random(1)
    problem = pulp.LpProblem("knapsack", pulp.LpMaximize)
    xs = [problem.add_variable(f"x{i}", cat=pulp.LpBinary) for i in range(items)]
    sizes = [[draw.randrange(100, 1000) for _ in xs] for _ in range(5)]
    problem += pulp.lpSum(draw.randrange(100, 1000) * x for x in xs)
    for row in sizes:
        problem += pulp.lpSum(size * x for size, x in zip(row, xs, strict=True)) <= sum(row) // 2
    return problem


@pytest.mark.parametrize("backend", ["highs", "cbc"])
def test_a_run_that_its_limit_stopped_claims_nothing(backend: str) -> None:
    """The model is feasible and far too large for the limit: neither `best` nor `none` would be true."""
    said = backends.BACKENDS[backend](_knapsack(200), 1, 0, Deadline(0.001))
    assert said.claim is Claim.STOPPED


@pytest.mark.parametrize("backend", ["highs", "cbc"])
def test_nothing_is_printed_on_standard_output(backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    problem = Problem(random_instance(6), Goal(time_weight=1.0))
    make_solver("milp", {"backend": backend, "start": "megatron"}).solve(problem, Budget(), Monitor())
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("whole", ["false", "true"])
@pytest.mark.parametrize("backend", ["highs", "cbc"])
def test_no_library_warns(backend: str, whole: str) -> None:
    """PuLP warns of every call that its next release drops."""
    problem = Problem(random_instance(6), Goal(energy_weight=1.0, time_cap=1e9))
    solver = make_solver("milp", {"backend": backend, "start": "none", "whole": whole})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solver.solve(problem, Budget(), Monitor()).status is Status.OPTIMAL


def test_cbc_works_when_the_temporary_folder_has_a_blank(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("with a blank")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    said = backends.solve_with_cbc(_knapsack(5), 1, 0, Deadline(None))
    assert said.claim is Claim.BEST
