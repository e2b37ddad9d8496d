"""Runs tasks, each in a process of its own, several at a time if asked; every finished run is stored at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from bench.records.record import Record, record_of
from bench.records.task import Task
from bench.runs.isolated import IsolatedRun, preload, wait_for_any
from bench.runs.store import Store


def pending(store: Store, tasks: Sequence[Task]) -> list[Task]:
    """The tasks without a result; what crashed, ran out of memory or could not start is tried again."""
    done = {record.key for record in store.records() if record.final}
    return [task for task in tasks if task.key not in done]


def run_tasks(
    store: Store,
    tasks: Sequence[Task],
    jobs: int,
    on_record: Callable[[Record], None],
    on_compiling: Callable[[str], None] = lambda solver: None,
    on_running: Callable[[Sequence[Task]], None] = lambda tasks: None,
    memory: int | None = None,
) -> None:
    """Run all tasks and append their records; `on_running` hears what runs now, `memory` limits each run (bytes).

    On Ctrl-C the children are killed and KeyboardInterrupt goes on.
    """
    preload(["numpy", "solvers.placements.uniform"])
    waiting = deque(tasks)
    running: list[tuple[Task, IsolatedRun]] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.popleft()
                compiling = partial(on_compiling, task.solver)
                log = store.log_file(task.key)
                run = IsolatedRun(task.solver, task.options, task.problem, task.budget, compiling, memory, log)
                running.append((task, run))
                on_running([task for task, _ in running])
            wait_for_any([run for _, run in running])
            for pair in list(running):
                task, run = pair
                run.absorb()
                if run.ending is not None:
                    record = record_of(task, run.ending, jobs)
                    store.append(record)
                    running = [each for each in running if each[1] is not run]
                    on_record(record)
    finally:
        done = [(task, run.ending) for task, run in running if run.ending is not None]
        for _, run in running:
            run.interrupt()
        unstored = {task.key for task in pending(store, [task for task, _ in done])}
        for task, ending in done:
            if task.key in unstored:
                store.append(record_of(task, ending, jobs))  # it was done when we were interrupted
