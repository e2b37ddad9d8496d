"""One content, one identity, whatever a file or an option looks like: equal hashes, names and keys."""

from __future__ import annotations

from typing import Any

import pytest

from bench.runs.suite import read_suite, tasks_of
from instances.errors import InputError
from instances.files import instance_from_json, instance_to_json, plan_from_json
from instances.generator.family import generate
from instances.reduce import without
from instances.spelling import spelled
from solvers.core.registry import make_solver, spelled_options
from tests.editing import hand_instance


def with_fields(**changes: Any) -> dict[str, Any]:
    """The object of the hand-worked instance's file, with top-level or nested fields replaced (`a__b`)."""
    data = instance_to_json(hand_instance())
    for path, value in changes.items():
        *parents, last = path.split("__")
        where = data
        for parent in parents:
            where = where[parent]
        where[last] = value
    return data


REGION = hand_instance().groups[0].region
SAME = {
    "no sites": {"sites": {}},
    "a site without figures": {"sites": {REGION: {}}},
    "null": {"sites": None},
    "minus zero": {
        "network__latency": [[-0.0 if a == 0 else a for a in row] for row in hand_instance().network.latency]
    },
    "order of choices": {"training__micro_batches": list(hand_instance().training.micro_batches)[::-1]},
}


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_what_says_nothing_changes_no_identity(changes: dict[str, Any]) -> None:
    assert instance_from_json(with_fields(**changes), "x").content_hash == hand_instance().content_hash


def test_the_latency_of_no_link_says_nothing() -> None:
    found = set()
    for latency in (None, 0.5, 7):
        data = with_fields()
        data["network"]["bandwidth"][0][1] = None
        data["network"]["latency"][0][1] = latency
        found.add(instance_from_json(data, "x").content_hash)
    assert len(found) == 1
    assert found != {hand_instance().content_hash}


def test_links_that_take_no_energy_say_nothing() -> None:
    found = {
        instance_from_json(with_fields(network__energy_per_byte=matrix), "x").content_hash
        for matrix in (None, [[0, 0.0], [0.0, -0.0]])
    }
    assert len(found) == 1
    assert found != {hand_instance().content_hash}


def test_what_says_something_changes_it() -> None:
    for changes in ({"sites": {REGION: {"carbon": 0}}}, {"network__energy_per_byte": [[0, 1e-9], [0, 0]]}):
        assert instance_from_json(with_fields(**changes), "x").content_hash != hand_instance().content_hash


@pytest.mark.parametrize("text", ["3", "03", "+3"])
def test_an_instance_has_one_name_however_its_options_are_written(text: str) -> None:
    assert (
        generate("cloud", 6, 0, {"regions": text}).model_dump()
        == generate("cloud", 6, 0, {"regions": "3"}).model_dump()
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (3.0, "3"), (0.50, "0.5"), (1e-5, "1e-05"), (True, "true"), (1e300, "1e+300"), ("east", "east")],
)
def test_a_value_has_one_spelling(value: str | float, text: str) -> None:
    assert spelled(value) == text


def test_a_run_has_one_key_however_its_options_are_written(tmp_path: Any) -> None:
    def key(anneal: str, descent: str) -> str:
        text = f"""
name = "s"
summary = "s"
instances = [{{ family = "uniform", gpus = [2] }}]
solvers = [{{ name = "memetic", options = {{ anneal = {anneal}, descent = {descent} }} }}]
"""
        (tmp_path / "s.toml").write_text(text)
        (task,) = tasks_of(*read_suite(str(tmp_path / "s.toml")), "s")
        return task.key

    assert len({key("0.5", "true"), key('"0.50"', '"yes"'), key('" .5"', "1")}) == 1
    assert key("0.5", "true") != key("0.25", "true")


def test_only_what_was_set_is_spelled() -> None:
    assert spelled_options(make_solver("memetic", {"anneal": "1e0"}), ["anneal"]) == {"anneal": "1"}


@pytest.mark.parametrize("name", ["a/00", "a/01", "a/+1", "a/1 ", "a/\u0661", "a/", "a/3", "a/0/0"])
def test_a_gpu_has_one_name(name: str) -> None:
    with pytest.raises(InputError, match="group a has GPUs 0 to 2"):
        without(hand_instance(groups__0__count=3), [name])
    plan = {"micro_batch": 1, "layers": [1, 1], "pipelines": [[name, "b/0"]]}
    with pytest.raises(InputError, match="group a has GPUs 0 to 2"):
        plan_from_json(plan, hand_instance(groups__0__count=3), "plan")
