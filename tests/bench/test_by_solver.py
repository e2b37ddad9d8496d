"""The summary by solver: its counts and medians, what it says in words, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.records.task import Task
from bench.reporting.by_solver import NOTES
from bench.reporting.report import make_report, write_report
from instances.errors import InputError
from solvers.core.interface import Outcome, Status
from tests.bench.folders import FAST, SLOW, folder_with, task
from tests.editing import hand_instance

GOOD, POOR, NOTHING = Outcome(Status.FEASIBLE, FAST), Outcome(Status.FEASIBLE, SLOW), Outcome(Status.UNKNOWN)
OTHER = hand_instance(name="other")
"""The same pool under another name: nothing is proven of it. FAST takes 3.9 s and 705 J, SLOW 7.3 s and 819 J."""
RUNS: list[tuple[Task, Outcome | None]] = [
    (task("megatron"), POOR),
    (task("megatron", instance=OTHER), POOR),
    (task("dtfm"), GOOD),
    (task("memetic", 0), GOOD),
    (task("memetic", 1), NOTHING),
    (task("memetic", 0, instance=OTHER), POOR),
    (task("memetic", 1, instance=OTHER), None),
    (task("brute"), Outcome(Status.OPTIMAL, FAST, bound=3.9)),
]


def test_counts_medians_and_savings_are_those_of_the_runs(tmp_path: Path) -> None:
    rows = make_report(folder_with(tmp_path, RUNS)).solvers.set_index("solver")
    memetic, megatron = rows.loc["memetic"], rows.loc["megatron"]
    assert (memetic["problems"], memetic["runs"], memetic["with_plan"]) == (2, 4, 2)
    assert (memetic["known"], memetic["known_runs"], memetic["hits"]) == (1, 2, 1)
    assert memetic["optimality_gap"] == pytest.approx(0)
    assert megatron["optimality_gap"] == pytest.approx((7.3 - 3.9) / 3.9)
    # Nothing saved on `other`, (7.3 - 3.9) / 7.3 on the first problem.
    assert memetic["time_saved_vs_megatron"] == pytest.approx((7.3 - 3.9) / 7.3 / 2)
    assert memetic["time_saved_vs_megatron_largest"] == pytest.approx((7.3 - 3.9) / 7.3)
    assert memetic["time_saved_vs_dtfm"] == pytest.approx(0)
    assert megatron["time_saved_vs_dtfm"] == pytest.approx((3.9 - 7.3) / 3.9)
    assert memetic[["energy_saved_vs_megatron"]].isna().all(), "no problem minimises energy"
    assert rows.loc["brute", "proven"] == 1


def test_it_comes_first_and_says_the_same_in_words(tmp_path: Path) -> None:
    report, path = write_report(folder_with(tmp_path, RUNS))
    words = (
        "On the one problem whose optimum is known, memetic finds it in 1 of 2 runs; megatron is 87 % and "
        "dtfm is 0 % above it (median). On the one problem without a known optimum, no lower bound is known. Against "
        "megatron it saves 23 % of the iteration time (up to 47 %); against dtfm it saves 0 % of the iteration time "
        "(up to 0 %)."
    )
    text = path.read_text()
    assert report.brief.endswith(words)
    assert text.index(words) < text.index("## Every problem")
    assert words.replace(" %", "\u00a0%") in (tmp_path / "report.html").read_text()
    assert all(note in text for note in NOTES)


def test_another_baseline_is_measured_against_on_request(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, RUNS)
    report = make_report(folder, ["brute"])
    assert "time saved vs brute" in report.brief
    assert report.solvers.set_index("solver").loc["megatron", "time_saved_vs_brute"] == pytest.approx((3.9 - 7.3) / 3.9)
    with pytest.raises(InputError, match=r"--baseline best: .* has runs of brute, dtfm, megatron, memetic"):
        make_report(folder, ["best"])


@pytest.mark.filterwarnings("error")
def test_what_cannot_be_said_is_said_to_be_missing(tmp_path: Path) -> None:
    alone = make_report(folder_with(tmp_path / "alone", [(task("memetic"), GOOD)]))
    assert "No optimum is known for any problem of memetic." in alone.brief
    assert "Savings against megatron and dtfm: n/a, nothing to compare with." in alone.brief
    nothing = make_report(folder_with(tmp_path / "nothing", [(task("megatron"), POOR)]))
    assert "there is nothing to compare" in nothing.brief


def test_the_certified_gap_is_said_of_the_optimum_not_of_the_plans(tmp_path: Path) -> None:
    """7.3 s and a bound of 3.65 s: the optimum is at most 50 % below the plan, which may be 100 % above the optimum."""
    runs = [
        (task("memetic", instance=OTHER), POOR),
        (task("cpsat", instance=OTHER), Outcome(Status.UNKNOWN, bound=3.65)),
    ]
    report = make_report(folder_with(tmp_path, runs))
    assert report.solvers.set_index("solver").loc["memetic", "certified_gap"] == pytest.approx(0.5)
    assert "the optimum is at most 50 % below the value of its plans (median)" in report.brief


def test_infeasible_problems_and_fronts_are_not_open(tmp_path: Path) -> None:
    front = Outcome(Status.FEASIBLE, front=(FAST,))
    runs = [
        (task("memetic"), NOTHING),
        (task("cpsat"), Outcome(Status.INFEASIBLE)),
        (task("memetic", objective="front", instance=OTHER), front),
    ]
    report = make_report(folder_with(tmp_path, runs))
    assert report.solvers.set_index("solver").loc["memetic", ["problems", "known", "open"]].tolist() == [2, 0, 0]
    assert "No problem is left open." in report.brief
