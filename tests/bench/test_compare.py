"""`compare`: equal runs are no regression, planted ones are found, and nothing to compare is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from bench.cli.comparison import compare as command
from bench.comparison.compare import Comparison, compare
from bench.comparison.exports import github, junit
from bench.comparison.pairs import CLOCK
from bench.comparison.trend import trend
from bench.reporting.plots.trend import trend_figure
from bench.runs.store import Store
from instances.errors import InputError

DEMO = Path(__file__).parents[2] / "results" / "reference" / "demo"
"""A kept run: deterministic methods, proofs, and searches that the clock ends, each alone on its machine."""
TRIES = 20
Line = dict[str, Any]


def changed(folder: Path, edit: Callable[[int, Line], Line | None]) -> Store:
    """A copy of the demo with each record edited; None leaves it out."""
    shutil.copytree(DEMO, folder)
    lines = [json.loads(line) for line in (DEMO / "runs.jsonl").read_text().splitlines()]
    edited = [edit(number, line) for number, line in enumerate(lines)]
    (folder / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in edited if line is not None))
    return Store(folder)


def against_demo(new: Store, fail_above: float = 1e-6) -> Comparison:
    return compare(Store(DEMO), new, fail_above)


def records(keep: Callable[[Line], bool]) -> list[int]:
    """Positions of some of the demo's records."""
    lines = (DEMO / "runs.jsonl").read_text().splitlines()
    return [number for number, line in enumerate(lines) if keep(json.loads(line))]


def test_equal_runs_are_no_regression() -> None:
    done = against_demo(Store(DEMO))
    assert done.regressions == []
    assert done.changes == []
    assert done.sentence == (
        f"no regression in {len(done.pairs)} pairs of runs: all figures are the same; no solver is slower."
    )


def test_seconds_that_differ_by_noise_and_values_that_differ_by_the_clock_are_none(tmp_path: Path) -> None:
    """Runs of equal code on a loaded machine: seconds drift and scatter, searches end with other values."""
    for seed in range(TRIES):
        draw = np.random.default_rng(seed)
        drift = draw.uniform(0.95, 1.05)

        def edit(_: int, line: Line, draw: Any = draw, drift: float = drift) -> Line:
            line["cpu_s"] = (line["cpu_s"] or 1) * drift * np.exp(draw.normal(0, 0.05))
            if line["ended"] in CLOCK and line["value"] and line["solver"] == "memetic":
                line["value"] *= np.exp(abs(draw.normal(0, 0.002))) if draw.random() < 0.5 else 1.0
            return line

        assert against_demo(changed(tmp_path / str(seed), edit), 0.01).regressions == []


def test_a_value_that_is_one_per_cent_worse_is_found(tmp_path: Path) -> None:
    fixed = records(lambda line: line["ended"] not in CLOCK and line["value"] is not None)
    for planted in fixed[:: len(fixed) // TRIES][:TRIES]:

        def edit(number: int, line: Line, planted: int = planted) -> Line:
            return line | {"value": line["value"] * 1.01} if number == planted else line

        for fail_above in (1e-6, 0.01):
            (found,) = against_demo(changed(tmp_path / f"{planted}-{fail_above}", edit), fail_above).regressions
            assert "value 1.00 % worse" in found


def test_a_lost_proof_is_found(tmp_path: Path) -> None:
    proven = records(lambda line: line["status"] == "optimal")
    assert len(proven) >= TRIES
    for planted in proven[:TRIES]:

        def edit(number: int, line: Line, planted: int = planted) -> Line:
            return line | {"status": "feasible", "bound": line["bound"] * 0.9} if number == planted else line

        found = against_demo(changed(tmp_path / str(planted), edit)).regressions
        assert len(found) == 2
        assert "proof lost: optimal -> feasible" in found[0]
        assert "bound 10.00 % worse" in found[1]


def test_a_fifth_more_seconds_are_found(tmp_path: Path) -> None:
    for seed in range(TRIES):
        draw = np.random.default_rng(seed)

        def edit(_: int, line: Line, draw: Any = draw) -> Line:
            slower = 1.2 if line["solver"] == "cpsat" else 1.0
            return line | {"cpu_s": (line["cpu_s"] or 1) * slower * np.exp(draw.normal(0, 0.03))}

        (found,) = against_demo(changed(tmp_path / str(seed), edit)).regressions
        assert found.startswith("cpsat: CPU seconds +")


def test_seconds_of_runs_side_by_side_or_on_another_machine_are_not_compared(tmp_path: Path) -> None:
    def slow(line: Line) -> Line:
        return line | {"cpu_s": 3 * (line["cpu_s"] or 1)}

    beside = changed(tmp_path / "jobs", lambda _, line: slow(line) | {"timed_alone": False, "jobs": 2})
    elsewhere = changed(tmp_path / "else", lambda _, line: slow(line) | {"machine": line["machine"] | {"cores": 99}})
    for store in (beside, elsewhere):
        done = against_demo(store)
        assert done.regressions == []
        assert "seconds are not compared" in done.sentence
    assert against_demo(changed(tmp_path / "here", lambda _, line: slow(line))).regressions != []


def test_a_search_that_is_worse_over_all_problems_is_found(tmp_path: Path) -> None:
    def edit(_: int, line: Line) -> Line:
        by_clock = line["ended"] in CLOCK and line["solver"] == "memetic"
        return line | {"value": line["value"] * 1.02} if by_clock else line

    (found,) = against_demo(changed(tmp_path / "worse", edit), 0.01).regressions
    assert found.startswith("memetic: value +2.00 %")


def test_missing_and_failed_runs_and_lost_plans_are_found(tmp_path: Path) -> None:
    losses: dict[int, Line | None] = {
        0: None,
        10: {"status": "error", "reason": "broke", "value": None, "plan": None},
        20: {"status": "unknown", "value": None, "plan": None, "bound": None},
    }

    def edit(number: int, line: Line) -> Line | None:
        change = losses.get(number, {})
        return None if change is None else line | change

    done = against_demo(changed(tmp_path / "lost", edit))
    words = "\n".join(done.regressions)
    assert "the run is missing" in words
    assert "the run failed: broke" in words
    assert "no plan any more" in words


def test_what_is_better_is_told_and_is_no_regression(tmp_path: Path) -> None:
    planted = records(lambda line: line["solver"] == "contiguous")[0]
    better = changed(
        tmp_path / "better",
        lambda number, line: line | {"value": line["value"] * 0.9} if number == planted else line,
    )
    done = against_demo(better)
    assert done.regressions == []
    assert "0 figures are worse and 1 better" in done.sentence
    assert "value 10.00 % better" in done.changes[0].what


def test_nothing_in_common_is_said(tmp_path: Path) -> None:
    other = changed(tmp_path / "other", lambda _, line: line | {"seed": line["seed"] + 1000})
    with pytest.raises(InputError, match="have no run in common, so there is nothing to compare"):
        against_demo(other)
    with pytest.raises(InputError, match="have no run of routes in common"):
        compare(Store(DEMO), Store(DEMO), 0.0, ["routes"])


def test_the_command_says_it_writes_it_and_exits_by_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted = records(lambda line: line["solver"] == "contiguous")[0]
    folder = tmp_path / "worse"
    changed(folder, lambda number, line: line | {"value": line["value"] * 1.01} if number == planted else line)
    xml = tmp_path / "out.xml"
    assert command([DEMO, folder], junit=xml, github=True) == 1
    said = capsys.readouterr().out
    assert "1 regression in" in said.lower()
    assert "::error title=geotrain-bench regression::" in said
    assert "1.00 %25 worse" in said
    assert Xml.parse(xml).getroot().get("failures") == "1"
    assert command([DEMO, folder], fail_above="2%") == 0
    assert command([DEMO, folder], only=["megatron"]) == 0
    assert command([DEMO, DEMO], as_json=True) == 0
    with pytest.raises(InputError, match="--fail-above 'much'"):
        command([DEMO, folder], fail_above="much")
    with pytest.raises(InputError, match="needs two run folders"):
        command([DEMO])


def test_machine_formats_have_every_regression(tmp_path: Path) -> None:
    done = against_demo(changed(tmp_path / "none", lambda number, line: line if number % 2 else None))
    root = Xml.fromstring(junit(done))
    assert int(root.get("failures", 0)) == len(done.regressions) == len(root.findall("testcase/failure"))
    assert len(list(github(done))) == len(done.regressions) + 1


def test_a_trend_is_drawn_as_it_is(tmp_path: Path) -> None:
    stores = [Store(DEMO)]
    for step in (1, 2):
        factor = 1 + 0.1 * step

        def edit(_: int, line: Line, factor: float = factor) -> Line:
            return line | {"value": line["value"] * factor} if line["solver"] == "contiguous" else line

        stores.append(changed(tmp_path / f"step-{step}", edit))
    rows = trend(stores)
    own = rows[(rows["solver"] == "contiguous") & (rows["measure"] == "value")]
    assert own["ratio"].to_list() == pytest.approx([1.0, 1.1, 1.2])
    figure = trend_figure(rows)
    drawn = [list(map(float, line.get_ydata())) for line in figure.axes[0].get_lines()]
    assert any(np.allclose(line, [1.0, 1.1, 1.2]) for line in drawn if len(line) == 3)
