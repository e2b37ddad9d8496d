"""Planners behind `exec`: hanging, raising, lying and forging ones are recorded truthfully, and harm no other."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path

import pytest

from bench.records.record import Record
from bench.runs.run_suite import run_suite
from bench.runs.solve import solve_request
from bench.runs.store import Store
from bench.verification.folder import verify_store
from instances.errors import InputError
from instances.files import write_instance
from solvers.core.interface import Budget, Status
from solvers.core.sources import solver_digest
from tests.editing import HAND_PLAN, hand_instance
from tests.processes import gone

GOOD = json.dumps(HAND_PLAN)
BETTER_LATER = """
import json, sys, time
plan = json.loads(sys.argv[3])
open(sys.argv[2], "w").write(json.dumps(plan))
time.sleep(60)
"""
PLANNERS = {
    "good": "import sys; open(sys.argv[2], 'w').write(sys.argv[3])",
    "hangs": "import time; time.sleep(60)",
    "hangs with a plan": BETTER_LATER,
    "raises": "raise RuntimeError('out of ideas')",
    "silent": "pass",
    "lies": "import sys; open(sys.argv[2], 'w').write(sys.argv[3]); print('optimal, value 0.001')",
    "lies in its file": "import sys; open(sys.argv[2], 'w').write(sys.argv[3].replace('{', '{\"value\": 0.1, '))",
    "forges": "import sys; open(sys.argv[2], 'w').write(sys.argv[3].replace('b/0', 'b/7'))",
    "splits badly": "import sys; open(sys.argv[2], 'w').write(sys.argv[3].replace('[1, 1]', '[1, 2]'))",
    "half": "import sys; open(sys.argv[2], 'w').write(sys.argv[3][:20])",
    "killed by itself": "import os; os.kill(os.getpid(), 9)",
}
EXPECTED = {
    "good": (Status.FEASIBLE, "finished", None),
    "hangs": (Status.UNKNOWN, "time_limit", "no plan was tried"),
    "hangs with a plan": (Status.FEASIBLE, "time_limit", None),
    "raises": (Status.ERROR, "crashed", "exit status 1: RuntimeError: out of ideas"),
    "silent": (Status.UNKNOWN, "finished", "no plan was tried"),
    "lies": (Status.FEASIBLE, "finished", None),
    "lies in its file": (Status.ERROR, "crashed", "plan.json"),
    "forges": (Status.ERROR, "crashed", "b/7"),
    "splits badly": (Status.ERROR, "finished", "the stages hold 3 layers, the model has 2"),
    "half": (Status.ERROR, "crashed", "plan.json"),
    "killed by itself": (Status.ERROR, "crashed", "exit status -9"),
}


def command(name: str, folder: Path) -> str:
    """A planner as a file of Python."""
    path = folder / f"{name.replace(' ', '-')}.py"
    path.write_text(PLANNERS[name], encoding="utf-8")
    return f"{shlex.quote(sys.executable)} {path} {{instance}} {{plan}} {shlex.quote(GOOD)}"


def test_each_planner_of_a_suite_is_recorded_truthfully_and_harms_no_other(tmp_path: Path) -> None:
    write_instance(tmp_path / "hand.json", hand_instance())
    entries = [
        f"[[solvers]]\nname = 'exec'\nseconds = 3\noptions.command = {json.dumps(command(name, tmp_path))}\n"
        for name in PLANNERS
    ]
    text = "name = 'x'\nsummary = 'x'\nseeds = [0]\n[[instances]]\nfiles = ['hand.json']\n" + "\n".join(entries)
    (tmp_path / "suite.toml").write_text(text, encoding="utf-8")
    run_suite(str(tmp_path / "suite.toml"), tmp_path / "out", jobs=2)
    found = {Path(shlex.split(each.options["command"])[1]).stem: each for each in Store(tmp_path / "out").records()}
    assert set(found) == {name.replace(" ", "-") for name in PLANNERS}
    for name, (status, ended, reason) in EXPECTED.items():
        record: Record = found[name.replace(" ", "-")]
        assert (record.status, record.ended) == (status, ended), name
        assert (reason or "") in (record.reason or ""), name
        assert record.value == (pytest.approx(3.9) if status is Status.FEASIBLE else None), name
        assert record.bound is None, name
    assert verify_store(Store(tmp_path / "out")) == []


def test_a_better_plan_counts_as_soon_as_it_is_written(tmp_path: Path) -> None:
    instance = hand_instance(groups__0__count=2)
    slow = json.dumps({"micro_batch": 1, "layers": [2], "pipelines": [["b/0"]]})
    planner = tmp_path / "improves.py"
    planner.write_text(
        "import sys, time\nfor text in sys.argv[3:]:\n    open(sys.argv[2], 'w').write(text)\n    time.sleep(0.3)\n",
        encoding="utf-8",
    )
    words = [sys.executable, str(planner), "{instance}", "{plan}", slow, GOOD, slow]
    result = solve_request(instance, "exec", {"command": shlex.join(words)}, "time", Budget(20))
    assert result.status is Status.FEASIBLE
    values = [point.value for point in result.trace]
    assert values == sorted(values, reverse=True)
    assert result.value == values[-1]
    assert result.evaluations == 3


def test_what_it_starts_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    words = ["sh", "-c", f"sleep 60 & echo $! > {note}; wait # {{instance}} {{plan}}"]
    result = solve_request(hand_instance(), "exec", {"command": shlex.join(words)}, "time", Budget(1.0))
    assert result.ended == "time_limit"
    assert gone(int(note.read_text()))


def test_its_cpu_seconds_are_those_of_the_command(tmp_path: Path) -> None:
    planner = tmp_path / "busy.py"
    planner.write_text("import time\nwhile time.process_time() < 0.5: pass\n", encoding="utf-8")
    words = f"{sys.executable} {planner} {{instance}} {{plan}}"
    result = solve_request(hand_instance(), "exec", {"command": words}, "time", Budget(60))
    assert result.cpu_s is not None
    assert result.cpu_s >= 0.5


def test_it_gets_what_it_asks_for(tmp_path: Path) -> None:
    note = tmp_path / "said"
    script = f"cat {{goal}} > {note}; echo {{seed}} {{threads}} {{time_limit}} >> {note} # {{instance}} {{plan}}"
    options = {"command": shlex.join(["sh", "-c", script])}
    solve_request(hand_instance(), "exec", options, "weighted:0.5", Budget(7.5, None, 11, 2))
    goal, rest = note.read_text().split("}")
    assert json.loads(goal + "}")["time_weight"] > 0
    assert rest.split() == ["11", "2", "7.5"]


def test_an_edited_planner_is_other_code(tmp_path: Path) -> None:
    options = {"command": command("good", tmp_path)}
    before = solver_digest("exec", options)
    (tmp_path / "good.py").write_text(PLANNERS["good"] + "\n# better\n", encoding="utf-8")
    assert solver_digest("exec", options) != before
    (tmp_path / "good.py").write_text(PLANNERS["good"], encoding="utf-8")
    assert solver_digest("exec", options) == before


@pytest.mark.parametrize("words", ["", "planner", "planner {instance}", "planner {instance} '{plan}"])
def test_a_command_that_cannot_work_is_refused(words: str) -> None:
    with pytest.raises(InputError, match=r"solver exec: option command: (has no|No closing)"):
        solve_request(hand_instance(), "exec", {"command": words}, "time", Budget(5))


def test_a_command_that_does_not_exist_is_named() -> None:
    started = time.monotonic()
    result = solve_request(hand_instance(), "exec", {"command": "./nowhere {instance} {plan}"}, "time", Budget(60))
    assert result.status is Status.ERROR
    assert "./nowhere: cannot be started: No such file" in (result.reason or "")
    assert time.monotonic() - started < 50
