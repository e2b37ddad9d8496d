"""Records to rows: failures stay in the count, proofs and savings are worked out, contradictions are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.records.task import Task, label
from bench.reporting.frames import runs_table, summary_table, with_truth
from bench.reporting.metrics import ContradictionError
from instances.errors import InputError
from solvers.core.interface import Outcome, Status
from tests.bench.folders import EMPTY, ERROR, FAST, GOOD, NOTHING, OPTIMAL, POOR, folder_with, task


def runs_of(folder: Path, runs: list[tuple[Task, Outcome | None]]) -> pd.DataFrame:
    store = folder_with(folder, runs)
    return with_truth(runs_table(store.asked().runs, store.records()))


def test_a_row_for_every_run_that_was_asked_for_in_that_order(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, [(task("megatron"), POOR), (task("memetic", 1), None), (task("memetic", 2), GOOD)])
    assert list(runs["solver"]) == ["megatron", "memetic", "memetic"]
    assert list(runs["status"]) == ["feasible", "missing", "feasible"]
    assert list(runs["seed"]) == [0, 1, 2]
    assert runs["value"].isna().tolist() == [False, True, False]


def test_a_proven_optimum_serves_every_solver_of_its_instance_and_objective(tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path,
        [(task("brute"), OPTIMAL), (task("memetic"), POOR), (task("memetic", objective="energy"), POOR)],
    )
    assert runs["optimum"].tolist()[:2] == pytest.approx([3.9, 3.9])
    assert runs["optimality_gap"].tolist()[:2] == pytest.approx([0, (7.3 - 3.9) / 3.9])
    assert pd.isna(runs["optimum"][2])
    assert pd.isna(runs["optimality_gap"][2])
    assert runs["best_bound"][1] == pytest.approx(3.9)


def test_savings_are_against_the_uniform_plan_in_time_and_energy_of_one_plan(tmp_path: Path) -> None:
    """megatron 7.3 s and 819 J, memetic 3.9 s and 705 J, random worse than the baseline by nothing."""
    runs = runs_of(tmp_path, [(task("megatron"), POOR), (task("memetic"), GOOD), (task("brute"), POOR)])
    assert runs["time_saving"].tolist() == pytest.approx([0, (7.3 - 3.9) / 7.3, 0])
    assert runs["energy_saving"].tolist() == pytest.approx([0, (819 - 705) / 819, 0])
    worse = runs_of(tmp_path / "other", [(task("megatron"), GOOD), (task("memetic"), POOR)])
    assert worse["time_saving"][1] == pytest.approx((3.9 - 7.3) / 3.9)


@pytest.mark.parametrize("baseline", [None, NOTHING, ERROR])
def test_without_a_baseline_plan_savings_are_not_there(tmp_path: Path, baseline: Outcome | None) -> None:
    runs = runs_of(tmp_path, [(task("megatron"), baseline), (task("memetic"), GOOD)])
    assert runs["time_saving"].isna().all()
    assert runs["energy_saving"].isna().all()


def test_failed_runs_stay_in_the_count_and_out_of_the_median(tmp_path: Path) -> None:
    outcomes = [GOOD, POOR, POOR, NOTHING, ERROR, None]
    runs = runs_of(tmp_path, [(task("memetic", seed), outcome) for seed, outcome in enumerate(outcomes)])
    (row,) = summary_table(runs).to_dict("records")
    assert (row["solved"], row["runs"]) == (3, 6)
    assert row["status"] == "3 feasible, 1 unknown, 1 error, 1 missing"
    assert row["value"] == pytest.approx(7.3)
    assert row["value_worst"] == pytest.approx(7.3)
    assert row["best_value"] == pytest.approx(3.9)


def test_solvers_are_told_apart_by_their_options(tmp_path: Path) -> None:
    assert label("milp", {}) == "milp"
    assert label("milp", {"b": "2", "a": "1"}) == label("milp", {"a": "1", "b": "2"}) == "milp[a=1,b=2]"
    runs = runs_of(tmp_path, [(task("memetic"), POOR), (task("memetic", starts="1"), GOOD)])
    assert list(summary_table(runs)["solver"]) == ["memetic", "memetic[starts=1]"]


def test_rows_are_together_by_instance_objective_and_solver(tmp_path: Path) -> None:
    order = [("a", "time"), ("b", "time"), ("a", "energy"), ("b", "energy")]
    rows: list[tuple[Task, Outcome | None]] = [(task(name, objective=goal), GOOD) for name, goal in order]
    summary = summary_table(runs_of(tmp_path, rows))
    assert list(zip(summary["objective"], summary["solver"], strict=True)) == [
        ("time", "a"),
        ("time", "b"),
        ("energy", "a"),
        ("energy", "b"),
    ]


@pytest.mark.parametrize("field", ["cost_model_version", "instance_hash"])
def test_results_that_do_not_belong_together_are_refused(tmp_path: Path, field: str) -> None:
    store = folder_with(tmp_path, [(task("megatron"), POOR), (task("memetic"), GOOD)])
    records = store.records()
    change = {"cost_model_version": 2, "instance_hash": "0"}[field]
    records[1] = records[1].model_copy(update={field: change})
    with pytest.raises(InputError, match=r"cannot be combined|different contents"):
        runs_table(store.asked().runs, records)


def test_a_bound_above_the_plan_of_another_run_is_refused_and_both_are_named(tmp_path: Path) -> None:
    wrong = Outcome(Status.UNKNOWN, bound=4.0)
    with pytest.raises(ContradictionError) as caught:
        runs_of(tmp_path, [(task("bound"), wrong), (task("memetic", 3), GOOD), (task("megatron"), POOR)])
    message = str(caught.value)
    assert "bound (seed 0) proves the bound 4.0" in message
    assert "memetic (seed 3) has a plan of 3.9" in message or "memetic (seed 3) has a plan of 3.8999" in message
    assert "two-gpus-two-layers, time" in message


def test_a_proof_of_infeasibility_beside_a_plan_is_refused_and_both_are_named(tmp_path: Path) -> None:
    with pytest.raises(ContradictionError) as caught:
        runs_of(tmp_path, [(task("brute"), EMPTY), (task("memetic", 3), GOOD)])
    assert "brute (seed 0) proves that there is no plan, memetic (seed 3) has one" in str(caught.value)


def test_bounds_and_plans_of_other_objectives_are_no_contradiction(tmp_path: Path) -> None:
    bound = Outcome(Status.UNKNOWN, bound=600.0)
    runs_of(tmp_path, [(task("bound", objective="energy"), bound), (task("memetic"), GOOD)])


def test_rounding_is_no_contradiction(tmp_path: Path) -> None:
    runs_of(tmp_path, [(task("bound"), Outcome(Status.UNKNOWN, bound=3.9 * (1 + 1e-12))), (task("memetic"), GOOD)])


def test_a_front_counts_its_points(tmp_path: Path) -> None:
    front = Outcome(Status.OPTIMAL, front=(FAST,))
    runs = runs_of(tmp_path, [(task("brute", objective="front"), front)])
    assert runs["front_points"].tolist() == [1]
    assert runs["value"].isna().all()


def test_no_runs_at_all_are_an_empty_table() -> None:
    runs = with_truth(runs_table([], []))
    assert runs.empty
    assert summary_table(runs).empty


def test_a_solver_called_none_stays_a_name(tmp_path: Path) -> None:
    runs: Any = runs_of(tmp_path, [(task("None"), GOOD)])
    path = tmp_path / "runs.csv"
    runs.to_csv(path, index=False, na_rep="NA")
    assert pd.read_csv(path, keep_default_na=False, na_values=["NA"])["solver"].tolist() == ["None"]
