"""The engine under fire: memory limits, logs, a dry run, and kills of the runner and its children at any moment."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from bench.cli.options import byte_count
from bench.records.record import Record
from bench.runs.run_suite import foresee, run_suite
from bench.runs.run_tasks import run_tasks
from bench.runs.solve import solve_request
from bench.runs.store import Store
from bench.verification.folder import verify_store
from instances.errors import InputError
from solvers.core import registry
from solvers.core.interface import Budget, Status
from tests.bench.folders import task
from tests.bench.misbehaving import SOLVERS, Name
from tests.editing import HAND_PLAN, hand_instance

ROOT = Path(__file__).parent.parent.parent
EATER = """
import sys, time
open(sys.argv[2], "w").write(sys.argv[3])
eaten = []
while True:
    eaten.append(b"x" * 50_000_000)
    time.sleep(0.02)
"""


def test_a_planner_that_eats_memory_is_stopped_and_its_plan_kept(tmp_path: Path) -> None:
    planner = tmp_path / "eater.py"
    planner.write_text(EATER, encoding="utf-8")
    words = [sys.executable, str(planner), "{instance}", "{plan}", json.dumps(HAND_PLAN)]
    options = {"command": shlex.join(words)}
    result = solve_request(hand_instance(), "exec", options, "time", Budget(60), memory=byte_count("1GiB"))
    assert result.ended == "out_of_memory"
    assert "the limit is 1,024 MiB" in (result.reason or "")
    assert (result.status, result.value) == (Status.FEASIBLE, pytest.approx(3.9))
    assert result.wall_s < 50


def test_what_fits_the_memory_is_not_stopped() -> None:
    result = solve_request(hand_instance(), "megatron", {}, "time", Budget(60), memory=byte_count("4GiB"))
    assert result.ended == "finished"
    tight = solve_request(hand_instance(), "brute", {}, "time", Budget(60), memory=byte_count("10MB"))
    assert (tight.status, tight.ended) == (Status.ERROR, "not_started")
    assert "the warm-up took" in (tight.reason or "")


@pytest.mark.parametrize(("text", "size"), [("2GiB", 2 << 30), ("500MB", 500_000_000), ("1.5 kib", 1536), ("7", 7)])
def test_sizes_are_read(text: str, size: int) -> None:
    assert byte_count(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1GiB", "0", "1GX", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--memory"):
        byte_count(text)


def test_what_a_run_prints_is_kept_and_silence_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._FOUND, "chatty", SOLVERS["chatty"])
    store, tasks = Store(tmp_path), [task(Name("chatty")), task("megatron")]
    run_tasks(store, tasks, 1, lambda record: None)
    logs = list((tmp_path / "logs").iterdir())
    assert logs == [store.log_file(tasks[0].key)]
    assert logs[0].read_text(encoding="utf-8") == "Welcome to the solver\nfrom C\n"


SUITE = """
name = "kills"
summary = "many short runs"
seeds = [{seeds}]
[[instances]]
family = "uniform"
gpus = [3, 4]
[[solvers]]
name = "megatron"
[[solvers]]
name = "random"
evaluations = 3000
[[solvers]]
name = "memetic"
evaluations = 20000
"""


def suite(folder: Path, seeds: int) -> Path:
    path = folder / "suite.toml"
    path.write_text(SUITE.format(seeds=", ".join(map(str, range(seeds)))), encoding="utf-8")
    return path


def test_a_dry_run_says_what_is_to_do_and_writes_nothing(tmp_path: Path) -> None:
    path = suite(tmp_path, 2)
    path.write_text(path.read_text().replace("evaluations = 3000", "seconds = 7"), encoding="utf-8")
    out = tmp_path / "out"
    found = {row.solver: row for row in foresee(str(path), out)}
    assert {name: (row.runs, row.done, row.seconds) for name, row in found.items()} == {
        "megatron": (2, 0, None),
        "random": (4, 0, 28.0),
        "memetic": (4, 0, None),
    }
    assert not out.exists()
    path.write_text(path.read_text().replace("seconds = 7", "seconds = 0.1"), encoding="utf-8")
    run_suite(str(path), out, 2)
    assert [row.done for row in foresee(str(path), out)] == [2, 4, 4]


def values(records: list[Record]) -> dict[str, object]:
    """What must not depend on what was killed."""
    return {record.key: (record.status, record.value, record.plan, record.evaluations) for record in records}


def run_under_fire(folder: Path, path: Path, draw: random.Random) -> int:
    """Run a suite whose runner and children are killed at random moments, and begun again; how often."""
    kills, patience = 0, 2.0
    command = [sys.executable, "-m", "bench.cli.app", "run", str(path), "--out", str(folder), "--jobs", "2"]
    while True:
        child = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + draw.uniform(1.0, patience)
        patience *= 1.5  # on a busy machine nothing would ever finish
        while child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if child.poll() is not None:
            if child.returncode == 0:
                return kills
            continue
        own = psutil.Process(child.pid)
        victim = draw.choice([own, *own.children(recursive=True)])
        with suppress(psutil.NoSuchProcess):
            victim.send_signal(signal.SIGKILL)
            kills += 1
        if draw.random() < 0.5:
            own.send_signal(signal.SIGKILL)  # else it goes on without its child
        child.wait()


def check_kills(tmp_path: Path, seeds: int, seed: int) -> int:
    path = suite(tmp_path, seeds)
    quiet, shot = tmp_path / "quiet", tmp_path / f"shot-{seed}"
    if not quiet.exists():
        run_suite(str(path), quiet, 2)
    kills = run_under_fire(shot, path, random.Random(seed))
    store = Store(shot)
    keys = [record.key for record in store.written()]
    final = [record.key for record in store.written() if record.final]
    assert len(final) == len(set(final)) == len(store.asked().runs)
    assert set(keys) == {run.key for run in store.asked().runs}
    assert values(store.records()) == values(Store(quiet).records())
    assert verify_store(store) == []
    return kills


def test_kills_of_the_runner_and_its_children_lose_nothing(tmp_path: Path) -> None:
    assert check_kills(tmp_path, 2, 1) >= 0


@pytest.mark.wide
def test_kills_of_the_runner_and_its_children_lose_nothing_ten_times(tmp_path: Path) -> None:
    """62 runs: two instances, megatron once, the random solvers with 15 seeds each."""
    assert sum(check_kills(tmp_path, 15, seed) for seed in range(10)) >= 10
