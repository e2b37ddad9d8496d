"""Results of other code: never taken silently, kept on purpose only, and always readable."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.records.record import Record
from bench.records.task import Task
from bench.reporting.report import make_report
from bench.runs import run_suite as running
from bench.runs.isolated import Termination
from bench.runs.run_suite import run_suite
from bench.runs.run_tasks import pending
from bench.runs.store import Store
from bench.runs.suite import read_suite, tasks_of
from bench.verification.folder import verify_folder
from instances.errors import InputError
from instances.files import model_from_json, write_instance
from solvers.core import registry
from solvers.core.sources import _digest, solver_digest
from tests.bench.folders import ERROR, GOOD, folder_with, record, task
from tests.editing import hand_instance

SOLVER = '''
from dataclasses import dataclass
from typing import ClassVar

from solvers.core.interface import Outcome, Proof, Solver, Status


@dataclass(frozen=True)
class Changing(Solver):
    """Finds nothing."""

    name: ClassVar[str] = "changing"
    summary: ClassVar[str] = "only for tests"

    def solve(self, problem, budget, monitor):
        return Outcome(Status.UNKNOWN)  # so far
'''
SUITE = """
name = "made-up"
summary = "one run"
[[instances]]
files = ["instance.json"]
[[solvers]]
name = "changing"
"""
Change = Callable[[str, str], None]


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Change]:
    """Replaces text in the source of a plug-in that is known in this process."""
    (tmp_path / "plugin").mkdir()
    file = tmp_path / "plugin" / "changing_solver.py"
    file.write_text(SOLVER)
    spec = importlib.util.spec_from_file_location("changing_solver", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "changing_solver", module)
    spec.loader.exec_module(module)
    monkeypatch.setitem(registry._FOUND, "changing", module.Changing)
    _digest.cache_clear()

    def replace(old: str, new: str) -> None:
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        _digest.cache_clear()

    yield replace
    _digest.cache_clear()


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """What `run_suite` would run, in place of running it."""
    write_instance(tmp_path / "instance.json", hand_instance())
    (tmp_path / "suite.toml").write_text(SUITE)
    found: list[Task] = []
    monkeypatch.setattr(running, "run_tasks", lambda store, tasks, *_: found.extend(tasks))
    return found


def done(folder: Path) -> Store:
    """The suite's folder after its one run, by the code of now."""
    suite, base = read_suite(str(folder / "suite.toml"))
    return folder_with(folder / "out", [(each, GOOD) for each in tasks_of(suite, base, "suite.toml")])


def again(folder: Path, **options: bool) -> running.SuiteRun:
    return run_suite(str(folder / "suite.toml"), folder / "out", 1, **options)


def test_comments_and_docstrings_do_not_count(tmp_path: Path, change: Change, asked: list[Task]) -> None:
    done(tmp_path)
    change('"""Finds nothing."""', '"""Finds nothing at all, in other words."""')
    change("# so far", "# and will not")
    answer = again(tmp_path)
    assert (answer.finished, answer.kept, asked) == (1, 0, [])


def test_results_of_a_solver_that_was_changed_are_refused_with_both_digests(
    tmp_path: Path, change: Change, asked: list[Task]
) -> None:
    (before,) = done(tmp_path).records()
    change("Status.UNKNOWN", "Status.INFEASIBLE")
    now = solver_digest("changing")
    assert before.code not in (None, now)
    with pytest.raises(InputError) as refusal:
        again(tmp_path)
    assert str(refusal.value) == (
        f"{tmp_path / 'out'}: holds results of other code: 1 of changing (code {before.code}, now {now}); "
        "--fresh starts over, --keep takes them"
    )
    assert asked == []
    assert Store(tmp_path / "out").records() == [before]


def test_fresh_starts_over(tmp_path: Path, change: Change, asked: list[Task]) -> None:
    store = done(tmp_path)
    change("Status.UNKNOWN", "Status.INFEASIBLE")
    again(tmp_path, fresh=True)
    assert [(each.solver, each.code) for each in asked] == [("changing", solver_digest("changing"))]
    assert store.records() == []


def test_what_is_kept_counts_as_done_and_the_report_says_so(tmp_path: Path, change: Change, asked: list[Task]) -> None:
    store = done(tmp_path)
    (before,) = store.records()
    assert not [line for line in make_report(store).origin if "other code" in line]
    change("Status.UNKNOWN", "Status.INFEASIBLE")
    answer = again(tmp_path, keep=True)
    assert (answer.asked, answer.finished, answer.kept, asked) == (1, 1, 1, [])
    report = make_report(store)
    assert (report.missing, len(report.runs)) == ([], 1)
    assert [line for line in report.origin if "other code" in line] == [
        f"results of other code were kept: 1 of changing (code {before.code}, the other runs are of "
        f"{solver_digest('changing')})"
    ]
    assert verify_folder(store.folder, None).findings == []
    with pytest.raises(InputError, match="--keep"):  # not once for all
        again(tmp_path)


def without_code(made: Record) -> Record:
    """The record as it was written before records named their code."""
    content = {key: value for key, value in made.to_json().items() if key not in ("code", "warm_up_s")}
    return model_from_json(Record, {**content, "key": made.key_without_code, "compile_s": 0.0}, "old").sealed()


def test_a_record_that_names_no_code_is_of_other_code_and_verified_all_the_same(tmp_path: Path) -> None:
    run = task("megatron")
    store = folder_with(tmp_path, [(run, None)])
    old = without_code(record(run, GOOD))
    assert old.code is None
    assert "code" not in old.to_json()
    store.append(old)
    assert store.other_code([run]) == {run.key: old}
    assert verify_folder(tmp_path, None).findings == []


def test_a_result_of_todays_code_stands_beside_one_of_other_code(tmp_path: Path) -> None:
    run = task("megatron")
    store = folder_with(tmp_path, [(run, GOOD)])
    store.append(without_code(record(run, GOOD)))
    assert store.other_code([run]) == {}
    assert pending(store, [run]) == []


def test_a_run_that_could_not_start_is_tried_again_and_named(tmp_path: Path) -> None:
    run = task("memetic")
    store = folder_with(tmp_path, [(run, None)])
    store.append(record(run, ERROR, Termination.NOT_STARTED, "not started: the warm-up took longer than 900 s"))
    assert pending(store, [run]) == [run]
    assert store.other_code([task("memetic", objective="energy")]) == {}
    report = make_report(store)
    assert report.problems == [f"{run_title(store)}: not_started: not started: the warm-up took longer than 900 s"]
    assert report.runs["ended"].tolist() == ["not_started"]
    store.append(record(run, GOOD))
    assert (pending(store, [run]), make_report(store).problems) == ([], [])


def run_title(store: Store) -> str:
    return store.asked().runs[0].title
