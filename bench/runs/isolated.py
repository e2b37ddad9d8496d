"""A solver in a process of its own: limits hold from outside, and nothing found is lost."""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from instances.objective import CAP_SLACK
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from solvers.core.cache import is_warm, mark_warm
from solvers.core.front import Front
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Solver, Status, TracePoint
from solvers.core.registry import make_solver

LONGEST_WAIT_S = 3600.0
"""The system's calls take no more than some weeks; a wait that ends early is begun anew."""
GRACE_S = 1.0
"""How long past its limit a solver may take to stop by itself before it is killed."""
LOOK_EVERY_S = 0.2
"""How often a child's memory is looked at, where it is limited."""
WARM_UP_S = 900.0
"""How long a child may take to import and compile what it needs, on a busy machine with an empty cache."""


class Termination(StrEnum):
    """How a run ended, apart from what it found."""

    FINISHED = "finished"
    TIME_LIMIT = "time_limit"
    EVALUATION_LIMIT = "evaluation_limit"  # in older records this is a time limit
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    INTERRUPTED = "interrupted"
    NOT_STARTED = "not_started"  # its warm-up failed or took too long: nothing was searched


@dataclass(frozen=True)
class Ending:
    """How an isolated run ended and what it found. `reason` says in a line why it did not finish, if it did not."""

    outcome: Outcome
    termination: Termination
    wall_s: float  # of the search, without the child's start and warm-up
    cpu_s: float | None  # of the search; None if the child was killed
    warm_up_s: float | None  # from the call until the search began; None if it never did
    reason: str | None = None


def preload(modules: Sequence[str]) -> None:
    """Let the server that children are forked from import these first; only before the first child."""
    _context().set_forkserver_preload(["solvers.core.registry", *modules])


class IsolatedRun:
    """One child at work. Poll it with `absorb` until `ending` is there, or `wait`; kill it by `interrupt`.

    `on_compiling` is called where the solver has to be compiled first, which takes up to a minute. `memory` limits the
    bytes that the child and what it starts hold; `log` is a file for what they print, removed if they are silent.
    """

    def __init__(
        self,
        name: str,
        options: Mapping[str, str],
        problem: Problem,
        budget: Budget,
        on_compiling: Callable[[], None] = lambda: None,
        memory: int | None = None,
        log: Path | None = None,
    ) -> None:
        self._problem = problem
        self._memory, self._log, self._looked = memory, log, -math.inf
        self._seconds, self._evaluation_limit = budget.seconds, budget.evaluations
        self._plan = problem.start
        self._value = problem.value(problem.start) if problem.start else None
        self._front = Front()
        self._bound: float | None = None
        self._details: dict[str, Any] = {}
        self._trace: list[TracePoint] = []
        self._evaluations = 0
        self._called = time.monotonic()
        self._started: float | None = None
        self._name = name
        solver = make_solver(name, options)  # refuses what does not exist, here and now
        if type(solver).warm_up is not Solver.warm_up and not is_warm(name):
            on_compiling()
        self.ending: Ending | None = None

        self.connection, theirs = _context().Pipe(duplex=False)
        task = (name, dict(options), problem.instance, problem.goal, problem.start, budget, log)
        self._process = _context().Process(target=_work, args=(theirs, task), daemon=False)
        self._process.start()
        theirs.close()

    @property
    def deadline(self) -> float | None:
        """When the child will be killed, on `time.monotonic`; None without a limit. Limits count from its start."""
        if self._started is None:
            return self._called + WARM_UP_S
        return None if self._seconds is None else self._started + self._seconds + GRACE_S

    def absorb(self) -> None:
        """Take in what the child has said, without waiting; sets `ending` when the run is over."""
        try:
            while self.ending is None and self.connection.poll():
                self._hear(*self.connection.recv())
        except (EOFError, OSError):
            if self.ending is None:
                self._lost()
        if self.ending is None and self.look_at <= time.monotonic():
            self._look_at_memory()
        if self.ending is None and self.deadline is not None and time.monotonic() > self.deadline:
            if self._started is None:
                self._failed(f"the warm-up took longer than {WARM_UP_S:.0f} s")
            else:
                self._finish(Termination.TIME_LIMIT, "stopped from outside at its time limit")

    @property
    def look_at(self) -> float:
        """When its memory is looked at next, on `time.monotonic`."""
        return math.inf if self._memory is None else self._looked + LOOK_EVERY_S

    def _look_at_memory(self) -> None:
        self._looked = time.monotonic()
        held = held_bytes(self._process.pid) if self._process.pid is not None else 0
        if self._memory is not None and held > self._memory:
            reason = f"took {held / 2**20:,.0f} MiB, the limit is {self._memory / 2**20:,.0f} MiB"
            if self._started is None:
                self._failed(f"the warm-up {reason}")
            else:
                self._finish(Termination.OUT_OF_MEMORY, reason)

    def wait(self) -> Ending:
        """The ending, once the child ends, its limit passes or the caller is interrupted."""
        try:
            while self.ending is None:
                wait_for_any([self])
                self.absorb()
        except KeyboardInterrupt:
            self.interrupt()
        assert self.ending is not None
        return self.ending

    def interrupt(self) -> None:
        """Stop the child; `ending` holds what it had found."""
        self.absorb()
        if self.ending is None:
            self._finish(
                Termination.INTERRUPTED, "interrupted" if self._started else "interrupted before the search began"
            )

    def _hear(self, kind: str, content: Any) -> None:
        match kind:
            case "started":
                self._started = content
                mark_warm(self._name)
            case "plan":
                self._take(content)
            case "bound":
                bound, proof = content
                if self._bound is None or bound >= self._bound:
                    self._bound = bound
                    self._details.update(proof)
            case "details":
                self._details.update(content)
            case "progress":
                self._evaluations, points = content
                self._trace += points
            case "outcome":
                outcome, cpu_s = content
                self._finish(self._limit_of(outcome), None, outcome, cpu_s)
            case "memory":
                self._finish(Termination.OUT_OF_MEMORY, content)
            case "error":
                self._failed(content)
            case _:
                raise ValueError(kind)

    def _limit_of(self, outcome: Outcome) -> Termination:
        """Which limit ended the solver, if one did."""
        if not outcome.limit_reached:
            return Termination.FINISHED
        limit = self._evaluation_limit
        if limit is not None and (self._seconds is None or outcome.evaluations >= limit):
            return Termination.EVALUATION_LIMIT
        return Termination.TIME_LIMIT

    def _failed(self, reason: str) -> None:
        """It crashed; before its start that says nothing of the problem, and the run may be tried again."""
        if self._started is None:
            self._finish(Termination.NOT_STARTED, f"not started: {reason}", Outcome(Status.ERROR))
        else:
            outcome = Outcome(Status.ERROR, evaluations=self._evaluations, details=self._details)
            self._finish(Termination.CRASHED, reason, outcome)

    def _take(self, plan: Plan) -> None:
        value = self._problem.value(plan)
        if value is None:
            return
        if self._problem.goal.front:
            evaluation = evaluate(self._problem.instance, plan)
            self._front.add(evaluation.time_s, evaluation.energy_j, plan)
        elif self._value is None or value < self._value:
            self._plan, self._value = plan, value

    def _lost(self) -> None:
        self._process.join(5)
        code = self._process.exitcode
        if code == -signal.SIGKILL:  # nobody but the kernel, out of memory, kills our children like this
            self._finish(Termination.OUT_OF_MEMORY, "killed, most likely for want of memory")
        else:
            self._failed(f"the process ended with exit status {code}")

    def _rescued(self) -> Outcome:
        """What was reported before the end."""
        front = self._front.plans() or None
        status = Status.FEASIBLE if self._plan or front else Status.UNKNOWN
        # A value whose plan was not heard any more is not ours; a value that rounding sets apart is.
        least = math.inf if self._value is None else self._value * (1 - CAP_SLACK)
        trace = tuple(point for point in self._trace if point.value >= least)
        return Outcome(
            status, self._plan, self._bound, front, self._evaluations, trace, limit_reached=True, details=self._details
        )

    def _finish(
        self, termination: Termination, reason: str | None, outcome: Outcome | None = None, cpu_s: float | None = None
    ) -> None:
        """End with an outcome, or with what was reported so far."""
        wall = time.monotonic() - (self._started or self._called)
        warm_up = None if self._started is None else self._started - self._called
        self.ending = Ending(outcome or self._rescued(), termination, wall, cpu_s, warm_up, reason)
        self._stop()

    def _stop(self) -> None:
        """Kill the child and what it started; the child leads a process group of its own."""
        self.connection.close()
        try:
            if self._process.pid is not None:
                os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()
        self._process.join(5)
        if self._log is not None and self._log.exists() and not self._log.stat().st_size:
            self._log.unlink()


def wait_for_any(runs: Sequence[IsolatedRun]) -> None:
    """Wait until one of the children says something or its deadline passes."""
    times = [run.look_at for run in runs] + [run.deadline for run in runs if run.deadline is not None]
    left = min(times) - time.monotonic()
    wait([run.connection for run in runs], None if left == math.inf else min(max(0.0, left) + 0.001, LONGEST_WAIT_S))


def held_bytes(pid: int) -> int:
    """Resident memory of a process and of all that it has started; 0 if it has ended."""
    import psutil

    held = 0
    try:
        own = psutil.Process(pid)
        for process in (own, *own.children(recursive=True)):
            with suppress(psutil.Error):  # it has just ended
                held += process.memory_info().rss
    except psutil.Error:
        return 0
    return held


def _context() -> Any:
    # Forking a process that has solved hangs HiGHS; a server that never solves forks safely and fast.
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    return multiprocessing.get_context(method)


def _work(connection: Connection, task: tuple[Any, ...]) -> None:
    """The child: solve, report, end."""
    name, options, instance, goal, start, budget, log = task
    if log is not None:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
    os.dup2(2, 1)  # what a library prints must not mix with our answer on standard output
    os.setsid()  # so that Ctrl-C reaches the parent only, and a kill reaches all that we start
    threading.Thread(target=_follow_parent, daemon=True).start()
    lock = threading.Lock()

    def say(kind: str, content: Any = None) -> None:
        # Where the caller has just gone there is nobody to tell, and this process ends in a moment.
        with lock, suppress(BrokenPipeError):
            connection.send((kind, content))

    try:
        solver = make_solver(name, options)
        solver.warm_up()
        before = _cpu_seconds()
        say("started", time.monotonic())  # one clock for all processes of a machine
        monitor = Monitor(
            on_plan=lambda plan: say("plan", plan),
            on_bound=lambda bound, proof: say("bound", (bound, dict(proof))),
            on_details=lambda details: say("details", dict(details)),
            on_trace=lambda point: say("progress", (point.evaluations, [point])),
            on_evaluations=lambda count: say("progress", (count, [])),
        )
        outcome = solver.solve(Problem(instance, goal, start), budget, monitor)
        say("outcome", (outcome, _cpu_seconds() - before))
    except MemoryError:
        say("memory", "out of memory")
    except Exception as error:  # noqa: BLE001 - a crash is a result that the caller records
        say("error", f"{type(error).__name__}: {error}".replace("\n", " "))
    connection.close()


def _cpu_seconds() -> float:
    """User plus system time of this process and of what it has started and seen end."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _follow_parent() -> None:
    """End this process group when the caller is gone, so that no orphan computes on."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.killpg(os.getpid(), signal.SIGKILL)
