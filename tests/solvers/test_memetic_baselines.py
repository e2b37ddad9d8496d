"""`memetic` is never worse than the usual planners; all shipped suites are checked by `make test-wide`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.runs.suite import entries_of, read_suite, shipped
from instances.instance import Instance
from instances.objective import parse_objective
from solvers.core.interface import Budget, Problem
from solvers.placements.uniform import reference_of
from tests.solving import outcome_of

CLOSE = 1e-9
BASELINES = ("megatron", "contiguous", "dtfm")


def problems_of(suite_name: str) -> Iterator[tuple[Instance, str]]:
    """Every instance of a suite with every objective that has one value."""
    suite, folder = read_suite(suite_name)
    for entry, instance in entries_of(suite, folder, suite_name):
        for objective in entry.objectives or suite.objectives:
            if objective != "front":
                yield instance, objective


def worse_than(instance: Instance, objective: str, ours: Budget, theirs: Budget) -> list[str]:
    """The baselines that found a better plan than `memetic`, in words."""
    goal = parse_objective(objective).goal(reference_of(instance))
    values = {}
    for solver in ("memetic", *BASELINES):
        problem = Problem(instance, goal)  # each makes its own tables
        plan = outcome_of(solver, problem, ours if solver == "memetic" else theirs).plan
        values[solver] = None if plan is None else problem.value(plan)
    value = values.pop("memetic")
    return [
        f"{instance.name}, {objective}: memetic {value}, {solver} {other}"
        for solver, other in values.items()
        if other is not None and (value is None or value > other * (1 + CLOSE))
    ]


@pytest.mark.parametrize(("instance", "objective"), [*problems_of("regression")], ids=lambda part: str(part)[:30])
def test_never_worse_than_the_usual_planners(instance: Instance, objective: str) -> None:
    """By evaluations, so that it does not depend on the machine."""
    assert not worse_than(instance, objective, Budget(evaluations=20_000), Budget(evaluations=20_000))


@pytest.mark.wide
@pytest.mark.parametrize("suite", shipped())
def test_never_worse_than_the_usual_planners_in_a_second(suite: str) -> None:
    """On the clock: an idle machine is needed."""
    second = Budget(seconds=1.0)
    found = [line for problem in problems_of(suite) for line in worse_than(*problem, second, second)]
    assert not found, "\n".join(found)
