"""Limits hold from outside, what was found is kept, and no process is left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.runs import isolated
from bench.runs.isolated import Ending, IsolatedRun, Termination
from bench.runs.judge import judge
from instances.generator.family import generate
from instances.instance import Instance
from instances.objective import parse_objective
from instances.plan import Plan
from solvers.core import cache, registry
from solvers.core.interface import Budget, Problem, Status
from tests.bench.misbehaving import FAST, SLOW, SOLVERS, Name
from tests.editing import hand_instance
from tests.processes import gone

ROOT = Path(__file__).parent.parent.parent
LONG = Budget(seconds=60)
SHORT = Budget(seconds=0.5)


@pytest.fixture(autouse=True)
def _known_here_for_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in SOLVERS.items():
        monkeypatch.setitem(registry._FOUND, name, kind)
    monkeypatch.setattr(isolated, "GRACE_S", 0.2)


def problem(objective: str = "time", start: Plan | None = None, instance: Instance | None = None) -> Problem:
    return Problem(instance or hand_instance(), parse_objective(objective).goal(), start)


def run(name: str, budget: Budget = LONG, asked: Problem | None = None) -> Ending:
    return IsolatedRun(Name(name), {}, asked or problem(), budget).wait()


def test_a_solver_gives_the_same_answer_in_a_process_of_its_own() -> None:
    ending = run("brute")
    assert (ending.termination, ending.reason) == (Termination.FINISHED, None)
    assert ending.outcome.status is Status.OPTIMAL
    assert ending.outcome.plan == FAST
    assert ending.wall_s > 0
    assert ending.cpu_s is not None


def test_a_solver_that_ignores_its_limit_is_stopped_and_what_it_found_is_kept() -> None:
    ending = run("stubborn", Budget(seconds=0.5))
    assert ending.termination is Termination.TIME_LIMIT
    assert ending.reason == "stopped from outside at its time limit"
    assert (ending.outcome.status, ending.outcome.plan, ending.outcome.bound) == (Status.FEASIBLE, FAST, 1.0)
    assert ending.cpu_s is None
    assert gone(ending.outcome.details["pid"])


def test_a_run_stopped_from_outside_keeps_its_trace_and_evaluations() -> None:
    ending = run("counting", Budget(seconds=0.5))
    assert ending.termination is Termination.TIME_LIMIT
    outcome = ending.outcome
    assert [(point.evaluations, point.value) for point in outcome.trace] == [(10, 7.3), (20, 3.9)]
    assert outcome.evaluations > 20
    assert 0 <= outcome.trace[0].seconds <= outcome.trace[1].seconds < ending.wall_s


@pytest.mark.parametrize("name", ["memetic", "random", "brute", "cpsat"])
def test_every_limit_of_evaluations_is_named(name: str) -> None:
    pool = generate("dtfm", 8, 0, {"scenario": "worldwide", "gpu-mix": "mixed"})
    for budget in (Budget(evaluations=10), Budget(seconds=600, evaluations=10)):
        ending = run(name, budget, problem(instance=pool))
        assert ending.termination is Termination.EVALUATION_LIMIT


@pytest.mark.parametrize("seconds", [2147483.0, 2147484.0, 1e9, 1e300])
def test_a_limit_may_be_as_long_as_one_likes(seconds: float) -> None:
    assert run("late", Budget(seconds=seconds)).termination is Termination.FINISHED


def test_compiling_is_not_counted_as_search() -> None:
    ending = run("compiling", Budget(seconds=0.1))
    assert (ending.termination, ending.outcome.plan) == (Termination.FINISHED, FAST)
    assert ending.wall_s < 1
    assert ending.warm_up_s is not None
    assert ending.warm_up_s >= 1


def test_a_solver_whose_warm_up_fails_has_not_started() -> None:
    ending = run("unready")
    assert ending.termination is Termination.NOT_STARTED
    assert ending.reason == "not started: ModuleNotFoundError: No module named 'solver_library'"
    assert (ending.outcome.status, ending.warm_up_s) == (Status.ERROR, None)


def test_a_warm_up_that_does_not_end_is_no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "WARM_UP_S", 2.0)
    ending = run("sleepy", Budget(seconds=0.1))
    assert ending.termination is Termination.NOT_STARTED
    assert ending.reason == "not started: the warm-up took longer than 2 s"


def test_an_interrupt_during_the_warm_up_says_that_nothing_was_searched() -> None:
    running = IsolatedRun(Name("sleepy"), {}, problem(), LONG)
    running.interrupt()
    assert running.ending is not None
    assert running.ending.termination is Termination.INTERRUPTED
    assert running.ending.reason == "interrupted before the search began"


def test_compiling_is_announced_once_for_each_state_of_the_sources(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache._marker.cache_clear()
    heard: list[str] = []
    for _ in range(2):
        IsolatedRun(Name("obedient"), {}, problem(), LONG, lambda: heard.append("compiling")).wait()
    assert heard == ["compiling"]
    cache._marker.cache_clear()


def test_a_stopped_solver_that_found_nothing_knows_nothing() -> None:
    ending = run("silent", Budget(seconds=0))
    assert ending.termination is Termination.TIME_LIMIT
    assert (ending.outcome.status, ending.outcome.plan, ending.outcome.bound) == (Status.UNKNOWN, None, None)


def test_a_stopped_solver_is_never_worse_than_its_start() -> None:
    ending = run("silent", Budget(seconds=0), problem(start=SLOW))
    assert (ending.outcome.status, ending.outcome.plan) == (Status.FEASIBLE, SLOW)


def test_a_stopped_solver_keeps_the_plans_of_a_front_that_no_other_dominates() -> None:
    asked = problem("front")
    ending = run("stubborn", SHORT, asked)
    assert ending.termination is Termination.TIME_LIMIT
    verdict = judge(asked, ending.outcome)
    assert verdict.status is Status.FEASIBLE
    assert [point.plan for point in verdict.front or ()] == [FAST]  # faster and thriftier than the other


def test_a_plan_that_breaks_a_cap_is_not_kept() -> None:
    ending = run("stubborn", SHORT, problem("energy@3"))
    assert (ending.outcome.status, ending.outcome.plan, ending.outcome.bound) == (Status.UNKNOWN, None, 1.0)


def test_what_a_solver_started_goes_with_it() -> None:
    ending = run("parent", SHORT)
    assert ending.termination is Termination.TIME_LIMIT
    assert gone(ending.outcome.details["pid"])
    assert gone(ending.outcome.details["grandchild"])


def test_a_crash_is_told_in_one_line_and_is_no_result() -> None:
    ending = run("crashing")
    assert (ending.termination, ending.reason) == (Termination.CRASHED, "RuntimeError: the model is wrong")
    assert (ending.outcome.status, ending.outcome.plan) == (Status.ERROR, None)


def test_a_process_that_just_ends_has_crashed() -> None:
    ending = run("exiting")
    assert (ending.termination, ending.reason) == (Termination.CRASHED, "the process ended with exit status 7")
    assert ending.outcome.status is Status.ERROR


def test_an_outcome_that_cannot_be_sent_is_a_crash() -> None:
    ending = run("unpicklable")
    assert (ending.termination, ending.outcome.status) == (Termination.CRASHED, Status.ERROR)


@pytest.mark.parametrize("name", ["starving", "killed"])
def test_want_of_memory_keeps_what_was_found(name: str) -> None:
    ending = run(name)
    assert ending.termination is Termination.OUT_OF_MEMORY
    assert ending.reason is not None
    assert "memory" in ending.reason
    assert (ending.outcome.status, ending.outcome.plan) == (Status.FEASIBLE, FAST)


def test_an_interrupted_run_keeps_what_was_found_and_leaves_no_process() -> None:
    running = IsolatedRun(Name("stubborn"), {}, problem(), LONG)
    while running._plan != FAST:
        assert running.connection.poll(30)
        running.absorb()
    running.interrupt()
    assert running.ending is not None
    assert running.ending.termination is Termination.INTERRUPTED
    assert running.ending.outcome.plan == FAST
    assert gone(running.ending.outcome.details["pid"])


ORPHAN = """
import os
from solvers.core import registry
from solvers.core.interface import Budget
from bench.runs.isolated import IsolatedRun
from tests.bench.misbehaving import Name, known
from tests.bench.test_isolated import problem
run = IsolatedRun(Name(known("stubborn")), {}, problem(), Budget())
while "pid" not in run._details:
    run.connection.poll(30)
    run.absorb()
print(run._details["pid"], flush=True)
os._exit(9)
"""


def test_a_child_ends_when_its_caller_is_gone() -> None:
    done = subprocess.run([sys.executable, "-c", ORPHAN], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (9, "")
    assert gone(int(done.stdout))


def test_what_a_child_prints_does_not_mix_with_our_answer() -> None:
    program = (
        "from solvers.core.interface import Budget\n"
        "from bench.runs.isolated import IsolatedRun\n"
        "from tests.bench.misbehaving import Name, known\n"
        "from tests.bench.test_isolated import problem\n"
        "ending = IsolatedRun(Name(known('chatty')), {}, problem(), Budget()).wait()\n"
        "print(ending.outcome.status)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "feasible\n"
    assert "Welcome to the solver" in done.stderr
    assert "from C" in done.stderr


def test_the_misbehaving_solvers_are_unknown_outside_these_tests() -> None:
    program = "from solvers.core.registry import solver_types; print(*solver_types())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert not set(done.stdout.split()) & set(SOLVERS)


@pytest.mark.wide
@pytest.mark.parametrize("name", ["cpsat", "milp"])
@pytest.mark.parametrize("objective", ["time", "energy"])
def test_two_seconds_on_64_gpus_give_an_honest_answer_in_time(name: str, objective: str) -> None:
    """On the clock: an idle machine is needed."""
    pool = generate("dtfm", 64, 0, {"scenario": "worldwide", "gpu-mix": "mixed"})
    asked = problem(objective, instance=pool)
    called = time.monotonic()
    outcome = IsolatedRun(name, {}, asked, Budget(seconds=2)).wait().outcome
    assert time.monotonic() - called < 4
    assert outcome.status is Status.FEASIBLE
    assert outcome.plan is not None
    assert outcome.bound is not None
    value = asked.value(outcome.plan)
    assert value is not None
    assert 0 < outcome.bound < value
    assert len(outcome.details["grids"]) == len(asked.tables.grids())
