"""The ablation of `memetic`: variants of options that exist, runs that go on where they stopped, and their summary."""

from __future__ import annotations

from dataclasses import fields, replace
from math import inf
from pathlib import Path

import pytest

from bench.studies.ablation import (
    BENCHMARKS,
    COLUMNS,
    FULL,
    VARIANTS,
    Benchmark,
    Run,
    ablation_table,
    append_run,
    difference,
    loss,
    read_runs,
    run_of,
    runs,
    significant,
    write_runs,
)
from instances.errors import InputError
from scripts import write_ablation as command
from solvers.core.interface import Budget
from solvers.core.registry import make_solver, solver_types

SMALL = Benchmark("regression", "cloud-4gpus-seed0", "weighted:0.5")
TINY = Budget(evaluations=300)
RUN = Run("a", "b", "time", FULL, 0, "300 evaluations", "0123456789abcdef", 1.0, 300, 0.1)


def options(variant: str) -> dict[str, str]:
    return {} if variant == FULL else dict(option.split("=", 1) for option in variant.split())


@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != FULL])
def test_a_variant_differs_from_the_whole_algorithm(variant: str) -> None:
    assert make_solver("memetic", options(variant)) != make_solver("memetic")


def test_every_switch_of_the_solver_has_a_variant() -> None:
    switches = {field.name for field in fields(solver_types()["memetic"]) if field.default is True}
    assert switches <= {name for variant in VARIANTS for name in options(variant)}


def test_the_benchmarks_are_in_the_suites_and_differ_in_size_family_and_objective() -> None:
    assert len(BENCHMARKS) == 8
    assert {benchmark.instance.gpus for benchmark in BENCHMARKS} == {
        64,
        128,
    }  # smaller ones are solved with any part off
    assert len({benchmark.name.partition("-")[0] for benchmark in BENCHMARKS}) >= 4
    assert {"time", "energy@1x"} == {benchmark.objective for benchmark in BENCHMARKS}


def test_an_instance_that_a_suite_lacks_is_refused() -> None:
    with pytest.raises(InputError, match="has no instance nothing"):
        _ = Benchmark("regression", "nothing", "time").instance


def test_a_run_tells_the_referees_value_and_what_it_took() -> None:
    run = run_of(SMALL, "crossover=0", TINY, seed=3)
    assert (run.variant, run.seed, run.budget, run.objective) == ("crossover=0", 3, "300 evaluations", "weighted:0.5")
    assert run.value is not None
    assert 0 < run.value < 1.5
    assert run.evaluations >= 300


def test_runs_that_are_done_are_not_made_again() -> None:
    few = (FULL, "anneal=0")
    first = list(runs(TINY, 2, benchmarks=[SMALL], variants=few))
    assert [(run.variant, run.seed) for run in first] == [(variant, seed) for seed in range(2) for variant in few]
    done = frozenset(run.key for run in first[:3])
    assert [run.key for run in runs(TINY, 2, done, [SMALL], few)] == [first[3].key]


def test_the_file_keeps_what_was_written_and_drops_a_line_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "ablation.csv"
    kept = [RUN, replace(RUN, seed=1, value=None)]
    write_runs(path, kept[:1])
    append_run(path, kept[1])
    with path.open("a") as file:
        file.write("a,b,time,full,2,300 eval")
    assert read_runs(path) == kept


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="header"):
        read_runs(tmp_path / "x.csv")


def test_the_command_goes_on_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ablation.csv"
    monkeypatch.setattr("bench.studies.ablation.make_solver", fails_at(5))
    arguments = {"evaluations": 300, "seeds": 1, "out": path, "seconds": 1.0, "fresh": False}
    with pytest.raises(SystemExit) as ended:
        command.main(**arguments)  # type: ignore[arg-type]
    assert ended.value.code == 130
    before = read_runs(path)
    assert len(before) == 4
    with pytest.raises(InputError, match="--fresh"):
        command.write_ablation(path, Budget(seconds=1.0), 1)
    with pytest.raises(SystemExit):
        command.main(**arguments)  # type: ignore[arg-type]
    after = read_runs(path)
    assert after[:4] == before
    assert len({run.key for run in after}) == len(after) == 8


def fails_at(call: int):  # type: ignore[no-untyped-def]
    """`make_solver` that Ctrl-C meets at every so-manieth call."""
    calls = iter(range(1, 1000))

    def make(name: str, given: dict[str, str]) -> object:
        if next(calls) % call == 0:
            raise KeyboardInterrupt
        return make_solver(name, given)

    return make


def test_the_loss_is_of_geometric_means_and_leaves_out_runs_without_a_plan() -> None:
    assert loss([2.0, 8.0, inf], [2.0, 2.0]) == pytest.approx(1.0)
    assert loss([inf], [2.0]) != loss([inf], [2.0])


def test_worse_and_better_need_more_than_chance_and_rounding() -> None:
    low, high = [1.0 + 0.01 * i for i in range(10)], [1.05 + 0.01 * i for i in range(10)]
    pairs = [(high, low), (low, high), (low, low), ([inf] * 10, low), ([2.0] * 10, [2.0 + 1e-14] * 10), ([2.0], [1.0])]
    assert significant([difference(*pair) for pair in pairs]) == [1, -1, 0, 1, 0, 0]


def test_what_one_test_in_twenty_would_show_by_chance_is_not_significant_among_many() -> None:
    assert significant([(0.04, 1)]) == [1]
    assert not any(significant([(0.04, 1), *[(0.5, 1)] * 20]))


def test_runs_of_another_solver_are_not_mixed_with_todays(tmp_path: Path) -> None:
    write_runs(tmp_path / "x.csv", [RUN])
    with pytest.raises(InputError, match="by other code"):
        command.write_ablation(tmp_path / "x.csv", TINY, 1)
    assert len(read_runs(tmp_path / "x.csv")) == 1


def test_the_summary_has_a_row_per_variant_in_the_order_of_their_table(tmp_path: Path) -> None:
    """focus=0 costs 10 % on one of two instances, in all of ten seeds, so 5 % on average."""
    rows = [
        replace(RUN, instance=name, hash=name, seed=seed, variant=variant, value=10 + seed / 100 + extra)
        for name in ("one", "two")
        for seed in range(10)
        for variant, extra in (("focus=0", 1.0045 if name == "one" else 0.0), (FULL, 0.0), ("anneal=0", 0.0))
    ]
    write_runs(tmp_path / "x.csv", [*rows, replace(rows[2], seed=10, value=None)])
    lines = ablation_table(tmp_path / "x.csv").splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:4]] == ["`anneal=0`", "`focus=0`"]
    assert [cell.strip() for cell in lines[3].split("|")[3:-1]] == ["+5.00 %", "+10.00 %", "1", "0", "0"]
    assert [cell.strip() for cell in lines[2].split("|")[3:-1]] == ["0 %", "0 %", "0", "0", "1"]
    assert "2 instances, 11 seeds, 300 evaluations a run" in lines[-1]


def test_without_runs_the_summary_says_so(tmp_path: Path) -> None:
    write_runs(tmp_path / "x.csv", [])
    assert (tmp_path / "x.csv").read_text().strip() == ",".join(COLUMNS)
    assert "Not measured yet" in ablation_table(tmp_path / "x.csv")
