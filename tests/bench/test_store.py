"""The run folder: whole lines, one writer, one suite, one row for each run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.records.record import SCHEMA
from bench.runs.store import Store
from instances.errors import InputError
from tests.bench.folders import CODE, GOOD, NOTHING, POOR, folder_with, record, task
from tests.editing import hand_instance


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    tasks = [task("megatron"), task("memetic", seed=1)]
    store = folder_with(tmp_path / "run", [(tasks[0], GOOD), (tasks[1], None)])
    again = Store(tmp_path / "run")
    assert again.records() == store.records() == [record(tasks[0], GOOD)]
    assert [run.key for run in again.asked().runs] == [run.key for run in tasks]
    assert again.asked().suite == "made-up"
    assert again.instance(tasks[0].asked) == hand_instance()


def test_a_record_carries_all_that_makes_it_comparable(tmp_path: Path) -> None:
    made = record(task("megatron", seed=3), GOOD)
    assert made.schema_ == SCHEMA
    assert made.instance_hash == hand_instance().content_hash
    assert made.cost_model_version == 1
    assert (made.status, made.ended, made.seed) == ("feasible", "finished", 3)
    assert made.versions["numpy"]
    assert made.machine.cores >= 1
    assert made.breakdown.pipeline_s == made.time_s == pytest.approx(3.9)
    assert made.timed_alone
    assert made.code == CODE
    json.dumps(made.to_json(), allow_nan=False)


def test_a_line_that_a_crash_cut_short_is_dropped_and_only_that_one(tmp_path: Path) -> None:
    first, second = task("megatron"), task("memetic")
    store = folder_with(tmp_path, [(first, GOOD), (second, POOR)])
    runs = tmp_path / "runs.jsonl"
    whole = runs.read_bytes()
    for kept in (whole[:-1], whole[:-100], whole + b'{"key": "half'):
        runs.write_bytes(kept)
        expected = [json.loads(line)["key"] for line in kept.decode().split("\n")[:-1]]
        assert [r.key for r in store.records()] == expected
    with store.writing():
        store.append(record(task("brute"), GOOD))
    assert [r.solver for r in store.records()] == ["megatron", "memetic", "brute"]
    assert runs.read_bytes().startswith(whole)


def test_the_last_record_of_a_run_counts_and_rows_are_not_doubled(tmp_path: Path) -> None:
    first, second = task("megatron"), task("memetic")
    store = folder_with(tmp_path, [(first, NOTHING), (second, POOR)])
    with store.writing():
        store.append(record(first, GOOD))
    assert [(r.solver, r.status) for r in store.records()] == [("megatron", "feasible"), ("memetic", "feasible")]


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with (
        Store(tmp_path).writing(),
        pytest.raises(InputError, match="another run is writing to this folder"),
        Store(tmp_path).writing(),
    ):
        pass
    with Store(tmp_path).writing():
        pass


def test_a_folder_of_another_suite_is_refused(tmp_path: Path) -> None:
    store = folder_with(tmp_path, [(task(), GOOD)], suite="mine")
    with pytest.raises(InputError, match="holds results of suite mine; name another folder or use --fresh"):
        store.plan("yours", [task()])
    store.clear()
    store.plan("yours", [task()])
    assert store.records() == []
    assert store.asked().suite == "yours"


def test_clearing_leaves_what_is_not_ours(tmp_path: Path) -> None:
    store = folder_with(tmp_path, [(task(), GOOD)])
    (tmp_path / "notes.txt").write_text("mine")
    store.clear()
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "runs.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}\n", "line 1: schema: is required"),
        ("[]\n", "line 1: schema: is required"),
        ('{"schema": "geotrain-bench/record/99", "key": "x"}\n', "line 1: schema: is not"),
        ("{\n", "line 1: is not valid JSON"),
        ('{"value": NaN}\n', "line 1: value: is not a number"),
    ],
)
def test_a_line_that_is_no_record_is_refused_by_its_number(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "runs.jsonl").write_text(text)
    with pytest.raises(InputError, match=reason):
        Store(tmp_path).records()


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no run of a suite \(there is no suite.json\)"):
        Store(tmp_path).asked()
    (tmp_path / "suite.json").write_text('{"schema": "other"}')
    with pytest.raises(InputError, match="schema: is not 'geotrain-bench/plan-of-runs/1', found 'other'"):
        Store(tmp_path).asked()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"), Store(tmp_path / "file" / "run").writing():
        pass


def test_a_key_depends_on_all_that_can_change_a_result_and_on_nothing_else() -> None:
    base = task("memetic", seed=1, starts="3", elites="4")
    assert task("memetic", seed=1, elites="4", starts="3").key == base.key
    others = [
        task("memetic", seed=2, starts="3", elites="4"),
        task("memetic", seed=1, starts="2", elites="4"),
        task("memetic", seed=1, starts="3"),
        task("brute", seed=1, starts="3", elites="4"),
        task("memetic", seed=1, objective="energy", starts="3", elites="4"),
        task("memetic", seed=1, instance=hand_instance(name="other"), starts="3", elites="4"),
        task("memetic", seed=1, instance=hand_instance(model__vocab=101), starts="3", elites="4"),
        replace(base, code="of another day"),
    ]
    assert len({run.key for run in [base, *others]}) == 1 + len(others)
