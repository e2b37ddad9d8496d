"""Best known values: better ones are merged, wrong ones refused, contradictions name both, reports read them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import bench.records.merge
from bench.records.best_known import best_known, default_file, read_best_known, write_best_known
from bench.records.merge import Merged, merge_folders
from bench.records.task import Task
from bench.reporting.frames import runs_table, with_truth
from bench.reporting.metrics import ContradictionError
from bench.runs.store import Store
from bench.verification.folder import best_known_findings
from instances.errors import InputError
from instances.files import PlanFile
from instances.instance import COST_MODEL_VERSION
from solvers.core import registry
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Proof, Solver, Status
from solvers.placements.uniform import reference_of
from tests.bench.folders import EMPTY, FAST, GOOD, NOTHING, OPTIMAL, POOR, SLOW, folder_with, record, task
from tests.bench.shipped import instances_by_suite
from tests.editing import hand_instance

HAND = hand_instance()


@dataclass(frozen=True)
class BoundOnly(Solver):
    """A method that declares to prove bounds and nothing else."""

    name: ClassVar[str] = "bound"
    summary: ClassVar[str] = "for these tests"
    proves: ClassVar[Proof] = Proof.BOUND

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        return NOTHING


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.solver_types()
    monkeypatch.setitem(registry._FOUND, "bound", BoundOnly)


def merged(path: Path, *runs: tuple[Task, Outcome]) -> Merged:
    """Merge a folder with these runs into `path/best.jsonl`."""
    number = len(list(path.glob("run-*")))
    folder_with(path / f"run-{number}", list(runs))
    return merge_folders([path / f"run-{number}"], path / "best.jsonl")


def entries(path: Path) -> list[Any]:
    return list(read_best_known(path / "best.jsonl").values())


def test_better_values_and_bounds_are_merged_each_with_its_credit(tmp_path: Path) -> None:
    assert merged(tmp_path, (task("megatron"), POOR)).new == 1
    (first,) = entries(tmp_path)
    assert (first.value, first.bound, first.value_by.solver, first.proven) == (
        pytest.approx(7.3),
        None,
        "megatron",
        False,
    )
    answer = merged(tmp_path, (task("memetic", 3), GOOD), (task("bound"), Outcome(Status.UNKNOWN, bound=3.0)))
    assert (answer.new, answer.better_values, answer.better_bounds) == (0, 1, 1)
    (second,) = entries(tmp_path)
    assert (second.value, second.bound) == (pytest.approx(3.9), 3.0)
    assert (second.value_by.solver, second.value_by.seed, second.bound_by.solver) == ("memetic", 3, "bound")
    assert merged(tmp_path, (task("brute"), OPTIMAL)).proven == 1
    (third,) = entries(tmp_path)
    assert (third.value_by.solver, third.bound_by.solver) == ("memetic", "brute")  # an equal value changes nothing


def test_a_bound_waits_for_no_order_of_runs(tmp_path: Path) -> None:
    merged(tmp_path, (task("bound"), Outcome(Status.UNKNOWN, bound=3.0)), (task("memetic"), GOOD))
    assert entries(tmp_path)[0].bound == 3.0


def test_worse_values_runs_without_a_plan_and_fronts_change_nothing(tmp_path: Path) -> None:
    merged(tmp_path, (task("memetic"), GOOD))
    before = (tmp_path / "best.jsonl").read_bytes()
    front = (task("brute", objective="front"), Outcome(Status.OPTIMAL, front=(FAST,)))
    answer = merged(tmp_path, (task("megatron"), POOR), (task("random"), NOTHING), front)
    assert (answer.entries, answer.new, answer.better_values) == (1, 0, 0)
    assert (tmp_path / "best.jsonl").read_bytes() == before


def test_a_relative_objective_has_an_entry_for_each_reference(tmp_path: Path) -> None:
    merged(tmp_path, (task("memetic", objective="weighted:0.5"), GOOD), (task("memetic", objective="energy"), GOOD))
    by_objective = {entry.objective: entry for entry in entries(tmp_path)}
    assert by_objective["energy"].reference is None
    assert by_objective["weighted:0.5"].reference.time_s == reference_of(HAND).time_s  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"value": 3.8}, "value is 3.8"),
        ({"bound": 4.5}, "the bound 4.5 lies above the value"),
        ({"cost_model_version": COST_MODEL_VERSION + 1}, "cost-model version"),
        ({"instance_hash": "0" * 64}, "content hash"),
    ],
)
def test_a_record_that_the_referee_refutes_is_refused_whole(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    store = folder_with(tmp_path / "run", [(task("memetic"), GOOD), (task("megatron"), POOR)])
    store.append(record(task("memetic"), GOOD).model_copy(update=change).sealed())
    with pytest.raises(InputError, match=words) as refusal:
        merge_folders([tmp_path / "run"], tmp_path / "best.jsonl")
    assert "memetic" in str(refusal.value)
    assert not (tmp_path / "best.jsonl").exists()


def test_another_content_of_the_same_name_is_refused(tmp_path: Path) -> None:
    merged(tmp_path, (task("memetic"), GOOD))
    other = hand_instance(groups__0__memory=2 * HAND.groups[0].memory)
    with pytest.raises(InputError, match=f"content hash: .*{HAND.content_hash}.*{other.content_hash}"):
        merged(tmp_path, (task("memetic", instance=other), GOOD))


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ((task("brute"), OPTIMAL), None, ("brute", "random")),
        ((task("random"), POOR), (task("brute"), EMPTY), ("brute", "random")),
    ],
)
def test_a_contradiction_names_both(
    tmp_path: Path, first: tuple[Task, Outcome], second: tuple[Task, Outcome] | None, names: tuple[str, str]
) -> None:
    merged(tmp_path, first)
    if second is None:
        # A bound that lies above a plan: raised in the file, since no honest run would say so.
        (entry,) = entries(tmp_path)
        poorer = {"value": 7.3, "bound": 7.0}
        write_best_known(tmp_path / "best.jsonl", [entry.model_copy(update=poorer)])
        second = (task("random"), GOOD)
    with pytest.raises(ContradictionError) as contradiction:
        merged(tmp_path, second)
    assert all(name in str(contradiction.value) for name in names)


def test_a_file_is_read_strictly(tmp_path: Path) -> None:
    merged(tmp_path, (task("memetic"), GOOD))
    file = tmp_path / "best.jsonl"
    line = json.loads(file.read_text())
    for change, words in (({"value": -1.0}, "value"), ({"extra": 1}, "unknown key"), ({"schema": "x"}, "schema")):
        file.write_text(json.dumps({**line, **change}) + "\n")
        with pytest.raises(InputError, match=f"line 1: .*{words}"):
            read_best_known(file)
    file.write_text(2 * (json.dumps(line) + "\n"))
    with pytest.raises(InputError, match="line 2: a second entry"):
        read_best_known(file)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"value": 3.8}, "the value is 3.8, the referee says 3.89"),
        ({"bound": 4.0}, "the bound 4.0 lies above the value"),
        ({"instance_hash": "0" * 64}, "belongs to the content 000"),
        ({"cost_model_version": COST_MODEL_VERSION + 1}, "cost-model version"),
        ({"plan": PlanFile(micro_batch=3, layers=(2,), pipelines=(("a/0",),))}, "infeasible"),
        ({"bound_by": None}, "go together"),
    ],
)
def test_a_wrong_entry_is_found(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    merged(tmp_path, (task("brute"), OPTIMAL))
    entry = entries(tmp_path)[0].model_copy(update=change)
    count, findings = best_known_findings([HAND], {entry.key: entry})
    assert count == 1
    assert len(findings) == 1
    assert words in findings[0]


def truth(path: Path, *runs: tuple[Task, Outcome]) -> Any:
    store = folder_with(path / "report", list(runs))
    return with_truth(runs_table(store.asked().runs, store.records(), read_best_known(path / "best.jsonl")))


def test_reports_know_the_best_known_value_and_its_proof(tmp_path: Path) -> None:
    """7.3 s against 3.9 s: (7.3 - 3.9) / 3.9, and certified (7.3 - 3.9) / 7.3."""
    merged(tmp_path, (task("brute"), OPTIMAL))
    row = truth(tmp_path, (task("megatron"), POOR)).iloc[0]
    assert row["optimality_gap"] == row["best_known_gap"] == pytest.approx(3.4 / 3.9)
    assert row["certified_gap"] == pytest.approx(3.4 / 7.3)


def test_without_a_proof_there_is_no_optimality_gap(tmp_path: Path) -> None:
    merged(tmp_path, (task("memetic"), GOOD))
    row = truth(tmp_path, (task("megatron"), POOR)).iloc[0]
    assert row["best_known_gap"] == pytest.approx(3.4 / 3.9)
    assert row[["optimality_gap", "certified_gap"]].isna().all()


def test_a_plan_below_the_best_known_bound_is_a_contradiction(tmp_path: Path) -> None:
    merged(tmp_path, (task("brute"), Outcome(Status.OPTIMAL, SLOW, bound=7.3 * (1 - 1e-12))))
    with pytest.raises(ContradictionError, match=r"brute.*memetic"):
        truth(tmp_path, (task("memetic"), GOOD))


def test_the_committed_values_hold() -> None:
    wanted = {entry.instance for entry in best_known().values()}
    every = {instance.name: instance for instances in instances_by_suite().values() for instance in instances}
    assert wanted <= set(every)
    count, findings = best_known_findings([every[name] for name in wanted])
    assert findings == []
    assert count == len(read_best_known(default_file())) == len(best_known())


def test_the_committed_file_holds_instances_of_shipped_suites_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.records.merge, "default_file", lambda: tmp_path / "committed.jsonl")
    folder_with(tmp_path / "run", [(task("memetic"), GOOD)])
    answer = merge_folders([tmp_path / "run"], None)
    assert (answer.entries, answer.of_other_instances) == (0, 1)
    monkeypatch.setattr(bench.records.merge, "known_hashes", lambda: {HAND.name: HAND.content_hash})
    assert merge_folders([tmp_path / "run"], None).entries == 1
    monkeypatch.setattr(bench.records.merge, "known_hashes", lambda: {HAND.name: "0" * 64})
    with pytest.raises(InputError, match="content hash"):
        merge_folders([tmp_path / "run"], None)


def test_nothing_is_known_of_a_folder_without_records(tmp_path: Path) -> None:
    Store(tmp_path / "empty").folder.mkdir()
    assert merge_folders([tmp_path / "empty"], tmp_path / "best.jsonl").entries == 0
