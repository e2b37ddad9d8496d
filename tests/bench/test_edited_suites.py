"""A suite or an instance file that is edited in place: old results stay valid and are named, none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.records.merge import merge_folders
from bench.records.record import Task
from bench.reporting.report import make_report, write_report
from bench.runs.run_suite import run_suite
from bench.runs.store import Store
from bench.verification.folder import verify_folder
from instances.files import write_instance
from solvers.core.interface import Outcome
from tests.bench.folders import GOOD, OPTIMAL, POOR, folder_with, record, task
from tests.bench.test_report import table_rows
from tests.editing import hand_instance

QUICKER = hand_instance(groups__0__flops=2 * hand_instance().groups[0].flops)


def planned(path: Path, then: list[tuple[Task, Outcome]], now: list[tuple[Task, Outcome]]) -> Store:
    """A folder of a suite that asked for other runs at first."""
    store = folder_with(path, list(then))
    with store.writing():
        store.plan("made-up", [run for run, _ in now])
        for run, outcome in now:
            store.append(record(run, outcome))
    return store


def test_an_instance_edited_in_place_leaves_its_old_results_valid(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nsummary = "x"\n[[instances]]\nfiles = ["pool.json"]\n[[solvers]]\nname = "megatron"\n'
    )
    values = []
    for instance in (hand_instance(), QUICKER):
        write_instance(tmp_path / "pool.json", instance)
        assert run_suite(str(tmp_path / "mine.toml"), tmp_path / "out", 1).finished == 1
        report, _ = write_report(Store(tmp_path / "out"))
        values.append(float(report.runs["value"][0]))
    assert values[1] < values[0]
    done = verify_folder(tmp_path / "out", None)
    assert (done.records, done.findings) == (2, [])
    merged = merge_folders([tmp_path / "out"], tmp_path / "best.jsonl")
    assert (merged.new, merged.of_older_contents) == (1, 1)
    assert report.beyond == [
        "1 of megatron for time, not asked for by the suite as it is now: of an older content of two-gpus-two-layers"
    ]


def test_a_folder_that_names_its_instances_by_name_alone_stays_valid_when_they_are_edited(tmp_path: Path) -> None:
    store = folder_with(tmp_path, [(task(), GOOD)])
    (file,) = (tmp_path / "instances").iterdir()
    file.rename(file.with_name("two-gpus-two-layers.json"))
    assert verify_folder(tmp_path, None).findings == []
    with store.writing():
        store.plan("made-up", [task(instance=QUICKER)])
        store.append(record(task(instance=QUICKER), GOOD))
    assert verify_folder(tmp_path, None).findings == []


@pytest.mark.parametrize("name", ["広" * 200, "..", "a b\\c:d", "x" * 200, "NUL"])
def test_any_name_can_be_stored(tmp_path: Path, name: str) -> None:
    run = task(instance=hand_instance(name=name))
    store = folder_with(tmp_path, [(run, GOOD)])
    (file,) = (tmp_path / "instances").iterdir()
    assert file.name.isascii()
    assert len(file.name) < 100
    assert store.instance(run.asked) == run.instance
    assert verify_folder(tmp_path, None).findings == []


def test_results_that_the_suite_no_longer_asks_for_are_named_and_their_truth_counts(tmp_path: Path) -> None:
    """megatron 7.3 s and 819 J; the proven optimum is 3.9 s."""
    then = [(task("megatron"), POOR), (task("brute"), OPTIMAL), (task("memetic", instance=QUICKER), GOOD)]
    store = planned(tmp_path, then, [(task("memetic"), GOOD)])
    report = make_report(store)
    (row,) = table_rows(report.table)
    assert (row["solver"], row["solved"], row["optimality gap"]) == ("memetic", "1/1", "0 %")
    assert (row["time saved vs megatron"], row["energy saved vs megatron"]) == ("+46.58 %", "+13.92 %")
    assert report.beyond == [
        "1 of megatron for time, not asked for by the suite as it is now",
        "1 of brute for time, not asked for by the suite as it is now",
        "1 of memetic for time, not asked for by the suite as it is now: of an older content of two-gpus-two-layers",
    ]
    assert all(line in report.markdown([]) for line in report.beyond)
    assert len(report.runs) == len(report.summary) == 1


def test_verify_sees_contradictions_with_results_that_are_not_asked_for(tmp_path: Path) -> None:
    claim = Outcome(OPTIMAL.status, POOR.plan, bound=7.3 * (1 - 1e-12))
    store = planned(tmp_path, [(task("brute"), claim)], [(task("memetic"), GOOD)])
    findings = verify_folder(store.folder, None).findings
    assert len(findings) == 1
    assert "proves the bound" in findings[0]
