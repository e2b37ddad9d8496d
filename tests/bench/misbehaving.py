"""Solvers that misbehave, known to a child process only because the name it is given makes it import this file."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from instances.plan import Gpu, Plan
from solvers.core import registry
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Proof, Solver, Status

FAST = Plan(1, (1, 1), ((Gpu(0, 0), Gpu(1, 0)),))
"""The better plan of the instance worked by hand: 3.9 s and 705 J."""
SLOW = Plan(1, (2,), ((Gpu(0, 0),), (Gpu(1, 0),)))
"""7.3 s and 819 J."""


class Name(str):
    """A solver's name that registers the solvers of this file wherever it is unpickled."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return known, (str(self),)


def known(name: str) -> str:
    """Register the solvers of this file in this process; the plain name."""
    registry._FOUND.update(SOLVERS)
    return name


def _stubborn(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    """Finds plans and a bound, then works on for ever."""
    monitor.on_details({"pid": os.getpid()})
    monitor.on_bound(1.0, {})
    monitor.on_bound(0.5, {})  # worse than what it said before
    for plan in (SLOW, FAST, SLOW):
        monitor.on_plan(plan)
    while True:
        time.sleep(60)


def _counting(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    """Counts its evaluations and values as solvers do, then works on for ever."""
    deadline = Deadline.of(budget, monitor)
    for plan, value in ((SLOW, 7.3), (FAST, 3.9)):
        deadline.evaluations += 10
        deadline.note(value)
        monitor.on_plan(plan)
    deadline.note(1.0)  # and is killed before it can say which plan that is
    while True:
        deadline.evaluations += 1
        time.sleep(0.01)


def _silent(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    while True:
        time.sleep(60)


def _parent(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    """Starts a process of its own and forgets it."""
    program = subprocess.Popen("sleep 600", shell=True)
    monitor.on_details({"pid": os.getpid(), "grandchild": program.pid})
    return _silent(problem, budget, monitor)


def _crashing(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    monitor.on_plan(FAST)
    raise RuntimeError("the model\nis wrong")


def _exiting(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    os._exit(7)


def _starving(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    monitor.on_plan(FAST)
    raise MemoryError


def _killed(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    monitor.on_plan(FAST)
    os.kill(os.getpid(), signal.SIGKILL)
    return _silent(problem, budget, monitor)


def _chatty(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    """Prints a banner, as libraries do in spite of all options."""
    print("Welcome to the solver", flush=True)  # noqa: T201
    os.write(1, b"from C\n")
    return Outcome(Status.FEASIBLE, FAST)


def _boasting(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    """Claims that a plan is optimal that is not."""
    return Outcome(Status.OPTIMAL, SLOW)


def _contradicting(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    return Outcome(Status.FEASIBLE, FAST, bound=4.0)


def _careless(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    """Returns a plan that uses one GPU twice."""
    return Outcome(Status.FEASIBLE, Plan(1, (1, 1), ((Gpu(0, 0), Gpu(0, 0)),)))


def _obedient(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    """Behaves, for once: returns its start."""
    return Outcome(Status.FEASIBLE if problem.start else Status.UNKNOWN, problem.start)


def _unpicklable(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    return Outcome(Status.FEASIBLE, FAST, details={"x": lambda: None})


def _prompt(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    """Has its answer at once."""
    return Outcome(Status.FEASIBLE, FAST)


def _late(problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
    """Has its answer after a while."""
    time.sleep(0.3)
    return Outcome(Status.FEASIBLE, FAST)


def _make(solve_with: Callable[[Problem, Budget, Monitor], Outcome], warm_up_with: Callable[[], object]) -> type[Any]:
    @dataclass(frozen=True)
    class Misbehaving(Solver):
        name: ClassVar[str] = (solve_with if warm_up_with is _nothing else warm_up_with).__name__.removeprefix("_")
        summary: ClassVar[str] = "only for tests"
        proves: ClassVar[Proof] = Proof.OPTIMUM_AND_BOUND
        fronts: ClassVar[bool] = True
        takes_start: ClassVar[bool] = True

        def warm_up(self) -> None:
            warm_up_with()

        def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
            return solve_with(problem, budget, monitor)

    return Misbehaving


def _nothing() -> None:
    """Needs no warm-up."""


def _compiling() -> None:
    """Takes longer to compile than its whole budget, which is no misbehaviour at all."""
    time.sleep(1)


def _unready() -> None:
    raise ModuleNotFoundError("No module named 'solver_library'")


def _sleepy() -> None:
    """Never comes to the end of its warm-up."""
    time.sleep(600)


SOLVERS: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (
        *(_make(function, _nothing) for function in (_stubborn, _silent, _crashing, _exiting, _starving, _killed)),
        *(_make(function, _nothing) for function in (_chatty, _boasting, _contradicting, _careless, _parent)),
        *(_make(function, _nothing) for function in (_unpicklable, _obedient, _counting, _late)),
        *(_make(_prompt, function) for function in (_compiling, _unready, _sleepy)),
    )
}
