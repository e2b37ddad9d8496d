"""Plans: their shape, their canonical form and their names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instances.plan import Gpu, Plan, gpu_name
from tests.editing import hand_instance


def test_a_plan_knows_its_shape() -> None:
    plan = Plan(2, (3, 4), ((Gpu(0, 0), Gpu(1, 0)), (Gpu(0, 1), Gpu(0, 2)), (Gpu(2, 0), Gpu(1, 1))))
    assert (plan.stages, plan.replicas) == (2, 3)
    assert plan.groups == ((0, 1), (0, 0), (2, 1))


@pytest.mark.parametrize(
    ("layers", "pipelines", "reason"),
    [
        ((), ((),), "at least one stage"),
        ((1,), (), "one pipeline"),
        ((1, 1), ((Gpu(0, 0),),), "row 0 has 1 GPUs for 2 stages"),
        ((1,), ((Gpu(0, 0),), (Gpu(0, 1), Gpu(0, 2))), "row 1 has 2 GPUs for 1 stages"),
    ],
)
def test_a_malformed_plan_cannot_exist(layers: tuple[int, ...], pipelines: tuple[tuple[Gpu, ...]], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Plan(1, layers, pipelines)


def test_the_canonical_form_sorts_pipelines_and_numbers_gpus_in_order() -> None:
    plan = Plan.from_groups(2, [3, 4], [[1, 0], [0, 1], [0, 0]])
    assert plan.groups == ((0, 0), (0, 1), (1, 0))
    assert plan.pipelines == ((Gpu(0, 0), Gpu(0, 1)), (Gpu(0, 2), Gpu(1, 0)), (Gpu(1, 1), Gpu(0, 3)))


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=5), st.randoms())
def test_pipelines_in_any_order_have_one_canonical_form(rows: list[list[int]], rng: object) -> None:
    shuffled = sorted(rows, key=lambda _: rng.random())  # type: ignore[attr-defined]
    plan = Plan.from_groups(1, (1, 1, 1), rows)
    assert Plan.from_groups(1, (1, 1, 1), shuffled) == plan
    assert Plan.from_groups(1, (1, 1, 1), plan.groups) == plan
    used = [gpu for row in plan.pipelines for gpu in row]
    assert len(set(used)) == len(used)


def test_gpus_are_named_by_group_and_number() -> None:
    instance = hand_instance(groups__0__name="a100 at home", groups__0__count=3)
    assert gpu_name(instance, Gpu(0, 2)) == "a100 at home/2"
    assert Plan(1, (2,), ((Gpu(1, 0),),)).names(instance) == [["b/0"]]
