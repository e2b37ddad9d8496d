"""An instance with GPUs taken away, and its plans in the names of the whole."""

from __future__ import annotations

import pytest

from instances.errors import InputError
from instances.files import instance_from_json
from instances.plan import Gpu, Plan
from instances.reduce import without
from instances.referee.evaluate import evaluate
from solvers.core.interface import Status
from tests.editing import HAND, edited, hand_instance
from tests.random_instances import random_instance
from tests.solving import solved

THREE = instance_from_json(
    edited(
        HAND,
        {
            "groups": [
                {**HAND["groups"][0], "count": 3},
                HAND["groups"][1],
                {**HAND["groups"][1], "name": "c", "region": "south", "count": 2},
            ],
            "network.latency": [[0.0, 0.1, 0.2], [1.0, 1.1, 1.2], [2.0, 2.1, 2.2]],
            "network.bandwidth": [[10, 11, 12], [20, 21, 22], [30, 31, 32]],
            "network.energy_per_byte": [[0, 1, 2], [10, 11, 12], [20, 21, 22]],
            "sites": {"east": {"power_cap": 1e3}, "south": {"price": 1}},
        },
    ),
    "three",
)


def test_a_group_goes_with_its_rows_columns_and_site() -> None:
    left = without(THREE, ["b"]).instance
    assert [group.name for group in left.groups] == ["a", "c"]
    assert left.network.latency == ((0.0, 0.2), (2.0, 2.2))
    assert left.network.bandwidth == ((10, 12), (30, 32))
    assert left.network.energy_per_byte == ((0, 2), (20, 22))
    assert list(left.sites or {}) == ["south"]
    assert left.gpus == 5
    assert left.content_hash != THREE.content_hash


def test_single_gpus_go_and_the_rest_keep_their_names() -> None:
    reduced = without(THREE, ["a/1", "b/0"])
    assert [(group.name, group.count) for group in reduced.instance.groups] == [("a", 2), ("c", 2)]
    plan = Plan(1, (1, 1), ((Gpu(0, 0), Gpu(0, 1)), (Gpu(1, 0), Gpu(1, 1))))
    assert reduced.restore(plan).names(THREE) == [["a/0", "a/2"], ["c/0", "c/1"]]


def test_all_gpus_of_a_group_one_by_one_are_the_group() -> None:
    assert without(THREE, ["c/0", "c/1", "c/1"]).instance == without(THREE, ["c"]).instance


def test_nothing_taken_away_changes_nothing() -> None:
    assert without(THREE, []).instance.content_hash == THREE.content_hash


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["d"], "there is no 'd' to leave out"),
        (["A"], "there is no 'A' to leave out"),
        ([""], "there is no '' to leave out"),
        (["a/3"], "'a/3': group a has GPUs 0 to 2"),
        (["a/-1"], "'a/-1': group a has GPUs 0 to 2"),
        (["a/"], "'a/': group a has GPUs 0 to 2"),
        (["a/x"], "'a/x': group a has GPUs 0 to 2"),
        (["a/0/0"], "'a/0/0': group a has GPUs 0 to 2"),
        (["a", "b", "c"], "no GPU is left without a, b, c"),
    ],
)
def test_what_is_not_there_is_refused_by_name(names: list[str], reason: str) -> None:
    with pytest.raises(InputError) as caught:
        without(THREE, names)
    assert reason in str(caught.value)
    assert "two-gpus-two-layers" in str(caught.value)


@pytest.mark.parametrize("seed", range(15))
def test_a_plan_of_the_rest_costs_the_same_in_the_whole(seed: int) -> None:
    whole = random_instance(seed, gpus=4)
    reduced = without(whole, [f"{whole.groups[0].name}/0"])
    found = solved("brute", reduced.instance, "time")
    if found.plan is None:
        assert found.status is Status.INFEASIBLE
        return
    plan = reduced.restore(found.plan)
    assert Gpu(0, 0) not in [gpu for row in plan.pipelines for gpu in row]
    assert evaluate(whole, plan).time_s == found.value
    best = solved("brute", whole, "time").value
    assert best is not None
    assert best <= evaluate(whole, plan).time_s


def test_the_instance_itself_stays_as_it_was() -> None:
    instance = hand_instance()
    before = instance.content_hash, instance.gpus
    without(instance, ["b"])
    assert (instance.content_hash, instance.gpus) == before
