"""Disks, locks, encodings and terminals that refuse: one line, exit status 2, nothing lost or half-written."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from bench.reporting.plots.files import save
from bench.reporting.plots.plan import plan_figure
from bench.runs.store import Store
from instances.disk import write_text
from instances.errors import InputError
from instances.files import write_instance
from tests.bench.folders import FAST, GOOD, POOR, folder_with, record, task
from tests.bench.test_cli import INSTANCE, PLAN, ROOT, Call, call, command  # noqa: F401 - a fixture
from tests.editing import hand_instance

LONG_NAME = "x" * 300


def run_with(words: list[str], limit: int | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command with settings of its surroundings, and perhaps a limit on the size of files in bytes."""
    return subprocess.run(
        [sys.executable, "-m", "bench.cli.app", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        preexec_fn=None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """What a command complains of, which ended with exit status 2."""
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    return line.removeprefix("geotrain-bench: ")


# names and encodings


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_name_that_the_encoding_lacks_is_escaped_and_costs_no_answer(tmp_path: Path, encoding: str) -> None:
    write_instance(tmp_path / "pool.json", hand_instance(name="広島", groups__0__name="大阪"))
    words = ["solve", str(tmp_path / "pool.json"), "--solver", "brute"]
    done = run_with(words, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u5e83\\u5cf6" in done.stdout
    assert "3.9" in done.stdout
    plain = run_with([*words, "--json"], PYTHONIOENCODING=encoding)
    assert json.loads(plain.stdout)["instance"] == "広島"


def test_a_name_of_200_wide_letters_is_run_reported_and_verified(tmp_path: Path) -> None:
    write_instance(tmp_path / "pool.json", hand_instance(name="広" * 200))
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nsummary = "x"\n[[instances]]\nfiles = ["pool.json"]\n[[solvers]]\nname = "megatron"\n'
    )
    out = str(tmp_path / "out")
    for words in (["run", str(tmp_path / "mine.toml"), "--out", out], ["report", out], ["verify", out]):
        done = run_with(words, PYTHONIOENCODING="ascii")
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


# files that cannot be written


@pytest.mark.parametrize(
    "words",
    [
        ["solve", INSTANCE, "--solver", "brute", "--out", LONG_NAME],
        ["evaluate", LONG_NAME, PLAN],
        ["evaluate", INSTANCE, LONG_NAME],
        ["solve", INSTANCE, "--solver", "brute", "--start", LONG_NAME],
        ["generate", "cloud", "--gpus", "4", "--out", LONG_NAME],
        ["run", f"{LONG_NAME}.toml"],
        ["run", "demo", "--out", LONG_NAME],
        ["report", LONG_NAME],
        ["verify", LONG_NAME],
        ["best", LONG_NAME],
        ["best", "results/reference/demo", "--file", LONG_NAME],
        ["describe", f"{LONG_NAME}.json"],
    ],
    ids=lambda words: " ".join(word.replace(LONG_NAME, "...") for word in words[:1] + words[-1:]),
)
def test_a_path_that_is_too_long_is_one_line(call: Call, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.chdir(ROOT)
    answer = call(*words)
    assert (answer.code, LONG_NAME in answer.complaint) == (2, True)


def test_a_picture_with_a_name_that_is_too_long_costs_no_answer(call: Call, tmp_path: Path) -> None:  # noqa: F811
    answer = call("evaluate", INSTANCE, PLAN, "--json", "--picture", tmp_path / f"{LONG_NAME}.png")
    assert (answer.code, answer.json["feasible"]) == (2, True)
    assert answer.err.count("\n") == 1


def test_a_name_as_long_as_a_file_may_have_is_written(tmp_path: Path) -> None:
    write_text(tmp_path / ("y" * 250), "content")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["content"]


def test_a_folder_in_the_place_of_a_figure_is_one_line(call: Call, tmp_path: Path) -> None:  # noqa: F811
    folder_with(tmp_path, [(task("memetic"), None)])
    (tmp_path / "gaps.png").mkdir()
    answer = call("report", tmp_path)
    assert (answer.code, answer.complaint[: answer.complaint.rindex(":")]) == (
        2,
        f"{tmp_path / 'gaps.png'}: cannot be removed",
    )


def test_a_disk_that_is_full_leaves_no_half_of_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "plan.png"
    save(plan_figure(hand_instance(), FAST), picture)
    before = picture.read_bytes()
    done = run_with(["evaluate", INSTANCE, PLAN, "--json", "--picture", str(picture)], limit=2000)
    assert "plan.png: cannot be written: File too large" in one_line(done)
    assert json.loads(done.stdout)["feasible"]
    assert picture.read_bytes() == before
    assert list(tmp_path.iterdir()) == [picture]


def test_a_disk_that_is_full_takes_whole_records_only(tmp_path: Path) -> None:
    tasks = [task("megatron"), task("memetic")]
    store = folder_with(tmp_path, [(tasks[0], GOOD), (tasks[1], None)])
    size = (tmp_path / "runs.jsonl").stat().st_size
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, old[1]))
    try:
        with pytest.raises(
            InputError, match=r"runs.jsonl: cannot be written: File too large; earlier results are kept"
        ):
            store.append(record(tasks[1], POOR))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert (tmp_path / "runs.jsonl").stat().st_size == size
    store.append(record(tasks[1], POOR))
    assert len(store.records()) == 2


@pytest.mark.end_to_end
def test_runs_side_by_side_on_a_full_disk_end_in_one_line_and_go_on_later(tmp_path: Path) -> None:
    write_instance(tmp_path / "pool.json", hand_instance())
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nsummary = "x"\nseeds = [0, 1, 2, 3]\nbudget = { evaluations = 100 }\n'
        '[[instances]]\nfiles = ["pool.json"]\n[[solvers]]\nname = "random"\n'
    )
    words = ["run", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out"), "--jobs", "2"]
    done = run_with(words, limit=4000)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(
        f"geotrain-bench: {tmp_path / 'out' / 'runs.jsonl'}: cannot be written"
    )
    assert len(Store(tmp_path / "out").records()) < 4
    again = run_with(words)
    assert (again.returncode, len(Store(tmp_path / "out").records())) == (0, 4), again.stderr


@pytest.mark.parametrize("words", [["evaluate", INSTANCE, PLAN, "--json"], ["solvers"], ["evaluate", INSTANCE, PLAN]])
def test_standard_output_that_is_full_is_one_line(words: list[str]) -> None:
    program = f"{sys.executable} -m bench.cli.app {' '.join(words)} > /dev/full"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert one_line(done) == "standard output: cannot be written: No space left on device"


def test_a_plan_is_written_though_standard_output_is_full(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    program = f"{sys.executable} -m bench.cli.app solve {INSTANCE} --solver brute --json --out {out} > /dev/full"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert "standard output" in one_line(done)
    assert json.loads(out.read_text())["layers"] == [1, 1]


def test_a_plan_that_cannot_be_written_costs_no_answer(call: Call) -> None:  # noqa: F811
    answer = call("solve", INSTANCE, "--solver", "brute", "--json", "--out", "/dev/full")
    assert (answer.code, answer.json["status"]) == (2, "optimal")
    assert answer.err == "geotrain-bench: /dev/full: cannot be written: No space left on device\n"


# locks


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EWOULDBLOCK, "another run is writing to this folder; wait for its end or name another with --out"),
        (errno.ENOLCK, "cannot be locked: No locks available; name a folder on a local disk with --out"),
        (errno.ENOTSUP, "cannot be locked: Operation not supported; name a folder on a local disk with --out"),
    ],
)
def test_a_lock_that_is_refused_says_why_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    def refused(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(InputError) as error, Store(tmp_path).writing():
        pass
    assert str(error.value) == f"{tmp_path}: {reason}"


# terminals


def test_lists_are_folded_between_words_on_a_narrow_terminal(
    call: Call,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("solvers", "families", "suites"):
        whole = call(name).out
        with monkeypatch.context() as terminal:
            terminal.setattr("bench.cli.display.sys", _Terminal())
            folded = call(name).out
        assert max(map(len, folded.splitlines())) <= 80 < max(map(len, whole.splitlines()))
        assert folded.split() == whole.split()


class _Terminal:
    """What a list asks of the system, on a terminal."""

    stdout = type("stdout", (), {"isatty": staticmethod(lambda: True)})
    maxsize = sys.maxsize


@pytest.mark.end_to_end
def test_the_version_is_told() -> None:
    answer = command("--version")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("geotrain-bench 0.")
    assert "cost model version 1" in answer.out
