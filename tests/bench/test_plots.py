"""Figures, read back from their artists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bench.records.task import Task
from bench.reporting.formatting import seconds
from bench.reporting.metrics import hypervolume_share
from bench.reporting.plots import save_figures
from bench.reporting.plots.anytime import anytime_figure, median_gaps
from bench.reporting.plots.files import SUFFIXES
from bench.reporting.plots.front import fronts_figure
from bench.reporting.plots.gaps import gaps_figure
from bench.reporting.plots.plan import plan_figure
from bench.reporting.plots.plan_sheet import folded, left_out
from bench.reporting.plots.profile import profile_figure
from bench.reporting.plots.proofs import proofs_figure
from bench.reporting.plots.style import OTHERS, SOLVERS, styles
from bench.reporting.report import Report, make_report, write_report
from instances.plan import Gpu, Plan
from solvers.core.interface import Outcome, Status, TracePoint
from solvers.core.registry import solver_types
from tests.bench.folders import ERROR, FAST, GOOD, NOTHING, OPTIMAL, POOR, SLOW, folder_with, task
from tests.editing import hand_instance

pytestmark = pytest.mark.filterwarnings("error")
Runs = list[tuple[Task, Outcome | None]]
PROVEN_FRONT = Outcome(Status.OPTIMAL, front=(FAST,))


def report_on(path: Path, runs: Runs) -> Report:
    return make_report(folder_with(path, runs))


def figures_on(path: Path, runs: Runs) -> list[str]:
    report = report_on(path, runs)
    drawn, absent = save_figures(report.runs, report.traces, report.fronts, path)
    assert len(drawn) + len(absent) == 6
    return [figure.name for figure in drawn]


def curves(ax: Axes, solver: str) -> list[Line2D]:
    """What is drawn in a solver's colour."""
    return [line for line in ax.lines if to_hex(line.get_color()) == SOLVERS[solver].colour]


def corners(ax: Axes, solver: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Corners of a solver's step curve."""
    (line,) = curves(ax, solver)
    assert line.get_drawstyle() == "steps-post"
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def written(figure: Figure) -> str:
    """All text on a figure."""
    return "\n".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


# search over time


def traced(*points: tuple[float, float], plan: Plan = FAST) -> Outcome:
    return Outcome(Status.FEASIBLE, plan, trace=tuple(TracePoint(at, 1, value) for at, value in points))


def test_search_over_time_is_a_median_in_which_a_run_without_a_plan_is_infinitely_bad(tmp_path: Path) -> None:
    runs: Runs = [
        (task("memetic", 0), traced((0.1, 7.8), (0.2, 3.9))),
        (task("memetic", 1), traced((0.4, 3.9))),
        (task("memetic", 2), ERROR),
        (task("megatron"), ERROR),
    ]
    report = report_on(tmp_path, runs)
    medians = median_gaps(report.runs, report.traces)
    assert medians[["seconds", "gap", "low", "high"]].to_numpy().tolist() == [
        [0.4, 0, 0, np.inf],
        [2, 0, 0, np.inf],
    ]
    figure = anytime_figure(report.runs, report.traces)
    assert figure is not None
    assert "n/a, too few plans: megatron" in written(figure)
    assert figure.axes[0].get_title(loc="left") == "2 GPUs"
    xs, _ = corners(figure.axes[0], "memetic")
    assert xs.tolist() == [0.4, 2.0], "to the end of the last run"


def test_without_traces_there_is_no_search_over_time(tmp_path: Path) -> None:
    report = report_on(tmp_path, [(task("memetic"), GOOD)])
    assert anytime_figure(report.runs, report.traces) is None


def test_the_four_solvers_that_end_best_have_bands_of_the_middle_half(tmp_path: Path) -> None:
    names = ("memetic", "random", "dtfm", "brute", "milp")
    runs: Runs = [(task(name, seed), traced((0.1, 7.8), (0.2, 3.9))) for name in names[1:] for seed in (0, 1)]
    runs += [(task("memetic"), traced((0.1, 7.3), plan=SLOW))]
    report = report_on(tmp_path, runs)
    figure = anytime_figure(report.runs, report.traces)
    assert figure is not None
    bands = [band for band in figure.axes[0].collections if isinstance(band, PolyCollection)]
    assert {to_hex(band.get_facecolor()[0]) for band in bands} == {SOLVERS[name].colour for name in names[1:]}
    assert "memetic" in written(figure)


# fronts


def test_fronts_are_overlaid_with_the_plans_of_solvers_that_gave_none(tmp_path: Path) -> None:
    runs: Runs = [
        (task("brute", objective="front"), PROVEN_FRONT),
        (task("memetic", 0, "front"), Outcome(Status.FEASIBLE, front=(SLOW,))),
        (task("memetic", 1, "front"), ERROR),
        (task("megatron"), POOR),
        (task("brute"), OPTIMAL),
    ]
    report = report_on(tmp_path, runs)
    figure = fronts_figure(report.runs, report.fronts)
    assert figure is not None
    (ax,) = figure.axes
    (brute,), (memetic,), (megatron,) = (curves(ax, solver) for solver in ("brute", "memetic", "megatron"))
    assert (list(brute.get_xdata()), list(brute.get_ydata())) == ([pytest.approx(3.9)], [pytest.approx(0.705)])
    assert (brute.get_markerfacecolor(), memetic.get_markerfacecolor()) == ("none", SOLVERS["memetic"].colour)
    assert list(memetic.get_xdata()) == list(megatron.get_xdata()) == [pytest.approx(7.3)]
    assert (memetic.get_linestyle(), megatron.get_linestyle()) == ("-", "None")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "brute: front, proven complete, 100.00 %",
        "memetic: front, 0 %, 1 of 2 runs",
    ]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["megatron: plans"]
    assert len(ax.lines) == 3


def test_fronts_of_several_runs_are_curves_of_their_own(tmp_path: Path) -> None:
    runs: Runs = [(task("memetic", seed, "front"), Outcome(Status.FEASIBLE, front=(FAST,))) for seed in range(3)]
    report = report_on(tmp_path, runs)
    figure = fronts_figure(report.runs, report.fronts)
    assert figure is not None
    assert len(figure.axes[0].lines) == 3


def test_the_hypervolume_of_a_front_is_a_share_of_what_all_plans_dominate() -> None:
    """Plans (2, 4), (4, 2) and (5, 5), the last one dominated: the corner is 1.1 x (4, 4) = (4.4, 4.4).

    (2, 4) dominates 2.4 x 0.4 = 0.96, as does (4, 2); they share 0.4 x 0.4 = 0.16, so together 1.76.
    """
    both, outside = [(2.0, 4.0), (4.0, 2.0)], (5.0, 5.0)
    known = [*both, outside]
    assert hypervolume_share(both, known) == pytest.approx(1)
    assert hypervolume_share(both[:1], known) == pytest.approx(0.96 / 1.76)
    assert hypervolume_share([outside], known) == 0
    assert hypervolume_share([(4.0, 4.0)], known) == pytest.approx(0.16 / 1.76)
    assert hypervolume_share([(1e-3 * t, 1e3 * e) for t, e in both[1:]], [(1e-3 * t, 1e3 * e) for t, e in known]) == (
        pytest.approx(0.96 / 1.76)
    )


def test_plans_of_single_objectives_count_for_the_best_known_front(tmp_path: Path) -> None:
    """(7.3 s, 819 J) alone would be its own best known front; the faster and cheaper plan leaves nothing of it."""
    slow = (task("memetic", 0, "front"), Outcome(Status.FEASIBLE, front=(SLOW,)))
    write_report(folder_with(tmp_path / "alone", [slow]))
    (row,) = pd.read_csv(tmp_path / "alone" / "fronts.csv").to_dict("records")
    assert (row["solver"], row["time_s"], row["hypervolume"]) == ("memetic", pytest.approx(7.3), pytest.approx(1))
    assert report_on(tmp_path / "both", [slow, (task("brute"), OPTIMAL)]).fronts["hypervolume"].tolist() == [0]


# all together


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], []),
        ([(task("memetic"), None)], []),
        ([(task("memetic"), ERROR)], []),
        ([(task("memetic"), GOOD)], ["profile"]),
        ([(task("brute"), NOTHING)], ["proofs"]),
        ([(task("brute"), OPTIMAL)], ["profile", "gaps", "anytime", "proofs"]),
        ([(task("megatron"), POOR), (task("memetic"), GOOD)], ["savings", "profile"]),
        ([(task("megatron"), POOR), (task("memetic"), ERROR)], ["profile"]),
        ([(task("brute", objective="front"), PROVEN_FRONT)], ["proofs", "fronts"]),
    ],
)
def test_only_what_has_something_to_show_is_drawn(tmp_path: Path, runs: Runs, expected: list[str]) -> None:
    for suffix in SUFFIXES:
        (tmp_path / f"savings.{suffix}").write_bytes(b"of an earlier report")
    assert figures_on(tmp_path, runs) == expected
    for suffix in SUFFIXES:
        assert sorted(path.stem for path in tmp_path.glob(f"*.{suffix}")) == sorted(expected)


def test_a_figure_that_is_left_out_is_named_with_the_reason(tmp_path: Path) -> None:
    _, path = write_report(folder_with(tmp_path, [(task("memetic"), GOOD)]))
    for text in (path.read_text(), path.with_suffix(".html").read_text()):
        assert "savings: no plan can be compared with one of megatron" in text
        assert "proofs: no exact method has a result" in text


def test_reports_show_figures_with_captions_and_words_for_those_who_cannot_see_them(tmp_path: Path) -> None:
    instance = hand_instance(name='a*b "$x$"')
    runs: Runs = [(task("brute", objective="front", instance=instance), PROVEN_FRONT)]
    _, path = write_report(folder_with(tmp_path, runs))
    markdown, page = path.read_text(), path.with_suffix(".html").read_text()
    assert '![Energy by iteration time for a\\*b "$x$".](fronts.png)' in markdown
    assert "\n*The trade-off between" in markdown
    assert 'alt="Energy by iteration time for a*b &#34;$x$&#34;."' in page
    assert "<figcaption>The trade-off between" in page


def test_a_solver_has_one_colour_in_all_figures(tmp_path: Path) -> None:
    runs: Runs = [(task("megatron"), POOR), (task("brute"), OPTIMAL), (task("memetic"), traced((0.1, 3.9)))]
    report = report_on(tmp_path, runs)
    both = [gaps_figure(report.runs), profile_figure(report.runs), anytime_figure(report.runs, report.traces)]
    for figure, solvers in [*((each, ("brute", "memetic")) for each in both), (proofs_figure(report.runs), ("brute",))]:
        assert figure is not None
        for solver in solvers:
            assert any(curves(ax, solver) for ax in figure.axes)
        for legend in [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]:
            for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True):
                assert line.get_color() == SOLVERS[text.get_text().partition(":")[0]].colour


def test_every_solver_has_a_look_of_its_own_and_keeps_it() -> None:
    assert set(SOLVERS) >= set(solver_types())
    looks = [*SOLVERS.values(), *OTHERS]
    assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == len(looks)
    found = styles(["mine", "memetic", "memetic[size=9]"])
    assert found["memetic"] == SOLVERS["memetic"] == styles(["memetic"])["memetic"]
    assert found["memetic[size=9]"].colour == found["memetic"].colour
    assert found["memetic[size=9]"].dashes != found["memetic"].dashes
    assert found["mine"] == OTHERS[0]


# one plan


def parts_of(figure: Figure, gid: str) -> list[Any]:
    return figure.findobj(lambda artist: artist.get_gid() == gid)


def test_the_picture_of_the_plan_worked_by_hand() -> None:
    figure = plan_figure(hand_instance(), FAST)
    assert [text.get_text() for text in parts_of(figure, "name")] == ["a/0\nsmall", "b/0\nlarge"]
    busy = [bar.get_width() for bar in parts_of(figure, "busy")]
    assert busy[1] / busy[0] == pytest.approx(2.0 / 2.4)
    fill, steady = parts_of(figure, "part fill")[0], parts_of(figure, "part steady")[0]
    assert steady.get_width() / fill.get_width() == pytest.approx(2.1 / 1.8)
    assert [text.get_text() for text in parts_of(figure, "mark")] == ["slowest forward", "slowest\nbackward"]
    (link,) = parts_of(figure, "link")
    assert "50.0 ms" in written(figure)
    assert "2.00 kB/s" in written(figure), "the slower direction"
    assert link.get_color() == parts_of(figure, "mark")[0].get_color()
    assert not parts_of(figure, "exchange")
    assert "All 2 GPUs are used." in written(figure)


def wide(replicas: int, stages: int) -> Figure:
    """The picture of a plan over many GPUs of one group."""
    instance = hand_instance(
        groups__0__count=replicas * stages + 3,
        groups__0__memory=1e12,
        model__layers=stages,
        training__global_batch=replicas,
    )
    rows = tuple(tuple(Gpu(0, r * stages + s) for s in range(stages)) for r in range(replicas))
    return plan_figure(instance, Plan(1, (1,) * stages, rows))


@pytest.mark.parametrize(("replicas", "stages"), [(1, 64), (64, 1), (8, 8), (21, 3), (2, 11)])
def test_up_to_64_gpus_all_are_drawn_on_a_sheet_of_moderate_size(replicas: int, stages: int) -> None:
    figure = wide(replicas, stages)
    figure.canvas.draw()
    assert len(parts_of(figure, "box")) == replicas * stages
    assert max(figure.get_size_inches()) < 20
    assert len(parts_of(figure, "exchange")) == (replicas if replicas > 1 else 0)
    assert "Not drawn" not in written(figure)


@pytest.mark.parametrize(("replicas", "stages"), [(40, 2), (1, 100), (3, 70)])
def test_beyond_64_gpus_the_slowest_stand_for_all_and_the_rest_is_counted(replicas: int, stages: int) -> None:
    figure = wide(replicas, stages)
    assert 40 <= len(parts_of(figure, "box")) <= 64
    assert max(figure.get_size_inches()) < 20
    assert "Not drawn" in written(figure)
    assert parts_of(figure, "mark")


def test_gpus_left_out_are_listed_by_group() -> None:
    instance = hand_instance(groups__0__count=6)
    plan = Plan(1, (2,), ((Gpu(0, 1),),))
    assert left_out(instance, plan) == "Left out, 6 of 7 GPUs: a/0+2-5, b/0."


def test_names_are_broken_at_dashes_and_cut_only_if_they_must_be() -> None:
    assert folded("oregon-l4/0", 20) == ["oregon-l4/0"]
    assert folded("frankfurt-machine-0-v100/3", 18) == ["frankfurt-machine-", "0-v100/3"]
    assert folded("x" * 40 + "/7", 10) == ["x" * 10, "x" * 10, "…" + "x" * 7 + "/7"]


def test_durations_have_units_that_suit_them() -> None:
    assert [seconds(value) for value in (0, 2e-6, 0.05, 12.345)] == ["0 s", "2.00 µs", "50.0 ms", "12.3 s"]


def test_names_that_look_like_formulas_are_shown_as_they_are(tmp_path: Path) -> None:
    figure = plan_figure(hand_instance(name="$x_1$", groups__0__region="_hidden", sites={}), FAST)
    figure.savefig(tmp_path / "picture.png")
    assert r"\$x_1\$" in written(figure)
    assert " _hidden" in written(figure)
