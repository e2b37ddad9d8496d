"""`results/long-runs.toml`, from which the best known values of large problems come."""

from __future__ import annotations

from pathlib import Path

from bench.records.task import Task
from bench.runs.suite import read_suite, tasks_of

LONG_RUNS = str(Path(__file__).parents[2] / "results" / "long-runs.toml")


def tasks(name: str) -> list[Task]:
    suite, folder = read_suite(name)
    return tasks_of(suite, folder, name)


def problems(found: list[Task]) -> set[tuple[str, str]]:
    return {(task.instance.name, str(task.objective)) for task in found}


def test_they_take_every_problem_of_paper_and_scaling_with_64_to_256_gpus() -> None:
    shipped = [task for name in ("paper", "scaling") for task in tasks(name) if 64 <= task.instance.gpus <= 256]
    assert problems(tasks(LONG_RUNS)) == problems(shipped)


def test_memetic_has_ten_minutes_and_three_seeds_for_each() -> None:
    memetic = [task for task in tasks(LONG_RUNS) if task.solver == "memetic"]
    assert {task.budget.seconds for task in memetic} == {600}
    assert len(memetic) == 3 * len(problems(memetic)) == 3 * len(problems(tasks(LONG_RUNS)))
