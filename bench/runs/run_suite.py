"""What the command `run` does: expand a suite, run what is missing, show progress."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from bench.records.record import Record
from bench.records.task import Task
from bench.runs.run_tasks import pending, run_tasks
from bench.runs.solve import COMPILING
from bench.runs.store import Store
from bench.runs.suite import read_suite, tasks_of
from instances.errors import InputError
from instances.units import unlikely_units
from solvers.core.interface import Status


@dataclass(frozen=True)
class SuiteRun:
    """What a call of `run` left: runs asked for, those with a result, and the failed ones by name and reason."""

    suite: str
    folder: str
    asked: int
    finished: int
    kept: int  # results of other code, kept on purpose
    failed: list[str]


@dataclass(frozen=True)
class Foreseen:
    """What a call of `run` would do with the runs of one solver.

    `seconds` is what they take at most by their limits of time, None if a run to do has none.
    """

    solver: str
    runs: int
    done: int
    seconds: float | None


def foresee(name: str, out: Path | None) -> list[Foreseen]:
    """What is to do of a suite, by solver; nothing is written."""
    suite, base = read_suite(name)
    tasks = tasks_of(suite, base, name)
    store = Store(out or Path("results") / suite.name)
    todo = {task.key for task in (pending(store, tasks) if store.folder.exists() else tasks)}
    found = []
    for label in dict.fromkeys(task.asked.label for task in tasks):
        own = [task for task in tasks if task.asked.label == label]
        limits = [task.budget.seconds for task in own if task.key in todo]
        seconds = None if None in limits else sum(limit for limit in limits if limit is not None)
        found.append(Foreseen(label, len(own), len(own) - len(limits), seconds))
    return found


def run_suite(
    name: str, out: Path | None, jobs: int, fresh: bool = False, keep: bool = False, memory: int | None = None
) -> SuiteRun:
    """Run what is missing of a suite in its folder, with so many bytes for each run.

    Results that other code computed are refused (InputError) unless `fresh` forgets them or `keep` takes them.
    """
    suite, base = read_suite(name)
    tasks = tasks_of(suite, base, name)
    store = Store(out or Path("results") / suite.name)
    failed: list[str] = []
    with store.writing():
        if fresh:
            store.clear()
        kept = store.other_code(tasks)
        if kept and not keep:
            raise InputError(f"{store.folder}: {_other_code(kept, tasks)}; --fresh starts over, --keep takes them")
        store.plan(suite.name, tasks, kept)
        own = [task for task in tasks if task.key not in kept]
        todo = pending(store, own)
        with _progress() as progress:
            for line in _unlikely(tasks):
                progress.console.print(line, markup=False, highlight=False, soft_wrap=True)
            bar = progress.add_task(suite.name, total=len(tasks), completed=len(tasks) - len(todo), failed=0, now="")

            def on_record(record: Record) -> None:
                progress.update(bar, advance=1, failed=len(failed) + (record.status is Status.ERROR))
                if record.status is Status.ERROR:
                    failed.append(f"{record.title}: {record.reason}")
                    progress.console.print(f"failed: {failed[-1]}", markup=False, highlight=False)

            def on_compiling(solver: str) -> None:
                progress.console.print(COMPILING.format(solver), highlight=False)

            def on_running(running: Sequence[Task]) -> None:
                progress.update(bar, now="; ".join(task.asked.title for task in running))

            try:
                run_tasks(store, todo, jobs, on_record, on_compiling, on_running, memory)
            except KeyboardInterrupt:
                progress.console.print(
                    f"{store.folder}: {len(pending(store, own))} of {len(tasks)} runs are left; "
                    "the same command goes on"
                )
                raise
    left = len(pending(store, own))
    return SuiteRun(suite.name, str(store.folder), len(tasks), len(tasks) - left, len(kept), failed)


def _unlikely(tasks: Sequence[Task]) -> Iterator[str]:
    """Warnings of figures in the suite's own files that look as if they were in another unit."""
    for name, instance in {task.instance.name: task.instance for task in tasks}.items():
        yield from (f"{name}: warning: {line}" for line in unlikely_units(instance))


def _other_code(kept: Mapping[str, Record], tasks: list[Task]) -> str:
    """Whose results are of other code, with the digest that they have and the one of today."""
    now = {task.key: task.code for task in tasks}
    counts = Counter((record.solver, record.code or "none", now[key]) for key, record in kept.items())
    words = [f"{count} of {solver} (code {then}, now {today})" for (solver, then, today), count in counts.items()]
    return f"holds results of other code: {', '.join(words)}"


def _progress() -> Progress:
    """What is done, failed and left of the suite, how long that may take, and what runs now."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        TextColumn("{task.completed} done, {task.fields[failed]} failed, {task.remaining} left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}", markup=False, style="dim", table_column=Column(no_wrap=True, ratio=1)),
        console=Console(file=sys.stderr),
        expand=True,
    )
