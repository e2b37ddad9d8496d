"""Figures that compare solvers over all problems, read back from their artists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from bench.reporting.by_solver import by_solver
from bench.reporting.names import LONGEST, network_of, short_labels, short_names
from bench.reporting.plots.files import SUFFIXES, save
from bench.reporting.plots.gaps import gaps_figure
from bench.reporting.plots.profile import profile_figure
from bench.reporting.plots.proofs import proofs_by_size, proofs_figure
from bench.reporting.plots.savings import savings_figure
from bench.reporting.plots.steps import steps_figure
from bench.reporting.plots.style import MOST_ROWS, size_ranges, styles
from bench.reporting.report import make_report
from solvers.core.interface import Outcome, Status
from tests.bench.folders import EMPTY, ERROR, FAST, GOOD, NOTHING, OPTIMAL, POOR, folder_with, task
from tests.bench.test_plots import Runs, corners, curves, parts_of, report_on, written
from tests.editing import hand_instance

pytestmark = pytest.mark.filterwarnings("error")


def offsets(ax: Axes, number: int = 0) -> list[list[float]]:
    """Places of the marks of a scatter plot."""
    return np.asarray(ax.collections[number].get_offsets()).tolist()


def runs_of(solver: str, gpus: int, values: list[float | None], seconds: float = 1.0, **others: Any) -> pd.DataFrame:
    """Rows of a table of runs, of one problem with the best known value 1."""
    row = {"solver": solver, "gpus": gpus, "instance": f"pool-{gpus}", "objective": "time", "wall_s": seconds, **others}
    runs = pd.DataFrame([{**row, "seed": seed, "value": value} for seed, value in enumerate(values)])
    runs["value"] = runs["value"].astype("float64")
    gaps = runs["value"] - 1
    status = runs["value"].notna().map({True: "feasible", False: "unknown"})
    known = {"best_value": 1.0, "optimum": 1.0, "best_known_gap": gaps, "optimality_gap": gaps, "status": status}
    return runs.assign(**{name: value for name, value in known.items() if name not in others})


# performance profile


def test_the_profile_counts_problems_by_their_median_run_and_failures_as_infinitely_bad(tmp_path: Path) -> None:
    energy = [(task("memetic", seed, "energy"), outcome) for seed, outcome in enumerate([GOOD, GOOD, ERROR])]
    runs: Runs = [
        (task("brute"), OPTIMAL),
        *((task("memetic", seed), outcome) for seed, outcome in enumerate([GOOD, ERROR, NOTHING, None])),
        *energy,
        (task("random", 0), POOR),
        (task("random", 0, "energy"), POOR),
        (task("random", 1, "energy"), ERROR),
        (task("random", 0, "weighted:0.5"), NOTHING),
    ]
    figure = profile_figure(report_on(tmp_path, runs).runs)
    assert figure is not None
    (ax,) = figure.axes
    assert ax.get_title(loc="left").startswith("2 problems")
    xs, ys = corners(ax, "memetic")
    assert (xs[1], ys[1], ys[-1]) == (0, 0.5, 0.5), "three of four runs fail on the first, one of three on the second"
    xs, ys = corners(ax, "random")
    assert (xs[1], ys[0], ys[-1]) == (pytest.approx((7.3 - 3.9) / 3.9), 0, 0.5)
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {
        *("brute: 1 of 1", "memetic: 1 of 2", "random: 1 of 2"),
    }
    assert "left out, as no plan is known: 1 problem" in written(figure)


def test_infinite_ratios_are_never_within() -> None:
    """Against a best known value of 0, as carbon may have."""
    figure = profile_figure(
        pd.concat([runs_of("memetic", 4, [1.0]), runs_of("random", 4, [2.0], best_known_gap=np.inf)])
    )
    assert figure is not None
    figure.canvas.draw()
    assert set(corners(figure.axes[0], "random")[1]) == {0}


def test_curves_that_coincide_have_their_markers_at_ratios_of_their_own() -> None:
    solvers = ("memetic", "cpsat", "milp")
    figure = profile_figure(pd.concat([runs_of(solver, 4, [1.0]) for solver in solvers]))
    assert figure is not None
    marks = [x for x, _ in offsets(figure.axes[0])]
    assert len(set(marks)) == len(marks) == 3 * len(solvers)
    widths = [curves(figure.axes[0], solver)[0].get_linewidth() for solver in solvers]
    assert widths == sorted(set(widths), reverse=True)


# gap to the optimum


def test_every_problem_has_a_mark_at_its_gap_and_a_bar_is_at_the_median_of_the_summary(tmp_path: Path) -> None:
    other = hand_instance(name="other")
    least = Outcome(Status.OPTIMAL, FAST, bound=705 * (1 - 1e-12))
    runs: Runs = [(task("brute"), OPTIMAL), (task("brute", objective="energy"), least)]
    runs += [(task("brute", instance=other), OPTIMAL), (task("random", instance=other), ERROR)]
    runs += [(task("random"), POOR), (task("random", 0, "energy"), POOR), (task("random", 1, "energy"), ERROR)]
    runs += [(task("random", 0, "weighted:0.5"), POOR)]
    table = report_on(tmp_path, runs).runs
    figure = gaps_figure(table)
    assert figure is not None
    (ax,) = figure.axes
    assert sorted(x for x, _ in offsets(ax, 1)) == pytest.approx(sorted([(7.3 - 3.9) / 3.9, (819 - 705) / 705]))
    summary = by_solver(table, ("megatron",)).set_index("solver")
    (bar,) = curves(ax, "random")
    assert bar.get_xdata() == pytest.approx([summary["optimality_gap"]["random"]] * 2)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[0] == "brute\n3 of 3 at 0, median 0 %"
    assert labels[1].startswith("random\n0 of 3 at 0, median ")
    assert labels[1].endswith(", 1 without a plan")


def test_an_infinite_gap_is_counted_where_it_cannot_be_drawn() -> None:
    runs = pd.concat([runs_of("memetic", 4, [1.0]), runs_of("random", 4, [2.0])])
    columns = ["time_s", "energy_j", "certified_gap", "time_saving", "energy_saving", "gap", "bound", "best_bound"]
    runs = runs.assign(**dict.fromkeys(columns, np.nan))
    runs.loc[runs["solver"] == "random", "optimality_gap"] = np.inf
    figure = gaps_figure(runs)
    assert figure is not None
    figure.canvas.draw()
    assert "0 of 1 at 0, median infinite, 1 infinite" in written(figure)


# time to a proof


def test_proofs_are_filled_and_other_ends_hollow_and_a_line_joins_medians_until_most_runs_stop(tmp_path: Path) -> None:
    proven = {"status": "optimal"}
    runs = pd.concat(
        [
            *(runs_of("cpsat", 4, [1.0], seconds, **proven) for seconds in (1.0, 3.0, 2.0)),
            *(runs_of("cpsat", 8, [1.0], seconds, **proven) for seconds in (20.0, 30.0)),
            *(runs_of("cpsat", 8, [1.0], 60.0), runs_of("cpsat", 16, [1.0], 60.0)),
            *(runs_of("cpsat", 16, [1.0], 40.0, **proven), runs_of("cpsat", 16, [None], np.nan, status="missing")),
            *(runs_of("milp", 4, [None], 5.0, status="infeasible"), runs_of("memetic", 4, [1.0])),
        ]
    )
    table = proofs_by_size(
        pd.DataFrame(runs).assign(proven=runs["status"].isin(("optimal", "infeasible")), seconds=runs["wall_s"])
    )
    cpsat = table[table["solver"] == "cpsat"].set_index("gpus")
    assert cpsat["share"].to_dict() == {4: 1, 8: pytest.approx(2 / 3), 16: pytest.approx(1 / 3)}
    figure = proofs_figure(runs)
    assert figure is not None
    time, share = figure.axes
    (line,), (falling,) = curves(time, "cpsat"), curves(share, "cpsat")
    assert list(line.get_ydata()) == [2.0, 30.0]
    assert list(falling.get_ydata()) == pytest.approx([1, 2 / 3, 1 / 3])
    (filled,), (hollow,) = parts_of(figure, "cpsat proven"), parts_of(figure, "cpsat open")
    assert [y for _, y in filled.get_offsets()] == [1, 3, 2, 20, 30, 40]
    assert [y for _, y in hollow.get_offsets()][:2] == [60, 60]
    assert not len(hollow.get_facecolor())
    assert not curves(time, "memetic")
    texts = [text.get_text() for text in time.get_legend().get_texts()]
    assert texts == ["cpsat: 6 of 9 proven", "milp: 1 of 1 proven"]


def test_equal_times_stand_beside_each_other() -> None:
    both = [runs_of(solver, gpus, [1.0], status="optimal") for solver in ("cpsat", "milp") for gpus in (4, 64)]
    figure = proofs_figure(pd.concat(both))
    assert figure is not None
    figure.canvas.draw()
    places = [x for part in ("cpsat proven", "milp proven") for x, _ in parts_of(figure, part)[0].get_offsets()]
    assert len(set(places)) == 4
    low, high = figure.axes[0].get_xlim()
    assert all(low < x < high for x in places)


@pytest.mark.parametrize("outcome", [EMPTY, NOTHING, ERROR])
def test_an_exact_method_that_only_fails_is_drawn_without_a_line(tmp_path: Path, outcome: Any) -> None:
    figure = proofs_figure(report_on(tmp_path, [(task("brute"), outcome)]).runs)
    assert figure is not None
    figure.canvas.draw()
    assert len(curves(figure.axes[0], "brute")) == (outcome is EMPTY)


# savings


def test_the_heat_maps_have_the_savings_of_the_table(tmp_path: Path) -> None:
    runs: Runs = [(task("megatron"), POOR), (task("brute"), OPTIMAL)]
    runs += [(task("memetic", seed), POOR if seed else GOOD) for seed in range(3)]
    runs += [(task("megatron", objective="energy"), POOR), (task("memetic", objective="energy"), GOOD)]
    table = report_on(tmp_path, runs).runs
    figure = savings_figure(table)
    assert figure is not None
    time, energy = figure.axes
    assert [label.get_text() for label in time.get_xticklabels()] == ["brute", "memetic"], "not the baseline itself"
    assert [label.get_text() for label in time.get_yticklabels()] == ["two-gpus-two-layers 2"]
    summary = by_solver(table, ("megatron",)).set_index("solver")
    for ax, measure in ((time, "time"), (energy, "energy")):
        shown = np.ma.filled(ax.collections[0].get_array(), np.nan).ravel()
        assert shown == pytest.approx(summary[f"{measure}_saved_vs_megatron"][["brute", "memetic"]], nan_ok=True)
    assert [text.get_text() for text in time.texts] == ["+47", "0"], "the median of 47, 0 and 0 per cent"
    assert [text.get_text() for text in energy.texts] == ["+14"]


def test_many_networks_fit_a_page_and_say_how_many_share_a_row() -> None:
    saved = {"time_saved_vs_megatron": 0.5, "energy_saved_vs_megatron": np.nan}
    runs = [runs_of("memetic", 4, [1.0], instance=f"pool{n}x-{k}", **saved) for n in range(80) for k in range(2)]
    figure = savings_figure(pd.concat(runs))
    assert figure is not None
    rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(rows) == MOST_ROWS
    assert f"{80 - MOST_ROWS + 1} others" in rows
    assert figure.get_figheight() < 12
    assert len(figure.axes) == 1, "no energy is compared"


# the saving taken apart


def steps_frame(problems: int = 2, **savings: float) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "step": step,
                "instance": f"dtfm-net{n}-mixed-64gpus-seed0",
                "objective": "time",
                "saving": saving * (n + 1),
            }
            for n in range(problems)
            for step, saving in savings.items()
        ]
    )


def test_the_waterfall_begins_each_step_where_the_one_before_ends() -> None:
    figure = steps_figure(steps_frame(layers=0.2, order=-0.1, search=0.1))
    assert figure is not None
    waterfall, bars = figure.axes
    drawn = [(bar.get_x(), bar.get_width()) for bar in parts_of(figure, "step")]
    assert drawn == [pytest.approx(pair) for pair in [(0, 0.3), (0.3, -0.15), (0.15, 0.15), (0, 0.3)]]
    assert [text.get_text() for text in waterfall.texts] == ["+30 %", "-15 %", "+15 %", "+30 %"]
    assert [label.get_text() for label in bars.get_yticklabels()] == ["net0-mixed 64", "net1-mixed 64"]
    assert [x for x, _ in offsets(bars)] == pytest.approx([0.2, 0.4])
    search = parts_of(figure, "step search")
    assert [(bar.get_x(), bar.get_width()) for bar in search] == [pytest.approx((0.2, 0.1)), pytest.approx((0.4, 0.2))]
    lost = parts_of(figure, "step order")
    assert [(bar.get_x(), bar.get_width()) for bar in lost] == [pytest.approx((0, -0.1)), pytest.approx((0, -0.2))]


def test_problems_with_a_step_missing_are_left_out_and_none_is_no_figure() -> None:
    steps = steps_frame(layers=0.2, search=0.1)
    steps.loc[0, "saving"] = np.nan
    figure = steps_figure(steps)
    assert figure is not None
    assert "mean over 1 problem" in written(figure)
    assert steps_figure(steps.assign(saving=np.nan)) is None
    assert steps_figure(steps.head(0)) is None


def test_the_saving_of_many_problems_fits_a_page() -> None:
    figure = steps_figure(steps_frame(90, layers=0.001, search=0.002))
    assert figure is not None
    assert len(figure.axes[1].get_yticks()) == MOST_ROWS
    assert "the first 36 of 90" in written(figure)
    assert figure.get_figheight() < 12


# all of them


def test_the_same_figure_is_the_same_files_without_a_date(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        files = [tmp_path / name / f"gaps.{suffix}" for name in ("first", "second")]
        for path in files:
            path.parent.mkdir(exist_ok=True)
            figure = gaps_figure(
                make_report(folder_with(tmp_path / f"{path.parent.name}-{suffix}", [(task("brute"), OPTIMAL)])).runs
            )
            assert figure is not None
            save(figure, path)
        first, second = (path.read_bytes() for path in files)
        assert first == second
        assert not any(word in first for word in (b"dc:date", b"CreationDate"))


def test_more_sizes_than_panels_share_them() -> None:
    few, many = pd.Series([4, 1024, 4]), pd.Series(range(1, 21))
    assert size_ranges(few).tolist() == ["4 GPUs", "1,024 GPUs", "4 GPUs"]
    assert list(dict.fromkeys(size_ranges(many)))[:2] == ["1 to 4 GPUs", "5 to 8 GPUs"]
    assert size_ranges(many).nunique() <= 6


def test_a_solver_without_options_is_solid_wherever_it_stands() -> None:
    found = styles(["memetic[size=9]", "memetic"])
    assert (found["memetic"].dashes, bool(found["memetic[size=9]"].dashes)) == ("", True)


# names


def test_short_names_say_network_and_size_and_the_model_only_where_it_tells_them_apart() -> None:
    names = [
        "dtfm-worldwide-mixed-gpt3-1.3b-64gpus-seed0",
        "cloud-llama-7b-64gpus-seed0",
        "cloud-gpt-neo-2.7b-64gpus-seed0",
        "uniform-4gpus-seed0",
        "uniform-4gpus-seed1",
        "profiled-opt-350m-sailor-8gpus-seed0",
        "exact-wan-06-0",
    ]
    assert list(short_names(names).values()) == [
        "worldwide-mixed 64",
        "cloud 64 llama-7b",
        "cloud 64 gpt-neo-2.7b",
        "uniform 4 seed0",
        "uniform 4 seed1",
        "profiled 8",
        "exact-wan-06-0",
    ]
    assert [network_of(name) for name in names[:2] + names[-2:]] == [
        "worldwide-mixed",
        "cloud",
        "profiled",
        "exact-wan",
    ]


def test_short_names_are_short_and_all_different() -> None:
    names = ["x" * 50 + str(n) + "y" * 50 for n in range(3)] + ["$a$", "-5", "cloud 4", "cloud-4gpus-seed0"]
    short = short_names(names)
    assert len(set(short.values())) == len(names)
    assert max(map(len, short.values())) <= LONGEST + len(" (3)")


def test_labels_of_solvers_have_as_many_options_as_tell_them_apart() -> None:
    labels = ["memetic", "memetic[anneal=0,crossover=0,fresh=1]", "milp[a=1,b=2]", "milp[a=1,b=3]"]
    assert list(short_labels(labels).values()) == ["memetic", "memetic[anneal=0,…]", "milp[a=1,b=2]", "milp[a=1,b=3]"]


def test_figures_over_names_that_look_like_formulas(tmp_path: Path) -> None:
    instance = hand_instance(name="$x_$")
    runs: Runs = [(task("megatron", instance=instance), POOR), (task("memetic", instance=instance), GOOD)]
    figure = savings_figure(report_on(tmp_path, runs).runs)
    assert figure is not None
    figure.canvas.draw()
    assert r"\$x_\$ 2" in written(figure)
