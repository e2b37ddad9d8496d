"""The memetic solver's whole fronts against enumeration: families at 4 and 5 GPUs, random instances of 4 to 6.

`test_memetic` has the cases with fronts enumerated independently.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from instances.generator.family import generate
from instances.instance import Instance
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from solvers.core.interface import Budget, Monitor, Problem
from solvers.memetic.algorithm import Memetic
from tests.cases import CLOSE
from tests.random_instances import random_instance
from tests.solving import outcome_of, problem_of

EVALUATIONS = 4_000_000
"""Less than five seconds."""
FAMILIES = {
    "cloud": (4, 5),
    "campus": (4, 5),
    "dtfm": (4, 5),
    "federation": (4, 5),
    "profiled": (4,),
    "uniform": (4, 5),
    "volunteer": (4, 5),
}
FAMILY_SIZES = [(family, gpus) for family, sizes in FAMILIES.items() for gpus in sizes]
RANDOM = [(seed, 4 + seed % 3) for seed in range(100, 124)]


def points_of(problem: Problem, plans: tuple[Plan, ...] | None) -> np.ndarray:
    evaluations = [evaluate(problem.instance, plan) for plan in plans or ()]
    return np.array([(evaluation.time_s, evaluation.energy_j) for evaluation in evaluations]).reshape(-1, 2)


@cache
def fronts(make: Callable[..., Instance], *arguments: object, evaluations: int) -> tuple[np.ndarray, np.ndarray]:
    """The front found and the exact one."""
    problem = problem_of(make(*arguments), "front")
    found = Memetic().solve(problem, Budget(evaluations=evaluations), Monitor())
    return points_of(problem, found.front), points_of(problem, outcome_of("brute", problem).front)


def check(found: np.ndarray, exact: np.ndarray) -> None:
    """The same points, and so the same hypervolume: 1 is the share of the exact one's that is missed by nothing."""
    import moocore

    assert len(found) == len(exact)
    np.testing.assert_allclose(found, exact, rtol=CLOSE)
    if len(exact):
        corner = exact.max(axis=0) * 1.1
        share = moocore.hypervolume(found, ref=corner) / moocore.hypervolume(exact, ref=corner)
        assert share == pytest.approx(1.0, rel=CLOSE)


def family_instance(family: str, gpus: int) -> Instance:
    return generate(family, gpus, 0, {})


@pytest.mark.parametrize(("seed", "gpus"), [(100, 5), (101, 6)])
def test_the_exact_front_of_a_random_instance(seed: int, gpus: int) -> None:
    check(*fronts(random_instance, seed, gpus, evaluations=1_000_000))


@pytest.mark.wide
@pytest.mark.parametrize(("seed", "gpus"), RANDOM)
def test_the_exact_front_of_random_instances_widely(seed: int, gpus: int) -> None:
    check(*fronts(random_instance, seed, gpus, evaluations=EVALUATIONS))


@pytest.mark.wide
@pytest.mark.parametrize(("family", "gpus"), FAMILY_SIZES)
def test_the_exact_front_of_every_family(family: str, gpus: int) -> None:
    check(*fronts(family_instance, family, gpus, evaluations=EVALUATIONS))
