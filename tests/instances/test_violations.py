"""What makes a plan infeasible: to the byte, to the watt, and as a sentence that says where."""

from __future__ import annotations

from typing import Any

import pytest

from instances.instance import Instance
from instances.plan import Gpu, Plan
from instances.referee.violations import slot_bytes, violations
from instances.tables import Grid, Tables
from solvers.core.interface import Status
from tests.editing import changed, hand_instance
from tests.random_plans import drawn
from tests.solving import solved

TWO_STAGES = Plan(1, (1, 1), ((Gpu(0, 0), Gpu(1, 0)),))
MODEL = {
    "model.layers": 6,
    "training.global_batch": 12,
    "training.micro_batches": [1, 2, 3],
    "groups.0.count": 4,
    "groups.1.count": 4,
    "groups.0.memory": 1e12,
    "groups.1.memory": 1e12,
}


def need_by_the_formula(instance: Instance, plan: Plan, stage: int) -> float:
    """Memory of a slot, written out once more from the table in docs/model.md."""
    model, training = instance.model, instance.training
    h, q, m, heads = model.hidden, model.sequence, model.ffn, model.heads
    kv, g = model.kv_heads / heads, 3 if model.gated_ffn else 2
    first, last = stage == 0, stage == plan.stages - 1
    parameters = plan.layers[stage] * (h * h * (2 + 2 * kv) + g * h * m)
    copies = 1 if first and last and model.tied_embeddings else first + last
    parameters += copies * model.vocab * h
    core = 5 * q * q * heads
    kept = q * (h * (14 + 4 * kv) + 2 * g * m) + core
    stash = {"none": kept, "selective": kept - core, "full": 2 * q * h}[training.recompute]
    working = {"none": 0, "selective": core, "full": kept}[training.recompute]
    count = training.global_batch // (plan.replicas * plan.micro_batch)
    need = training.state_bytes_per_parameter * parameters
    need += count * plan.micro_batch * plan.layers[stage] * stash + plan.micro_batch * working
    if last:
        need += count * plan.micro_batch * 2 * q * h + plan.micro_batch * 4 * q * model.vocab
    return need


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("kv_heads", [1, 2])
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("layers", [(6,), (2, 4), (2, 3, 1)])
@pytest.mark.parametrize("micro_batch", [1, 2, 3])
def test_memory_equal_to_the_need_fits_and_one_byte_less_does_not(
    recompute: str, tied: bool, kv_heads: int, gated: bool, layers: tuple[int, ...], micro_batch: int
) -> None:
    instance = hand_instance(
        model__layers=6,
        model__heads=2,
        model__kv_heads=kv_heads,
        model__gated_ffn=gated,
        model__tied_embeddings=tied,
        training__recompute=recompute,
        training__global_batch=12,
        training__micro_batches=[1, 2, 3],
        groups__0__count=len(layers) - 1 or 1,
        groups__0__memory=1e12,
        groups__1__memory=1e12,
    )
    for stage in range(len(layers)):
        # Group b serves this stage alone, so only its memory matters.
        a = iter(range(9))
        row = tuple(Gpu(1, 0) if s == stage else Gpu(0, next(a)) for s in range(len(layers)))
        plan = Plan(micro_batch, layers, (row,))
        need = need_by_the_formula(instance, plan, stage)
        assert need == int(need)
        assert slot_bytes(instance, plan)[stage] == need
        enough = changed(instance, {"groups.1.memory": need})
        short = changed(instance, {"groups.1.memory": need - 1})
        assert violations(enough, plan) == []
        assert violations(short, plan) == [f"stage {stage} on b/0 needs {need:.0f} bytes, it has {need - 1:.0f}"]
        # The table that solvers read agrees to the byte.
        ends = int(stage == 0), int(stage == len(layers) - 1)
        for case, fitting in ((enough, True), (short, False)):
            tables = Tables.of(case)
            r, b = tables.indices(Grid(1, len(layers), micro_batch))
            most = int(tables.fits[r, b, 1, ends[0], ends[1]])
            assert (most >= layers[stage]) == fitting


@pytest.mark.parametrize("seed", range(60))
def test_every_stage_of_a_random_plan_needs_what_the_formula_says(seed: int) -> None:
    instance, plan = drawn(seed)
    for stage in range(plan.stages):
        need = need_by_the_formula(instance, plan, stage)
        assert slot_bytes(instance, plan)[stage] == pytest.approx(need, rel=1e-12)


def test_more_pipelines_hold_fewer_sequences_each() -> None:
    instance = changed(hand_instance(), MODEL)
    one = Plan(1, (6,), ((Gpu(0, 0),),))
    two = Plan(1, (6,), ((Gpu(0, 0),), (Gpu(0, 1),)))
    # Half of 12 sequences: 6 * (6 blocks * 27 500 + 1000) bytes less.
    assert slot_bytes(instance, one)[0] - slot_bytes(instance, two)[0] == 6 * (6 * 27_500 + 1000)


def test_enumeration_draws_the_same_line_as_the_referee() -> None:
    need = 166_000  # of the last of two stages, worked by hand in test_evaluate; one stage needs more
    enough = hand_instance(groups__0__memory=need, groups__1__memory=need)
    assert solved("brute", enough, "time").status is Status.OPTIMAL
    short = hand_instance(groups__0__memory=need - 1, groups__1__memory=need - 1)
    assert solved("brute", short, "time").status is Status.INFEASIBLE


@pytest.mark.parametrize(
    ("cap", "fits"), [(300, True), (299.999, False), (300.001, True), (100, False), (1e30, True), (1, False)]
)
def test_a_power_cap_counts_the_active_power_of_the_gpus_used(cap: float, fits: bool) -> None:
    instance = hand_instance(groups__1__region="west", sites={"west": {"power_cap": cap}})
    reasons = violations(instance, TWO_STAGES)
    expected = [] if fits else [f"the GPUs used at west draw 300 W, the cap is {cap:g} W"]
    assert reasons == expected


def test_a_power_cap_leaves_other_sites_and_unused_gpus_alone() -> None:
    instance = hand_instance(sites={"east": {"power_cap": 200}}, groups__1__count=3)
    assert violations(instance, TWO_STAGES) == []
    both = Plan(1, (1, 1), ((Gpu(1, 0), Gpu(1, 1)),))
    assert violations(instance, both) == ["the GPUs used at east draw 400 W, the cap is 200 W"]


def test_power_caps_stop_enumeration_where_they_stop_the_referee() -> None:
    capped = hand_instance(sites={"west": {"power_cap": 99}, "east": {"power_cap": 199}})
    assert solved("brute", capped, "time").status is Status.INFEASIBLE
    exact = hand_instance(sites={"west": {"power_cap": 100}, "east": {"power_cap": 200}})
    assert solved("brute", exact, "time").value == pytest.approx(3.9)  # the plan worked by hand


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (Plan(2, (1, 1), TWO_STAGES.pipelines), "micro-batch 2 is not one of the instance's choices: 1"),
        (Plan(0, (1, 1), TWO_STAGES.pipelines), "micro-batch 0 is not one of the instance's choices: 1"),
        (Plan(1, (2, 1), TWO_STAGES.pipelines), "the stages hold 3 layers, the model has 2"),
        (Plan(1, (1,), ((Gpu(0, 0),),)), "the stages hold 1 layers, the model has 2"),
        (Plan(1, (2, 0), TWO_STAGES.pipelines), "stage 1 has no layers"),
        (Plan(1, (1, 1), ((Gpu(1, 0), Gpu(1, 0)),)), "b/0 serves 2 slots"),
    ],
)
def test_a_broken_rule_is_a_sentence(plan: Plan, reason: str) -> None:
    assert reason in violations(hand_instance(), plan)


@pytest.mark.parametrize(("replicas", "divides"), [(1, True), (2, True), (3, False), (4, True)])
def test_the_pipelines_and_the_micro_batch_together_divide_the_batch(replicas: int, divides: bool) -> None:
    instance = hand_instance(groups__0__count=4, groups__0__memory=1e9)
    plan = Plan(1, (2,), tuple((Gpu(0, number),) for number in range(replicas)))
    reason = f"{replicas} pipelines of micro-batch 1 do not divide the global batch of 4"
    assert violations(instance, plan) == ([] if divides else [reason])


def test_each_gpu_that_is_too_small_is_named() -> None:
    instance = hand_instance(groups__0__memory=1000, groups__1__memory=2000)
    assert violations(instance, TWO_STAGES) == [
        "stage 0 on a/0 needs 142000 bytes, it has 1000",
        "stage 1 on b/0 needs 166000 bytes, it has 2000",
    ]


@pytest.mark.parametrize("changes", [{"micro_batch": 2}, {"layers": (2, 1)}, {"pipelines": ((Gpu(1, 0), Gpu(1, 0)),)}])
def test_a_plan_with_several_faults_names_them_and_still_checks_power(changes: dict[str, Any]) -> None:
    instance = hand_instance(sites={"east": {"power_cap": 1}})
    fields = {"micro_batch": 1, "layers": (1, 1), "pipelines": TWO_STAGES.pipelines, **changes}
    reasons = violations(instance, Plan(**fields))
    assert len(reasons) == 2
    assert reasons[-1].startswith("the GPUs used at east draw")


@pytest.mark.parametrize(
    ("gpu", "reason"),
    [
        (Gpu(-1, 0), "there is no group number -1, the instance has 2 groups"),
        (Gpu(2, 0), "there is no group number 2, the instance has 2 groups"),
        (Gpu(1, 1), "there is no GPU b/1, the group has 1"),
        (Gpu(1, -1), "there is no GPU b/-1, the group has 1"),
    ],
)
def test_gpus_that_do_not_exist_are_refused_by_name(gpu: Gpu, reason: str) -> None:
    assert violations(hand_instance(), Plan(1, (1, 1), ((Gpu(0, 0), gpu),))) == [reason]


def test_a_plan_from_groups_cannot_use_more_gpus_than_there_are() -> None:
    assert violations(hand_instance(), Plan.from_groups(1, (1, 1), [[1, 1]]))
