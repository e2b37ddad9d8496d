"""Wherever a plan enters, GPUs that do not exist, or serve two slots, are refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import geotrain_bench as gb
from bench.records.record import record_of
from bench.runs.isolated import Ending, Termination
from bench.runs.judge import judge
from bench.verification.checks import verify_record
from instances.objective import Goal
from instances.plan import Gpu, Plan
from solvers.core.interface import Outcome, Problem, Status
from tests.bench.folders import FAST, GOOD, folder_with, record, task
from tests.bench.test_cli import INSTANCE, Call, call, file_with  # noqa: F401
from tests.editing import HAND_PLAN, edited, hand_instance

HAND = hand_instance()
WRONG: dict[str, tuple[Plan, str]] = {
    "more GPUs than there are": (Plan.from_groups(1, (1, 1), [[1, 1]]), "there is no GPU b/1, the group has 1"),
    "a group from the end": (Plan(1, (1, 1), ((Gpu(-1, 0), Gpu(0, 0)),)), "there is no group number -1"),
    "a GPU from the end": (Plan(1, (1, 1), ((Gpu(0, -1), Gpu(1, 0)),)), "there is no GPU a/-1, the group has 1"),
    "no such group": (Plan(1, (1, 1), ((Gpu(0, 0), Gpu(2, 0)),)), "there is no group number 2"),
    "a GPU twice": (Plan(1, (1, 1), ((Gpu(1, 0), Gpu(1, 0)),)), "b/0 serves 2 slots"),
}
NAMES = {"b/1": "'b/1': group b has GPUs 0 to 0", "b/-1": "'b/-1': group b has GPUs 0 to 0", "z/0": "unknown GPU 'z/0'"}
plans = pytest.mark.parametrize(("plan", "words"), WRONG.values(), ids=WRONG)


@plans
def test_from_a_solver(plan: Plan, words: str) -> None:
    for problem, outcome in (
        (Problem(HAND, Goal(time_weight=1)), Outcome(Status.FEASIBLE, plan)),
        (Problem(HAND, Goal(front=True)), Outcome(Status.FEASIBLE, front=(plan,))),
    ):
        verdict = judge(problem, outcome)
        assert (verdict.status, verdict.plan, verdict.front) == (Status.ERROR, None, None)
        assert words in str(verdict.reason)
    kept = record_of(task(), Ending(Outcome(Status.FEASIBLE, plan), Termination.FINISHED, 1, 1, 1), jobs=1)
    assert (kept.status, kept.plan, kept.value) == (Status.ERROR, None, None)
    assert words in str(kept.reason)


@plans
def test_in_notebooks(plan: Plan, words: str, tmp_path: Path) -> None:
    assert words in gb.violations(HAND, plan)[0]
    for use in (gb.evaluate, gb.draw):
        with pytest.raises(ValueError, match=words):
            use(HAND, plan)
    with pytest.raises(ValueError, match=words):
        gb.compare(HAND, FAST, plan)
    with pytest.raises(gb.InputError, match=words):
        gb.solve(HAND, start=plan)
    if "serves" not in words:  # such a plan can be written, but not what has no name
        with pytest.raises(gb.InputError, match=words):
            gb.save_plan(tmp_path / "plan.json", plan, HAND)
        assert not (tmp_path / "plan.json").exists()


@pytest.mark.parametrize(("name", "words"), [*NAMES.items(), ("a/0", "a/0 serves 2 slots")])
def test_from_files(call: Call, tmp_path: Path, name: str, words: str) -> None:  # noqa: F811
    wrong = edited(HAND_PLAN, {"micro_batch": 1, "layers": [1, 1], "pipelines": [["a/0", name]]})
    plan = file_with(tmp_path, wrong, "plan.json")
    point = {"time_s": 1.0, "energy_j": 1.0, "plan": wrong}
    front = {"schema": "geotrain-bench/front/1", "instance": HAND.name, "points": [point]}
    for asked in (
        ("evaluate", INSTANCE, plan),
        ("evaluate", INSTANCE, plan, "--schedule", "1f1b"),
        ("evaluate", INSTANCE, file_with(tmp_path, front, "front.json"), "--point", 0),
        ("simulate", INSTANCE, plan),
        ("solve", INSTANCE, "--solver", "memetic", "--start", plan),
    ):
        answer = call(*asked)
        assert answer.code in (1, 2)
        assert words in answer.out + answer.err
        assert "iteration time" not in answer.out


@pytest.mark.parametrize(("name", "words"), [*NAMES.items(), ("a/0", "a/0 serves 2 slots")])
def test_from_records_and_best_known_values(call: Call, tmp_path: Path, name: str, words: str) -> None:  # noqa: F811
    store = folder_with(tmp_path / "run", [(task(), GOOD)])
    good = record(task(), GOOD)
    assert good.plan
    wrong = good.plan.model_copy(update={"layers": (1, 1), "pipelines": (("a/0", name),)})
    forged = good.model_copy(update={"plan": wrong}).sealed()
    assert words in " ".join(map(str, verify_record(forged, store)))
    (tmp_path / "run" / "runs.jsonl").write_text(json.dumps(forged.to_json()) + "\n")
    for asked in (("verify", tmp_path / "run"), ("best", tmp_path / "run", "--file", tmp_path / "best.jsonl")):
        answer = call(*asked)
        assert answer.code in (1, 2)
        assert words in answer.out + answer.err
    assert not (tmp_path / "best.jsonl").exists()
