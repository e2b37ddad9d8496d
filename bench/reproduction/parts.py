"""The parts of a reproduction: each a suite with a question, and its smaller variant for `--quick`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.runs.run_suite import SuiteRun, run_suite
from bench.runs.run_tasks import pending
from bench.runs.store import Store
from bench.runs.suite import SHIPPED, read_suite, tasks_of


@dataclass(frozen=True)
class Part:
    """A suite that answers one question; `compares_seconds` makes it run one task at a time."""

    name: str
    title: str
    suite: str
    compares_seconds: bool = False

    def source(self, quick: bool) -> str:
        """The suite as `run` takes it."""
        return str(SHIPPED / "quick" / f"{self.suite}.toml") if quick else self.suite


PARTS = (
    Part("verification", "Verification: does the memetic algorithm find the optimum where it can be proven?", "verify"),
    Part("savings", "Savings: how much time and energy against what people run and against DT-FM?", "paper"),
    Part("scaling", "Scaling: where does each exact method stop?", "scaling", compares_seconds=True),
    Part("trade-off", "Trade-off: how much energy does a little more time save?", "energy"),
)


def run_part(part: Part, folder: Path, quick: bool, jobs: int, fresh: bool, keep: bool) -> SuiteRun:
    """Run what is missing of a part in its own folder below this one."""
    return run_suite(part.source(quick), folder / part.name, 1 if part.compares_seconds else jobs, fresh, keep)


def minutes_left(part: Part, folder: Path, quick: bool, jobs: int) -> tuple[float, int]:
    """About how many minutes a part will still take with so many jobs, and how many runs that are."""
    source = part.source(quick)
    suite, base = read_suite(source)
    tasks = tasks_of(suite, base, source)
    left = pending(Store(folder / part.name), tasks) if (folder / part.name / "suite.json").exists() else tasks
    assert suite.core_minutes is not None
    return suite.core_minutes * len(left) / len(tasks) / (1 if part.compares_seconds else jobs), len(left)
