"""`reproduce`: its suites, its tables from runs whose figures are known, and the whole command on tiny suites."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import bench.reproduction.parts as parts_of
from bench.cli.reproduction import reproduce
from bench.reporting.report import make_report
from bench.reproduction.claims import PUBLISHED_DTFM, claims, measured_dtfm
from bench.reproduction.exact_methods import exact_table
from bench.reproduction.parts import PARTS, Part, minutes_left
from bench.reproduction.steps import BESIDE, START, STEPS, steps_table, steps_text, tidy_steps
from bench.reproduction.trade_offs import trade_offs
from bench.runs.suite import read_suite, tasks_of
from solvers.core.interface import Outcome, Status
from tests.bench.folders import FAST, SLOW, folder_with, task

GOOD, POOR = Outcome(Status.FEASIBLE, FAST), Outcome(Status.FEASIBLE, SLOW)
PROVEN = Outcome(Status.OPTIMAL, FAST, bound=3.9)
DTFM_64 = "dtfm-worldwide-homogeneous-gpt3-1.3b-64gpus-seed0"

# Suites


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_quick_suite_is_a_part_of_the_full_one(part: Part) -> None:
    found = {}
    for quick in (False, True):
        suite, folder = read_suite(part.source(quick))
        tasks = tasks_of(suite, folder, part.suite)
        found[quick] = {task.instance.name for task in tasks}
        assert suite.core_minutes
    assert found[True] < found[False]


@pytest.mark.parametrize("quick", [False, True])
def test_paper_has_every_step_and_the_published_candidates(quick: bool) -> None:
    suite, folder = read_suite(PARTS[1].source(quick))
    tasks = tasks_of(suite, folder, "paper")
    labels = {task.asked.label for task in tasks}
    assert labels >= {START, *STEPS.values(), *PUBLISHED_DTFM}
    faithful = [task for task in tasks if task.asked.label in PUBLISHED_DTFM]
    assert all(task.budget.seconds is None and task.budget.evaluations is None for task in faithful)


def test_what_is_done_is_no_longer_estimated(tmp_path: Path) -> None:
    part = PARTS[0]
    minutes, runs = minutes_left(part, tmp_path, quick=True, jobs=1)
    half, _ = minutes_left(part, tmp_path, quick=True, jobs=2)
    assert half == minutes / 2
    suite, folder = read_suite(part.source(quick=True))
    tasks = tasks_of(suite, folder, part.suite)
    done = Outcome(Status.UNKNOWN)
    folder_with(tmp_path / part.name, [(task, done if number < 10 else None) for number, task in enumerate(tasks[:20])])
    left, fewer = minutes_left(part, tmp_path, quick=True, jobs=1)
    assert fewer == runs - 10 == len(tasks) - 10
    assert left == pytest.approx(minutes * fewer / runs)


# Tables


def summary(seconds: dict[str, float], instance: str = DTFM_64) -> pd.DataFrame:
    rows = [
        {"instance": instance, "gpus": 64, "objective": "time", "solver": solver, "time_s": value}
        for solver, value in seconds.items()
    ]
    return pd.DataFrame(rows)


def test_each_step_takes_its_share_off_and_they_add_up() -> None:
    chain = dict(zip([START, *STEPS.values()], [100.0, 90.0, 60.0, 55.0, 45.0, 40.0], strict=True))
    steps = steps_table(summary({**chain, "dtfm": 80.0, "dtfm[candidates=1000,guide=time]": 50.0}))
    row = steps.iloc[0]
    assert [row[step] for step in STEPS] == pytest.approx([0.1, 0.3, 0.05, 0.1, 0.05])
    assert row["all"] == pytest.approx(0.6) == sum(row[step] for step in STEPS)
    assert (row["dtfm"], row["dtfm, by time"]) == (pytest.approx(0.2), pytest.approx(0.5))
    assert pd.isna(row["dtfm, other gain"])
    assert tidy_steps(steps)["saving"].sum() == pytest.approx(0.6)
    assert steps_text(steps).count("\n") == 3
    assert set(BESIDE) <= set(steps.columns)


def test_a_problem_without_every_step_has_no_row() -> None:
    assert steps_table(summary({START: 1.0, "memetic": 0.5})).empty
    assert steps_table(pd.DataFrame()).empty


def test_claims_are_those_of_the_runs(tmp_path: Path) -> None:
    """FAST takes 3.9 s and 705 J, SLOW 7.3 s and 819 J."""
    savings = make_report(
        folder_with(
            tmp_path / "savings",
            [
                (task("megatron"), POOR),
                (task("dtfm"), POOR),
                (task("dtfm", gain="baseline"), GOOD),
                (task("memetic"), GOOD),
                (task("megatron", objective="energy@1x"), POOR),
                (task("dtfm", objective="energy@1x"), POOR),
                (task("memetic", objective="energy@1x"), GOOD),
            ],
        ),
        ("megatron", *PUBLISHED_DTFM),
    )
    runs = [(task("memetic"), GOOD), (task("memetic", 1), POOR), (task("brute"), PROVEN), (task("cpsat"), PROVEN)]
    time, energy, optimum, *dtfm = claims(savings, make_report(folder_with(tmp_path / "verification", runs)))
    assert time.ours == (
        "up to 0 % less (median of 1 problems: 0 %) than `dtfm`; "
        "up to 47 % less (median of 1 problems: 47 %) than `megatron`"
    )
    assert energy.ours.startswith("up to 14 % less")
    assert optimum.ours == (
        "in all runs on 0 of 1 problems, in 1 of 2 runs; 1 of the optima are proven by two methods or more"
    )
    assert len(dtfm) == len(measured_dtfm())
    assert {claim.ours for claim in dtfm} == {"n/a"}


def test_dtfm_is_set_against_its_published_measurements(tmp_path: Path) -> None:
    times = summary({"megatron": 40.0, "dtfm": 25.0, "dtfm[gain=baseline]": 20.0, "memetic": 10.0})
    report = make_report(folder_with(tmp_path, []))
    found = claims(report.__class__(**{**vars(report), "summary": times}), report)
    worldwide = [claim for claim in found if "worldwide" in claim.says]
    assert [claim.ours for claim in worldwide] == ["`dtfm` 2.00x; `memetic` 4.00x"] * 2
    assert "up to 4.8x" in worldwide[0].says
    assert "4.77x with its ranks shuffled" in worldwide[0].says
    assert "1.89x, 3.75x with its ranks shuffled" in worldwide[1].says


def test_exact_methods_are_counted_by_size(tmp_path: Path) -> None:
    cut_off = Outcome(Status.FEASIBLE, SLOW, bound=3.65, limit_reached=True)
    runs = [(task("brute"), PROVEN), (task("cpsat"), cut_off), (task("milp", whole="true"), PROVEN), (task(), POOR)]
    rows = exact_table(make_report(folder_with(tmp_path, runs)).runs).set_index("solver")
    assert rows["proven"].to_dict() == {"brute": 1, "cpsat": 0, "milp[whole=true]": 1}
    assert rows.loc["cpsat", "gap"] == pytest.approx(0.5)
    assert pd.isna(rows.loc["brute", "gap"])


def test_a_front_says_what_a_little_more_time_saves() -> None:
    points = {"time_s": [10.0, 10.4, 11.9, 20.0], "energy_j": [100.0, 90.0, 60.0, 50.0]}
    who = {"instance": "pool", "gpus": 4, "solver": "memetic", "seed": 0, "hypervolume": 1.0}
    row = trade_offs(pd.DataFrame({**who, **points})).iloc[0]
    assert (row["points"], row["least_s"], row["slowest_s"]) == (4, 10.0, 20.0)
    assert [row["saved_0.05"], row["saved_0.2"], row["saved_at_most"]] == pytest.approx([0.1, 0.4, 0.5])


# The command

TINY = """
name = "tiny-{name}"
summary = "a part"
core_minutes = 1
objectives = ["time", "front"]
[[instances]]
family = "uniform"
gpus = [2]
[[solvers]]
name = "megatron"
[[solvers]]
name = "brute"
[[solvers]]
name = "dtfm"
[[solvers]]
name = "dtfm"
options.gain = "baseline"
"""


def test_the_command_runs_all_parts_writes_the_document_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in PARTS:
        (tmp_path / f"{part.name}.toml").write_text(TINY.format(name=part.name))
    monkeypatch.setattr(parts_of.Part, "source", lambda part, quick: str(tmp_path / f"{part.name}.toml"))
    monkeypatch.setattr("bench.reproduction.document.measured_rows", list)
    out = tmp_path / "out"
    assert reproduce(quick=True, out=out, jobs=2) == 0
    said = capsys.readouterr()
    # Two minutes, and half of one for each part that needs no core to itself.
    assert "20 runs to go, about 2 minutes with --jobs 2" in said.err
    text = (out / "reproduction.md").read_text()
    for heading in ("What the papers say", "Where the saving comes from", *(part.title for part in PARTS)):
        assert heading in text
    assert {"claims.csv", "exact-methods.csv", "steps.csv", "trade-offs.csv"} <= {path.name for path in out.iterdir()}
    assert all((out / part.name / "report.html").exists() for part in PARTS)
    assert reproduce(quick=True, out=out, jobs=2) == 0
    assert "0 runs to go" in capsys.readouterr().err
