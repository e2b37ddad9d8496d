"""Other people's planners: any command, in any language, that reads an instance file and writes a plan file.

The command gets what a user of the suite has (docs/formats.md), and what it says is not believed: its plan is read,
checked and costed like that of any other solver. A plan file may be written again whenever there is a better plan; what
it holds when the limit comes counts.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from instances.errors import InputError
from instances.files import read_plan, write_instance
from instances.plan import Plan
from instances.referee.violations import violations
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Solver, Status
from solvers.core.registry import register

NEEDED = ("{instance}", "{plan}")
LOOK_EVERY_S = 0.02
"""Seconds between two looks at the plan file."""


@register
@dataclass(frozen=True)
class Exec(Solver):
    """Runs a command until it ends or the budget is spent.

    In its arguments `{instance}` and `{plan}` stand for the file to read and the file to write, `{goal}` for a file
    with weights and caps, `{time_limit}` for the seconds it has (`inf` without a limit), `{seed}` and `{threads}` for
    theirs. No shell reads it: `sh -c "..."` is one.
    """

    command: str = ""

    name: ClassVar[str] = "exec"
    summary: ClassVar[str] = "any command that reads an instance file and writes a plan file"
    random: ClassVar[bool] = True  # the command may make use of the seed

    def __post_init__(self) -> None:
        missing = [place for place in NEEDED if place not in self.command]
        if missing:
            raise ValueError(f"option command: has no {missing[0]}; such as `./planner {' '.join(NEEDED)}`")
        try:
            shlex.split(self.command)
        except ValueError as error:
            raise ValueError(f"option command: {error}") from None

    def files(self) -> Iterator[Path]:
        """Files that the command names: the planner itself, most likely."""
        return (path for path in map(Path, shlex.split(self.command)) if path.is_file())

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """The best plan that the command wrote. RuntimeError if it fails; InputError if its last plan is no plan."""
        deadline = Deadline.of(budget, monitor)
        if deadline.passed:
            return Outcome(Status.UNKNOWN, limit_reached=True)
        with tempfile.TemporaryDirectory(prefix="geotrain-bench-") as folder, tempfile.TemporaryFile() as said:
            places = _write_files(Path(folder), problem, budget)
            words = [_filled(word, places) for word in shlex.split(self.command)]
            try:
                child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            except OSError as error:
                raise RuntimeError(f"{words[0]}: cannot be started: {error.strerror}") from None
            found = _Plans(Path(places["{plan}"]), problem, deadline, monitor)
            try:
                while child.poll() is None and not deadline.passed:
                    found.look()
                    time.sleep(LOOK_EVERY_S)
                stopped = child.poll() is None
            finally:
                child.kill()
                child.wait()
            if child.returncode and not stopped:
                raise RuntimeError(f"the command ended with exit status {child.returncode}: {_last_line(said)}")
            found.look()
            plan = found.best or found.last(stopped)
            status = Status.UNKNOWN if plan is None else Status.FEASIBLE
            details = {"exit_status": None if stopped else child.returncode, "said": _last_line(said)}
            trace = tuple(deadline.trace)
            return Outcome(status, plan, None, None, deadline.evaluations, trace, stopped, details)


class _Plans:
    """The plan file, looked at while the command may be writing it."""

    def __init__(self, path: Path, problem: Problem, deadline: Deadline, monitor: Monitor) -> None:
        self._path, self._problem, self._deadline, self._monitor = path, problem, deadline, monitor
        self._seen: tuple[int, int] | None = None
        self.best: Plan | None = None

    def look(self) -> None:
        """Take in what the file holds now; half a file is no plan yet."""
        try:
            state = self._path.stat()
        except FileNotFoundError:
            return
        if self._seen == (state.st_mtime_ns, state.st_size):
            return
        self._seen = state.st_mtime_ns, state.st_size
        try:
            plan = read_plan(self._path, self._problem.instance)
        except InputError:
            return
        self._deadline.evaluations += 1
        value = self._problem.value(plan)
        if value is not None and self._deadline.note(value):
            self.best = plan
            self._monitor.on_plan(plan)

    def last(self, stopped: bool) -> Plan | None:
        """An infeasible plan in the file at the end, for the referee to reject; one that breaks a cap is none.

        InputError if the file holds no plan at all.
        """
        if not self._path.exists():
            return None
        try:
            plan = read_plan(self._path, self._problem.instance)
        except InputError:
            if stopped:  # in the middle of writing it
                return None
            raise
        return plan if violations(self._problem.instance, plan) else None


def _write_files(folder: Path, problem: Problem, budget: Budget) -> dict[str, str]:
    """Write what the command reads; what stands for its places."""
    write_instance(folder / "instance.json", problem.instance)
    (folder / "goal.json").write_text(json.dumps(asdict(problem.goal)), encoding="utf-8")
    return {
        "{instance}": str(folder / "instance.json"),
        "{goal}": str(folder / "goal.json"),
        "{plan}": str(folder / "plan.json"),
        "{time_limit}": f"{math.inf if budget.seconds is None else budget.seconds:g}",
        "{seed}": str(budget.seed),
        "{threads}": str(budget.threads),
    }


def _filled(word: str, places: dict[str, str]) -> str:
    for place, text in places.items():
        word = word.replace(place, text)
    return word


def _last_line(said: object) -> str:
    """The last line of what the command printed, for a reason."""
    file = os.dup(said.fileno())  # type: ignore[attr-defined]
    with os.fdopen(file, "rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - 2000))
        lines = stream.read().decode("utf-8", "replace").split("\n")
    return next((line.strip()[:500] for line in reversed(lines) if line.strip()), "it said nothing")
