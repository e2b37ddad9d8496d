"""Run folders made without running anything: tasks, outcomes and the records of both."""

from __future__ import annotations

from pathlib import Path

from bench.records.record import Record, record_of
from bench.records.task import Task
from bench.runs.isolated import Ending, Termination
from bench.runs.store import Store
from instances.instance import Instance
from instances.objective import parse_objective
from instances.plan import Gpu, Plan
from solvers.core.interface import Budget, Outcome, Status, TracePoint
from solvers.placements.uniform import reference_of
from tests.editing import hand_instance

FAST = Plan(1, (1, 1), ((Gpu(0, 0), Gpu(1, 0)),))
"""Of the instance worked by hand: 3.9 s and 705 J, and the optimum of both."""
SLOW = Plan(1, (2,), ((Gpu(0, 0),), (Gpu(1, 0),)))
"""7.3 s and 819 J."""

CODE = "0123456789abcdef"
"""A digest of code, of made-up solvers as well."""

OPTIMAL = Outcome(Status.OPTIMAL, FAST, bound=3.9 * (1 - 1e-12), evaluations=5, trace=(TracePoint(0.1, 5, 3.9),))
GOOD = Outcome(Status.FEASIBLE, FAST)
POOR = Outcome(Status.FEASIBLE, SLOW)
NOTHING = Outcome(Status.UNKNOWN)
EMPTY = Outcome(Status.INFEASIBLE)
ERROR = Outcome(Status.ERROR)


def task(
    solver: str = "megatron", seed: int = 0, objective: str = "time", instance: Instance | None = None, **options: str
) -> Task:
    """One run on the instance worked by hand (or another)."""
    instance = instance or hand_instance()
    budget = Budget(seconds=5, seed=seed)
    return Task(instance, solver, options, parse_objective(objective), reference_of(instance), budget, code=CODE)


def record(of: Task, outcome: Outcome, ended: Termination = Termination.FINISHED, reason: str | None = None) -> Record:
    """The record of a run that took two seconds."""
    return record_of(of, Ending(outcome, ended, 2.0, 1.5, 0.5, reason), jobs=1)


def folder_with(path: Path, runs: list[tuple[Task, Outcome | None]], suite: str = "made-up") -> Store:
    """A run folder as a run leaves it; None for a run that is still missing."""
    store = Store(path)
    with store.writing():
        store.plan(suite, [run for run, _ in runs])
        for run, outcome in runs:
            if outcome is not None:
                crashed = outcome.status is Status.ERROR
                store.append(record(run, outcome, Termination.CRASHED if crashed else Termination.FINISHED))
    return store
