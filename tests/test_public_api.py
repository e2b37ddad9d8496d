"""The public module: what notebooks and scripts may rely on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geotrain_bench as gb
from instances.generator.family import generate
from tests.test_imports import HEAVY, ROOT, SOURCES, imports, loaded

DATA = ROOT / "tests" / "data"


@pytest.fixture
def hand() -> gb.Instance:
    """Two GPUs, solved by hand in docs/model.md."""
    return gb.load_instance(DATA / "hand-instance.json")


@pytest.fixture
def plan(hand: gb.Instance) -> gb.Plan:
    """3.9 s and 705 J."""
    return gb.load_plan(DATA / "hand-plan.json", hand)


SLOW = gb.Plan(1, (2,), ((gb.Gpu(0, 0),), (gb.Gpu(1, 0),)))
"""Of the same instance: 7.3 s and 819 J."""


def test_all_that_is_offered_is_there_and_documented() -> None:
    for name in gb.__all__:
        assert getattr(gb, name).__doc__, name


def test_importing_it_is_quick() -> None:
    assert not loaded("import geotrain_bench") & {*HEAVY, "numpy", "solvers", "bench"}


def test_no_room_depends_on_it() -> None:
    assert not [path for path in SOURCES if "geotrain_bench" in set(imports(path))]


def test_files_come_back_as_they_were(tmp_path: Path, hand: gb.Instance, plan: gb.Plan) -> None:
    gb.save_instance(tmp_path / "pool.json", hand)
    gb.save_plan(tmp_path / "plan.json", plan, hand)
    again = gb.load_instance(tmp_path / "pool.json")
    assert again == hand
    assert gb.load_plan(tmp_path / "plan.json", again) == plan


def test_a_generated_instance_is_the_one_of_the_command_line() -> None:
    pool = gb.generate("dtfm", 5, seed=2, scenario="spot", gpu_mix="mixed", batch=160)
    assert pool == generate("dtfm", 5, 2, {"scenario": "spot", "gpu-mix": "mixed", "batch": "160"})
    assert "dtfm" in gb.families()
    with pytest.raises(gb.InputError, match="unknown option 'colour'"):
        gb.generate("dtfm", 5, colour="red")


def test_a_plan_costs_what_the_referee_says(hand: gb.Instance, plan: gb.Plan) -> None:
    found = gb.evaluate(hand, plan)
    assert (found.time_s, found.energy_j) == pytest.approx((3.9, 705.0))
    assert gb.violations(hand, plan) == []


def test_an_infeasible_plan_has_reasons_and_no_cost(hand: gb.Instance) -> None:
    wrong = gb.Plan(1, (1,), ((gb.Gpu(0, 0),),))
    assert gb.violations(hand, wrong)[0] == "the stages hold 1 layers, the model has 2"
    with pytest.raises(ValueError, match="1 layers"):
        gb.evaluate(hand, wrong)


def test_two_plans_compared(hand: gb.Instance, plan: gb.Plan) -> None:
    """(7.3 - 3.9) / 7.3 = 46.58 %, (819 - 705) / 819 = 13.92 %."""
    found = gb.compare(hand, SLOW, plan)
    assert found.time_saving == pytest.approx(3.4 / 7.3)
    assert found.energy_saving == pytest.approx(114 / 819)
    assert (found.only_first, found.only_second) == ((), ())
    assert str(found) == "7.3 s -> 3.9 s (+46.58% saved), 819 J -> 705 J (+13.92% saved)"


def test_a_comparison_names_the_gpus_that_only_one_plan_uses() -> None:
    pool = gb.generate("uniform", 4, model="gpt2-medium", batch=8)
    first, second = (
        gb.Plan(1, (12, 12), ((gb.Gpu(0, 0), gb.Gpu(0, 1)),)),
        gb.Plan(1, (12, 12), ((gb.Gpu(0, 1), gb.Gpu(0, 3)),)),
    )
    found = gb.compare(pool, first, second)
    group = pool.groups[0].name
    assert (found.only_first, found.only_second) == ((f"{group}/0",), (f"{group}/3",))
    assert found.time_saving == 0


def test_a_solution_is_judged_by_the_referee(hand: gb.Instance, plan: gb.Plan) -> None:
    found = gb.solve(hand, "brute")
    assert (found.status, found.ended, found.plan) == ("optimal", "finished", plan)
    assert found.value == found.time_s == pytest.approx(3.9)
    assert found.gap == 0
    assert found.trace[-1][2] == pytest.approx(found.value)
    assert "brute" in gb.solvers()


def test_options_objectives_and_limits_are_passed_on(hand: gb.Instance) -> None:
    found = gb.solve(hand, "random", objective="weighted:0.5", reference=(3.9, 705.0), seed=3, draws=50)
    assert found.evaluations == 50
    assert found.value is not None
    assert 1 - 1e-9 <= found.value < 3
    assert gb.solve(hand, "random", evaluations=7, draws=50).evaluations == 7
    assert gb.solve(hand, "brute", objective="energy@1").status == "infeasible"
    with pytest.raises(gb.InputError, match="objective 'speed'"):
        gb.solve(hand, "brute", objective="speed")


def test_a_front_has_its_points_by_rising_time(hand: gb.Instance) -> None:
    found = gb.solve(hand, "brute", objective="front")
    assert found.front
    for point in found.front:
        cost = gb.evaluate(hand, point.plan)
        assert (point.time_s, point.energy_j) == (cost.time_s, cost.energy_j)
    assert [point.time_s for point in found.front] == sorted(point.time_s for point in found.front)
    assert found.plan is None
    assert found.value is None


def test_a_plan_to_start_from_is_no_worse_in_the_end(hand: gb.Instance, plan: gb.Plan) -> None:
    found = gb.solve(hand, "memetic", start=plan, evaluations=1)
    assert found.plan == plan
    with pytest.raises(gb.InputError, match="start: the start plan is infeasible"):
        gb.solve(hand, "memetic", start=gb.Plan(1, (1,), ((gb.Gpu(0, 0),),)), evaluations=1)


def test_what_is_left_out_keeps_the_others_names() -> None:
    pool = gb.generate("dtfm", 5, scenario="worldwide", gpu_mix="mixed")
    gone = pool.groups[0].name
    found = gb.solve(pool, "megatron", without=[gone])
    assert found.plan is not None
    assert all(pool.groups[gpu.group].name != gone for row in found.plan.pipelines for gpu in row)
    assert gb.evaluate(pool, found.plan).time_s == found.value
    assert gb.without(pool, [gone]).gpus == pool.gpus - pool.groups[0].count


def test_a_plan_can_be_drawn(hand: gb.Instance, plan: gb.Plan) -> None:
    assert gb.draw(hand, plan).axes


def test_a_script_needs_no_guard_around_its_calls(tmp_path: Path) -> None:
    """Child processes must not run the caller's script once more."""
    script = tmp_path / "script.py"
    script.write_text(
        "import geotrain_bench as gb\n"
        f"pool = gb.load_instance({str(DATA / 'hand-instance.json')!r})\n"
        "print(gb.solve(pool, 'megatron').status)\n"
        "import __main__; assert __main__.pool is pool\n"
    )
    call = [sys.executable, str(script)]
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, env=here)
    assert (done.stdout, done.returncode) == ("feasible\n", 0), done.stderr


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"seed": 1.5}, "--seed 1.5: must be a whole number"),
        ({"seed": True}, "--seed True: must be a whole number"),
        ({"seed": None}, "--seed None: must be a whole number"),
        ({"seed": -1}, "--seed -1: must be 0 or more"),
        ({"evaluations": "100"}, "--evaluations '100': must be a whole number"),
        ({"threads": 1.0}, "--threads 1.0: must be a whole number"),
        ({"time_limit_s": "5"}, "--time-limit '5': must be a number"),
        ({"time_limit_s": float("nan")}, "--time-limit nan: must be 0 or more"),
    ],
    ids=str,
)
def test_a_limit_that_is_none_is_refused_before_the_search(hand: gb.Instance, limits: Any, words: str) -> None:
    with pytest.raises(gb.InputError) as refused:
        gb.solve(hand, "megatron", **limits)
    assert str(refused.value) == words


@pytest.mark.parametrize("seed", [np.int64(3), 10**32], ids=str)
def test_any_whole_number_is_a_seed(hand: gb.Instance, seed: int) -> None:
    answers = [gb.solve(hand, "memetic", seed=seed, evaluations=np.int64(50)) for _ in range(2)]  # type: ignore[arg-type]
    assert answers[0].value == answers[1].value == pytest.approx(3.9)
