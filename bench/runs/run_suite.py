"""What the command `run` does: expand a suite, run what is missing, show progress."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.runs.request import COMPILING
from bench.runs.runner import pending, run_tasks
from bench.runs.store import Store
from bench.runs.suite import read_suite, tasks_of


def run_suite(name: str, out: Path | None, jobs: int, fresh: bool) -> dict[str, Any]:
    """Run a suite into its folder; counts, and which runs failed."""
    suite, base = read_suite(name)
    tasks = tasks_of(suite, base, name)
    store = Store(out or Path("results") / suite.name)
    failed: list[str] = []
    with store.writing():
        if fresh:
            store.clear()
        store.plan(suite.name, tasks)
        todo = pending(store, tasks)
        with _progress() as progress:
            bar = progress.add_task(suite.name, total=len(tasks), completed=len(tasks) - len(todo))

            def on_record(record: dict[str, Any]) -> None:
                what = f"{record['instance']}, {record['objective']}, {record['solver']}, seed {record['seed']}"
                progress.update(bar, advance=1, description=what)
                if record["status"] == "error":
                    failed.append(f"{what}: {record['reason']}")
                    progress.console.print(f"failed: {failed[-1]}", markup=False, highlight=False)

            def on_compiling(solver: str) -> None:
                progress.console.print(COMPILING.format(solver), highlight=False)

            try:
                run_tasks(store, todo, jobs, on_record, on_compiling)
            except KeyboardInterrupt:
                left = len(pending(store, tasks))
                progress.console.print(
                    f"{store.folder}: {left} of {len(tasks)} runs are left; the same command goes on"
                )
                raise
    left = len(pending(store, tasks))
    return {
        "suite": suite.name,
        "folder": str(store.folder),
        "asked": len(tasks),
        "finished": len(tasks) - left,
        "failed": failed,
    }


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
    )
