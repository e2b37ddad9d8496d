"""`describe`: figures worked by hand, best known plans before searched ones, and counts over a suite."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import bench.studies.hardness
from bench.records.best_known import BestKnown, Key, read_best_known
from bench.records.merge import merge_folders
from bench.reporting.formatting import table
from bench.studies.hardness import DESCRIBED, LEFT, Hardness, counts, described, hardness_csv, hardness_of, in_words
from instances.errors import InputError
from instances.files import write_instance
from instances.objective import parse_objective
from solvers.core.interface import Outcome
from tests.bench.folders import GOOD, OPTIMAL, POOR, folder_with, task
from tests.editing import hand_instance

HAND = hand_instance()
TIME = parse_objective("time")
SUITE = """
name = "small"
summary = "two problems"
objectives = ["time", "front"]
solvers = [{ name = "megatron" }]
instances = [{ family = "uniform", gpus = [3], objectives = ["time", "energy", "front"] }]
"""


def known(path: Path, solver: str, outcome: Outcome) -> dict[Key, BestKnown]:
    """Best known values after one run."""
    folder_with(path / "run", [(task(solver), outcome)])
    merge_folders([path / "run"], path / "best.jsonl")
    return read_best_known(path / "best.jsonl")


@pytest.fixture
def searched() -> Hardness:
    """Facts of the instance worked by hand, where nothing is known of it."""
    return hardness_of(HAND, TIME)


def test_the_best_plan_is_searched_for_where_none_is_known(searched: Hardness) -> None:
    """The optimum is one pipeline over both GPUs, 3.9 s."""
    assert (searched.known, searched.pipelines, searched.stages, searched.left_out) == ("search", 1, 2, 0)


def test_spreads_are_fastest_over_slowest(searched: Hardness) -> None:
    """1 and 2 MFLOP/s; 10,000 bytes/s one way and 2,000 the other, and no GPU has a link to itself."""
    assert searched.compute_spread == pytest.approx(2)
    assert searched.bandwidth_spread == pytest.approx(5)


def test_communication_is_what_free_links_save(searched: Hardness) -> None:
    """Free links: fill 0.2 + 0.15 + 0.4 + 0.35 = 1.1 s and steady 3 * (0.2 + 0.4) = 1.8 s, so 2.9 of 3.9 s are left."""
    assert searched.communication == pytest.approx((3.9 - 2.9) / 2.9)


def test_gaps_are_over_the_best_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """megatron's plan is the optimum here, so it lies 3.9 - 7.3 below a poorer plan that is the best known."""
    assert hardness_of(HAND, TIME).megatron_gap == pytest.approx(0, abs=1e-12)
    entries = known(tmp_path, "megatron", POOR)
    monkeypatch.setattr(bench.studies.hardness, "best_known", lambda: entries)
    found = hardness_of(HAND, TIME)
    assert (found.known, found.pipelines, found.stages) == ("best known", 2, 1)
    assert found.megatron_gap == pytest.approx((3.9 - 7.3) / 7.3)


@pytest.mark.parametrize(
    ("solver", "outcome", "word"), [("brute", OPTIMAL, "optimum"), ("memetic", GOOD, "best known")]
)
def test_a_known_plan_says_whether_it_is_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solver: str, outcome: Outcome, word: str
) -> None:
    entries = known(tmp_path, solver, outcome)
    monkeypatch.setattr(bench.studies.hardness, "best_known", lambda: entries)
    assert hardness_of(HAND, TIME).known == word


def test_where_no_plan_fits_there_is_none(tmp_path: Path) -> None:
    crowded = hand_instance(groups__0__memory=1, groups__1__memory=1)
    found = hardness_of(crowded, TIME)
    assert (found.known, found.left_out, found.communication, found.megatron_gap) == (None, None, None, None)
    assert found.memory_slack < 0
    assert "n/a" in table(DESCRIBED, [asdict(found)], LEFT)


def test_a_front_has_no_one_best_plan() -> None:
    with pytest.raises(InputError, match="front"):
        hardness_of(HAND, parse_objective("front"))


def test_a_file_is_described_for_the_objectives_asked_for(tmp_path: Path) -> None:
    write_instance(tmp_path / "hand.json", HAND)
    assert [row.objective for row in described(str(tmp_path / "hand.json"), [])] == ["time"]
    assert [row.objective for row in described(str(tmp_path / "hand.json"), ["energy", "weighted:0.5"])] == [
        "energy",
        "weighted:0.5",
    ]


def test_a_suite_is_described_problem_by_problem(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SUITE)
    rows = list(described(str(tmp_path / "small.toml"), []))
    assert [row.objective for row in rows] == ["time", "energy"]
    assert all(row.compute_spread == row.bandwidth_spread == 1 for row in rows)
    assert counts(rows)["problems"] == 2
    json.dumps([asdict(row) for row in rows], allow_nan=False)
    lines = table(DESCRIBED, map(asdict, rows), LEFT).splitlines()
    assert len(lines) == 2 + len(rows)
    assert lines[0].count("|") == len(DESCRIBED) + 1
    assert in_words(rows).startswith("Of 2 problems 2 have a plan")
    assert hardness_csv(("small", row) for row in rows).count("\n") == 1 + len(rows)


def test_counts_are_of_plans_that_exist(searched: Hardness) -> None:
    rows = [
        searched,
        replace(searched, known="optimum", pipelines=3, stages=1, left_out=0.25),
        replace(searched, pipelines=1, stages=1, left_out=0.5),
        replace(searched, known=None, pipelines=None, stages=None, left_out=None),
    ]
    assert counts(rows) == {
        "problems": 4,
        "with_a_plan": 3,
        "proven": 1,
        "quarter_left_out": 2,
        "several_pipelines": 1,
        "single_gpu": 1,
    }
