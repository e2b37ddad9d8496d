"""Reports of finished, unfinished and hopeless runs; figures are read back from the artists."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from bench.records.task import Task
from bench.reporting.metrics import ContradictionError
from bench.reporting.report import COLUMNS, _far_off, make_report, write_report
from bench.runs.store import Store
from instances.errors import InputError
from solvers.core.interface import Outcome, Status
from tests.bench.folders import EMPTY, ERROR, FAST, GOOD, NOTHING, OPTIMAL, POOR, folder_with, task
from tests.editing import hand_instance

Runs = list[tuple[Task, Outcome | None]]
CROWDED = {"groups__0__memory": 1, "groups__1__memory": 1, "name": "crowded"}
SHAPES: dict[str, Runs] = {
    "finished": [(task("megatron"), POOR), (task("memetic", 0), GOOD), (task("brute"), OPTIMAL)],
    "unfinished": [(task("megatron"), POOR), (task("memetic", 0), GOOD), (task("memetic", 1), None)],
    "exactly one run": [(task("memetic"), GOOD)],
    "only the baseline": [(task("megatron"), POOR)],
    "nothing finished yet": [(task("megatron"), None), (task("memetic"), None)],
    "all infeasible": [
        (task("megatron", instance=hand_instance(**CROWDED)), NOTHING),
        (task("brute", instance=hand_instance(**CROWDED)), EMPTY),
    ],
    "all unknown": [(task("megatron"), NOTHING), (task("memetic"), NOTHING)],
    "all failed": [(task("megatron"), ERROR), (task("memetic"), ERROR)],
    "no baseline": [(task("megatron"), NOTHING), (task("memetic"), GOOD)],
    "only a front": [(task("brute", objective="front"), Outcome(Status.OPTIMAL, front=(FAST,)))],
    "only a bound": [(task("bound"), Outcome(Status.UNKNOWN, bound=3.0))],
}


def table_rows(markdown: str) -> list[dict[str, str]]:
    """The last pipe table of a text."""
    tables = [block for block in markdown.split("\n\n") if block.startswith("|")]
    lines = tables[-1].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


class Cells(HTMLParser):
    """Counts what a page holds."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.rows += tag == "tr"
        if tag == "img":
            self.sources.append(dict(attrs)["src"] or "")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("runs", SHAPES.values(), ids=SHAPES)
def test_a_report_builds_whatever_the_run_left(tmp_path: Path, runs: Runs) -> None:
    report, path = write_report(folder_with(tmp_path, runs))
    text = path.read_text()
    rows = table_rows(text)
    assert len(rows) == len({(run.instance.name, str(run.objective), run.solver) for run, _ in runs})
    assert "nan" not in text.lower().replace("finance", "")
    assert "inf " not in text
    assert len(report.missing) == sum(outcome is None for _, outcome in runs)
    page = Cells()
    page.feed((tmp_path / "report.html").read_text())
    problems = {(run.instance.name, str(run.objective)) for run, _ in runs}
    finished = [(run.instance.name, str(run.objective), run.solver) for run, outcome in runs if outcome]
    # Two tables of solvers, one of all problems, and one for the runs of each of its rows.
    lines = 2 * (1 + len(report.solvers)) + 1 + len(problems) + len(rows) + len(set(finished)) + len(finished)
    assert page.rows == lines
    assert all((tmp_path / source).is_file() for source in page.sources if not source.startswith("data:"))
    for name, count in (("summary.csv", len(rows)), ("runs.csv", len(runs)), ("solvers.csv", len(report.solvers))):
        assert len(pd.read_csv(tmp_path / name, keep_default_na=False, na_values=["NA"])) == count


def test_a_report_of_nothing_builds_too(tmp_path: Path) -> None:
    report, path = write_report(folder_with(tmp_path, []))
    assert report.summary.empty
    assert "made-up" in path.read_text()


def test_the_table_says_what_was_found(tmp_path: Path) -> None:
    report = make_report(folder_with(tmp_path, SHAPES["finished"]))
    megatron, memetic, brute = table_rows(report.table)
    assert tuple(megatron) == tuple(COLUMNS)
    assert (megatron["GPUs"], megatron["status"], megatron["solved"]) == ("2", "feasible", "1/1")
    assert (megatron["time [s]"], megatron["energy [kJ]"]) == ("7.300", "0.8190")
    assert (megatron["optimality gap"], megatron["time saved vs megatron"]) == ("87.18 %", "0 %")
    assert (memetic["optimality gap"], memetic["time saved vs megatron"]) == ("0 %", "+46.58 %")
    assert memetic["energy saved vs megatron"] == "+13.92 %"
    assert (brute["status"], brute["optimum or bound"], brute["seconds"]) == ("optimal", "= 3.90000 s", "2.00")


def test_a_gap_to_a_bound_is_told_from_a_gap_to_an_optimum(tmp_path: Path) -> None:
    runs: Runs = [(task("megatron"), POOR), (task("bound"), Outcome(Status.UNKNOWN, bound=3.65))]
    megatron, bound = table_rows(make_report(folder_with(tmp_path, runs)).table)
    assert (megatron["optimum or bound"], megatron["certified gap"]) == (">= 3.65000 s", "50.00 %")
    assert (megatron["optimality gap"], megatron["gap to best known"]) == ("n/a", "0 %")
    assert (bound["optimum or bound"], bound["certified gap"], bound["value"]) == (">= 3.65000 s", "n/a", "n/a")


def test_a_tiny_gap_is_not_printed_as_none(tmp_path: Path) -> None:
    runs: Runs = [(task("memetic"), GOOD), (task("bound"), Outcome(Status.UNKNOWN, bound=3.9 * (1 - 2e-6)))]
    rows = table_rows(make_report(folder_with(tmp_path, runs)).table)
    assert rows[0]["certified gap"] == "<0.01 %"


def test_an_unfinished_run_says_what_is_missing(tmp_path: Path) -> None:
    report, path = write_report(folder_with(tmp_path, SHAPES["unfinished"]))
    assert report.missing == ["two-gpus-two-layers, time, memetic, seed 1"]
    assert "Missing: 1 of 3 runs" in path.read_text()
    assert table_rows(report.table)[1]["solved"] == "1/2"


def test_what_failed_is_named_with_its_reason(tmp_path: Path) -> None:
    claimed = Outcome(Status.OPTIMAL, FAST, bound=1.0)
    report = make_report(folder_with(tmp_path, [(task("megatron"), ERROR), (task("cpsat"), claimed)]))
    assert len(report.problems) == 2
    assert "megatron, seed 0: crashed" in report.problems[0]
    assert "claims optimality" in report.problems[1]


def test_a_contradiction_stops_the_report_and_names_both_runs(tmp_path: Path) -> None:
    runs: Runs = [(task("bound"), Outcome(Status.UNKNOWN, bound=4.0)), (task("memetic", 3), GOOD)]
    with pytest.raises(ContradictionError, match=r"bound \(seed 0\).*memetic \(seed 3\)"):
        make_report(folder_with(tmp_path, runs))


def test_a_report_on_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no run of a suite"):
        make_report(Store(tmp_path))


def test_names_that_are_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    instance = hand_instance(name="<b>|x")
    _, path = write_report(folder_with(tmp_path, [(task("memetic", instance=instance), GOOD)]))
    assert "<b>\\|x" in path.read_text()
    assert "&lt;b&gt;|x" in (tmp_path / "report.html").read_text()


def test_a_baseline_far_beyond_the_best_known_value_is_pointed_out() -> None:
    rows = [("megatron", 999.0001), ("megatron", 998.9), ("dtfm", None), ("memetic", 5000.0)]
    runs = pd.DataFrame(
        [
            {"solver": solver, "instance": "pool", "objective": f"o{i}", "best_known_gap": gap}
            for i, (solver, gap) in enumerate(rows)
        ]
    )
    (line,) = _far_off(runs, ("megatron", "dtfm"))
    assert line.startswith("megatron on pool, o0: its plan is 1e+03 times the best known value")
