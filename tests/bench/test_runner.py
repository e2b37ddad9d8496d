"""A suite's runs: stored as they finish, done once, tried again after a crash, kept on Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.records.record import Record
from bench.records.task import Task
from bench.runs.run_tasks import pending, run_tasks
from bench.runs.store import Store
from instances.files import write_instance
from solvers.core import registry
from tests.bench.folders import task
from tests.bench.misbehaving import SOLVERS, Name
from tests.editing import hand_instance

ROOT = Path(__file__).parent.parent.parent
SUITE = """
name = "mine"
summary = "one quick run and one that takes for ever"
[[instances]]
files = ["instance.json"]
[[solvers]]
name = "megatron"
[[solvers]]
name = "memetic"
seconds = 600
"""


@pytest.fixture(autouse=True)
def _known_here_for_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in SOLVERS.items():
        monkeypatch.setitem(registry._FOUND, name, kind)


def run(store: Store, tasks: list[Task], jobs: int = 1) -> list[Record]:
    """Run what is missing, as the command does; the records that were made."""
    made: list[Record] = []
    with store.writing():
        store.plan("mine", tasks)
        run_tasks(store, pending(store, tasks), jobs, made.append)
    return made


def test_every_run_is_stored_and_none_is_done_twice(tmp_path: Path) -> None:
    store, tasks = Store(tmp_path), [task("megatron"), task("megatron", objective="energy")]
    assert [record.key for record in run(store, tasks)] == [run.key for run in tasks]
    assert run(store, tasks) == []
    assert len(store.records()) == 2
    assert all(record.timed_alone for record in store.records())


def test_a_suite_that_grew_goes_on_with_what_is_new(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run(store, [task("megatron")])
    made = run(store, [task("megatron", objective="energy"), task("megatron")])
    assert [record.objective for record in made] == ["energy"]
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 2


def test_runs_side_by_side_say_so_and_give_the_same_values(tmp_path: Path) -> None:
    tasks = [task("megatron", objective=objective) for objective in ("time", "energy", "weighted:0.5")]
    alone, together = Store(tmp_path / "1"), Store(tmp_path / "2")
    run(alone, tasks)
    run(together, tasks, jobs=3)
    values = {record.key: record.value for record in alone.records()}
    assert {record.key: record.value for record in together.records()} == values
    assert not any(record.timed_alone for record in together.records())


def test_a_crash_is_stored_as_one_and_tried_again(tmp_path: Path) -> None:
    store, tasks = Store(tmp_path), [task(Name("crashing")), task("megatron")]
    crashed, fine = run(store, tasks)
    assert (crashed.status, crashed.ended) == ("error", "crashed")
    assert crashed.reason == "RuntimeError: the model is wrong"
    assert (crashed.plan, crashed.value, crashed.time_s, crashed.breakdown) == (None, None, None, None)
    assert fine.status == "feasible"
    assert [run.key for run in pending(store, tasks)] == [crashed.key]
    run(store, tasks)
    assert len(store.records()) == 2


@pytest.mark.parametrize("name", ["starving", "killed"])
def test_want_of_memory_is_no_final_result(tmp_path: Path, name: str) -> None:
    store, tasks = Store(tmp_path), [task(Name(name))]
    (record,) = run(store, tasks)
    assert (record.ended, record.status) == ("out_of_memory", "feasible")
    assert record.value == pytest.approx(3.9)
    assert pending(store, tasks) == tasks


@pytest.mark.parametrize("name", ["careless", "contradicting"])
def test_an_answer_that_the_referee_refuses_is_an_error(tmp_path: Path, name: str) -> None:
    store, tasks = Store(tmp_path), [task(Name(name))]
    (record,) = run(store, tasks)
    assert (record.ended, record.status, record.value) == ("finished", "error", None)
    assert "the solver" in record.reason
    assert pending(store, tasks) == tasks


def test_a_false_claim_is_stored_without_it(tmp_path: Path) -> None:
    (record,) = run(Store(tmp_path), [task(Name("boasting"))])
    assert (record.status, record.gap, record.bound) == ("feasible", None, None)
    assert "claims optimality" in record.reason


def marked(mark: str) -> list[int]:
    """Processes that inherited a variable of the environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"GEOTRAIN_TEST_MARK={mark}".encode() in words:
            found.append(int(folder.name))
    return found


@pytest.mark.end_to_end
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes through /proc")
def test_ctrl_c_keeps_what_finished_leaves_no_child_and_exits_with_130(tmp_path: Path) -> None:
    write_instance(tmp_path / "instance.json", hand_instance())
    (tmp_path / "suite.toml").write_text(SUITE)
    mark = str(tmp_path)
    words = [sys.executable, "-m", "bench.cli.app", "run", str(tmp_path / "suite.toml"), "--out", str(tmp_path / "run")]
    process = subprocess.Popen(
        words,
        cwd=ROOT,
        env={**os.environ, "GEOTRAIN_TEST_MARK": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A parent that ignores Ctrl-C, as a background job of a shell does, hands that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    runs = tmp_path / "run" / "runs.jsonl"
    deadline = time.monotonic() + 120
    while not (runs.exists() and runs.read_text().endswith("\n")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    assert "1 of 2 runs are left; the same command goes on" in " ".join(err.split())
    assert [json.loads(line)["solver"] for line in runs.read_text().splitlines()] == ["megatron"]
    while marked(mark):
        assert time.monotonic() < deadline, f"still there: {marked(mark)}"
        time.sleep(0.05)
