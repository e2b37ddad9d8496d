"""The file boundary: every kind of bad input is one line with file, field and reason; what is good comes back."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from instances.disk import read_json, write_text
from instances.errors import InputError
from instances.files import (
    PlanFile,
    instance_from_json,
    instance_to_json,
    plan_from_json,
    read_instance,
    read_plan,
    write_instance,
    write_plan,
)
from instances.plan import Plan
from tests.cases import CASES, FEASIBLE, Case, named
from tests.editing import DROP, HAND, HAND_PLAN, edited, hand_instance
from tests.random_instances import random_instance
from tests.random_plans import random_plan

PROFILE = {name: {"1": 0.5} for name in ("forward", "backward", "head_forward", "head_backward")}
SECOND = {**HAND["groups"][1]}

# What is changed in a good instance, the field and a word of the reason that the message must name.
BAD_INSTANCES: dict[str, tuple[dict[str, Any], str, str]] = {
    # unknown keys, at every level
    "unknown key": ({"colour": 1}, "colour", "unknown key"),
    "unknown key of the model": ({"model.depth": 1}, "model.depth", "unknown key"),
    "unknown key of the training": ({"training.tp": 1}, "training.tp", "unknown key"),
    "unknown key of a group": ({"groups.1.tflops": 1}, "groups[1].tflops", "unknown key"),
    "unknown key of the network": ({"network.jitter": 1}, "network.jitter", "unknown key"),
    "unknown key of a site": ({"sites": {"west": {"sun": 1}}}, "sites.west.sun", "unknown key"),
    "unknown key of a profile": ({"groups.0.profile": {**PROFILE, "x": {}}}, "groups[0].profile.x", "unknown key"),
    # missing keys
    "missing schema": ({"schema": DROP}, "schema", "required"),
    "missing name": ({"name": DROP}, "name", "required"),
    "missing model": ({"model": DROP}, "model", "required"),
    "missing layers": ({"model.layers": DROP}, "model.layers", "required"),
    "missing count": ({"groups.0.count": DROP}, "groups[0].count", "required"),
    "missing bandwidth": ({"network.bandwidth": DROP}, "network.bandwidth", "required"),
    "missing table of a profile": (
        {"groups.0.profile": {name: PROFILE[name] for name in ("forward", "backward", "head_forward")}},
        "groups[0].profile.head_backward",
        "required",
    ),
    # wrong types
    "number as text": ({"model.layers": "2"}, "model.layers", "integer"),
    "whole number as fraction": ({"model.layers": 2.5}, "model.layers", "integer"),
    "number as truth value": ({"groups.0.flops": True}, "groups[0].flops", "number"),
    "count as truth value": ({"groups.0.count": True}, "groups[0].count", "integer"),
    "truth value as number": ({"model.gated_ffn": 1}, "model.gated_ffn", "boolean"),
    "truth value as text": ({"model.tied_embeddings": "no"}, "model.tied_embeddings", "boolean"),
    "text as number": ({"groups.0.gpu": 7}, "groups[0].gpu", "string"),
    "list as object": ({"groups": {}}, "groups", "array"),
    "object as list": ({"model": []}, "model", "object"),
    "null for a value": ({"groups.0.memory": None}, "groups[0].memory", "number"),
    "matrix as number": ({"network.latency": 0.1}, "network.latency", "array"),
    "flat matrix": ({"network.latency": [0, 0]}, "network.latency[0]", "array"),
    "choice as text": ({"training.micro_batches": ["1"]}, "training.micro_batches[0]", "integer"),
    "provenance as text": ({"provenance": "me"}, "provenance", "object"),
    # values that are none of the choices
    "another schema": ({"schema": "geotrain-bench/instance/2"}, "schema", "geotrain-bench/instance/1"),
    "another schedule": ({"training.schedule": "1f1b"}, "training.schedule", "gpipe"),
    "another recompute": ({"training.recompute": "some"}, "training.recompute", "selective"),
    # not a number, infinite
    "NaN": ({"groups.0.flops": float("nan")}, "groups[0].flops", "not a number"),
    "infinity": ({"network.bandwidth.0.1": float("inf")}, "network.bandwidth[0][1]", "infinite"),
    "minus infinity": ({"network.latency.1.0": float("-inf")}, "network.latency[1][0]", "infinite"),
    "NaN in provenance": ({"provenance": {"x": [float("nan")]}}, "provenance.x[0]", "not a number"),
    "more than any sum can hold": ({"groups.0.memory": 1e31}, "groups[0].memory", "must be at most 1e+30"),
    # negatives and zeros
    "no layers": ({"model.layers": 0}, "model.layers", "must be at least 1, found"),
    "negative layers": ({"model.layers": -2}, "model.layers", "must be at least 1, found"),
    "no heads": ({"model.heads": 0}, "model.heads", "must be at least 1, found"),
    "no batch": ({"training.global_batch": 0}, "training.global_batch", "must be at least 1, found"),
    "choice of zero": ({"training.micro_batches": [1, 0]}, "training.micro_batches[1]", "must be at least 1, found"),
    "no GPUs": ({"groups.0.count": 0}, "groups[0].count", "must be at least 1, found"),
    "negative count": ({"groups.0.count": -1}, "groups[0].count", "must be at least 1, found"),
    "zero FLOP/s": ({"groups.0.flops": 0}, "groups[0].flops", "must be at least 1e-30, found"),
    "negative memory": ({"groups.0.memory": -1}, "groups[0].memory", "must be at least 1e-30, found"),
    "zero power": (
        {"groups.0.power_active": 0, "groups.0.power_idle": 0},
        "groups[0].power_active",
        "must be at least 1e-30, found",
    ),
    "zero idle power": ({"groups.0.power_idle": 0}, "groups[0].power_idle", "must be at least 1e-30, found"),
    "negative idle power": ({"groups.0.power_idle": -5}, "groups[0].power_idle", "must be at least 1e-30, found"),
    "negative half_batch": ({"groups.0.half_batch": -1}, "groups[0].half_batch", "must be at least 0, found -"),
    "zero bandwidth": ({"network.bandwidth.1.0": 0}, "network.bandwidth[1][0]", "must be at least 1e-30, found"),
    "zero bandwidth inside a group": (
        {"network.bandwidth.0.0": 0},
        "network.bandwidth[0][0]",
        "must be at least 1e-30, found",
    ),
    "negative latency": ({"network.latency.0.1": -0.01}, "network.latency[0][1]", "must be at least 0, found -"),
    "negative link energy": (
        {"network.energy_per_byte.0.1": -1e-9},
        "network.energy_per_byte[0][1]",
        "must be at least 0, found -",
    ),
    "negative carbon": ({"sites": {"west": {"carbon": -1}}}, "sites.west.carbon", "must be at least 0, found -"),
    "negative price": ({"sites": {"west": {"price": -1}}}, "sites.west.price", "must be at least 0, found -"),
    "zero power cap": ({"sites": {"west": {"power_cap": 0}}}, "sites.west.power_cap", "must be at least 1e-30, found"),
    "zero state": (
        {"training.state_bytes_per_parameter": 0},
        "training.state_bytes_per_parameter",
        "must be at least 1e-30, found",
    ),
    "negative gradient": ({"training.gradient_bytes": -2}, "training.gradient_bytes", "must be at least 1e-30, found"),
    "zero time of a profile": (
        {"groups.0.profile": {**PROFILE, "forward": {"1": 0}}},
        "groups[0].profile.forward.1",
        "must be at least 1e-30, found",
    ),
    # matrices that are not square
    "row too short": ({"network.latency": [[0, 0], [0]]}, "network.latency", "row 1 has 1 entries for 2 groups"),
    "row too long": ({"network.latency": [[0, 0, 0], [0, 0]]}, "network.latency", "row 0 has 3 entries for 2 groups"),
    "row missing": ({"network.bandwidth": [[1, 1]]}, "network.bandwidth", "1 rows for 2 groups"),
    "energy not square": ({"network.energy_per_byte": []}, "network.energy_per_byte", "0 rows for 2 groups"),
    # names
    "duplicate group": ({"groups.1.name": "a"}, "groups", "the name a is used twice"),
    "slash in a group's name": ({"groups.1.name": "a/b"}, "groups[1].name", "pattern"),
    "slash in the name": ({"name": "a/b"}, "name", "pattern"),
    "empty name": ({"groups.0.name": ""}, "groups[0].name", "pattern"),
    "line break in a name": ({"groups.0.name": "a\nb"}, "groups[0].name", "pattern"),
    # the rest of the rules
    "idle above active": ({"groups.1.power_idle": 201}, "groups[1]", "power_idle: 201 W is above power_active, 200 W"),
    "no micro_batches": ({"training.micro_batches": []}, "training.micro_batches", "at least 1"),
    "repeated micro_batches": ({"training.micro_batches": [1, 2, 1]}, "training", "micro_batches: 1 is repeated"),
    "no groups": ({"groups": []}, "groups", "at least 1"),
    "site without a group": ({"sites": {"north": {"price": 1}}}, "sites", "no group is in north"),
    "profile without a choice": (
        {"groups.0.profile": PROFILE, "training.micro_batches": [1, 2]},
        "groups",
        "the profile of a has no forward time for micro-batch 2",
    ),
    "profile for half a sequence": (
        {"groups.0.profile": {**PROFILE, "backward": {"1": 0.5, "0.5": 0.3}}},
        "groups[0].profile.backward.0.5",
        "pattern",
    ),
    "profile and half_batch": (
        {"groups.0.profile": PROFILE, "groups.0.half_batch": 1},
        "groups[0]",
        "half_batch: a measured profile excludes it",
    ),
    "more kv_heads than heads": ({"model.kv_heads": 2}, "model", "kv_heads: 2 does not divide heads, 1"),
}

GOOD_INSTANCES: dict[str, dict[str, Any]] = {
    "a choice that does not divide the batch": {"training.micro_batches": [1, 3]},
    "a latency of zero": {"network.latency": [[0, 0], [0, 0]]},
    "idle equal to active": {"groups.0.power_idle": 100},
    "a site without figures": {"sites": {"west": {}}},
    "carbon of zero": {"sites": {"west": {"carbon": 0, "price": 0}}},
    "no link energy": {"network.energy_per_byte": DROP},
    "a free head": {"groups.0.profile": {**PROFILE, "head_forward": {"1": 0}, "head_backward": {"1": 0}}},
    "a profile with further sizes": {"groups.0.profile": {**PROFILE, "forward": {"1": 0.5, "8": 1}}},
    "two groups in one region": {"groups.1.region": "west", "sites": {"west": {"power_cap": 9}}},
    "names with blanks and accents": {"name": "Zürich, 1", "groups.0.name": "café 1"},
    "whole numbers as seconds": {"network.latency": [[0, 1], [1, 0]]},
    "null for an optional value": {"groups.0.half_batch": None, "sites": None},
}


def problem_with(call: Any, *arguments: Any) -> str:
    """The message of the InputError; it must be one line."""
    with pytest.raises(InputError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("changes", "field", "reason"), BAD_INSTANCES.values(), ids=BAD_INSTANCES)
def test_a_bad_instance_is_refused_by_file_field_and_reason(
    tmp_path: Path, changes: dict[str, Any], field: str, reason: str
) -> None:
    base = edited(HAND, {"network.energy_per_byte": [[0, 0], [0, 0]]})
    path = tmp_path / "some instance.json"
    path.write_text(json.dumps(edited(base, changes)))
    message = problem_with(read_instance, path)
    assert message.startswith(f"{path}: {field}: ")
    assert reason in message


@pytest.mark.parametrize("changes", GOOD_INSTANCES.values(), ids=GOOD_INSTANCES)
def test_an_unusual_instance_is_accepted(changes: dict[str, Any]) -> None:
    instance_from_json(edited(HAND, changes), "file")


@pytest.mark.parametrize("data", [None, 1, "text", [], True])
def test_an_instance_is_an_object(data: Any) -> None:
    assert problem_with(instance_from_json, data, "file").startswith("file: ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not valid JSON"),
        ("{", "is not valid JSON"),
        ("{} {}", "is not valid JSON"),
        ('{"name": "a", "name": "b"}', "the key 'name' is repeated"),
        ('{"model": {"x": 1, "x": 1}}', "the key 'x' is repeated"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"x": ' * 100_000, "is nested too deeply"),
        ("1" * 5000, "is not valid JSON"),
        ('{"groups": [{"flops": NaN}]}', "groups[0].flops: is not a number"),
        ('{"groups": [{"flops": Infinity}]}', "groups[0].flops: is infinite"),
        ('{"groups": [{"flops": -Infinity}]}', "groups[0].flops: is infinite"),
        ('{"groups": [{"flops": 1e999}]}', "groups[0].flops: is infinite"),
    ],
)
def test_text_that_is_not_plain_json_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "instance.json"
    path.write_text(text)
    message = problem_with(read_json, path)
    assert message.startswith(f"{path}: ")
    assert reason in message


@pytest.mark.parametrize("depth", [100, 300, 900, 990])
def test_deep_provenance_is_read_or_refused_but_never_crashes(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "instance.json"
    text = json.dumps({**HAND, "provenance": {"x": 0}})
    path.write_text(text.replace('{"x": 0}', '{"x": ' + "[" * depth + "]" * depth + "}"))
    with contextlib.suppress(InputError):
        read_instance(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert "No such file" in problem_with(read_instance, tmp_path / "none.json")
    assert "Is a directory" in problem_with(read_instance, tmp_path)
    (tmp_path / "latin.json").write_bytes(b'{"name": "Z\xfcrich"}')
    assert "is not UTF-8 text" in problem_with(read_instance, tmp_path / "latin.json")


BAD_PLANS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown key": ({"stages": 2}, "stages: unknown key"),
    "missing micro_batch": ({"micro_batch": DROP}, "micro_batch: field required"),
    "missing layers": ({"layers": DROP}, "layers: field required"),
    "missing pipelines": ({"pipelines": DROP}, "pipelines: field required"),
    "micro-batch as text": ({"micro_batch": "1"}, "micro_batch: "),
    "micro-batch as fraction": ({"micro_batch": 1.5}, "micro_batch: "),
    "negative micro-batch": ({"micro_batch": -1}, "micro_batch: "),
    "layers as number": ({"layers": 2}, "layers: "),
    "layers as fractions": ({"layers": [0.5, 1.5]}, "layers[0]: "),
    "negative layers": ({"layers": [3, -1]}, "layers: -1 is not a number of layers"),
    "no layers": ({"layers": [], "pipelines": [[]]}, "layers: "),
    "no pipelines": ({"pipelines": []}, "pipelines: "),
    "flat pipelines": ({"pipelines": ["a/0", "b/0"]}, "pipelines[0]: "),
    "row too short": ({"pipelines": [["a/0"]]}, "pipelines: row 0 has 1 GPUs for 2 stages"),
    "ragged rows": ({"pipelines": [["a/0", "b/0"], ["a/0"]]}, "pipelines: row 1 has 1 GPUs for 2 stages"),
    "row too long": ({"pipelines": [["a/0", "b/0", "a/0"]]}, "pipelines: row 0 has 3 GPUs for 2 stages"),
    "GPU as number": ({"pipelines": [[0, 1]]}, "pipelines[0][0]: "),
    "unknown group": ({"pipelines": [["a/0", "c/0"]]}, "pipelines: unknown GPU 'c/0' of instance two-gpus-two-layers"),
    "group without a number": ({"pipelines": [["a", "b/0"]]}, "pipelines: unknown GPU 'a'"),
    "number past the group": ({"pipelines": [["a/1", "b/0"]]}, "pipelines: 'a/1': group a has GPUs 0 to 0"),
    "negative number": ({"pipelines": [["a/-1", "b/0"]]}, "pipelines: 'a/-1': group a has GPUs 0 to 0"),
    "number with a zero before it": ({"pipelines": [["a/00", "b/0"]]}, "pipelines: 'a/00': group a has GPUs 0 to 0"),
    "number in other digits": ({"pipelines": [["a/٠", "b/0"]]}, "pipelines: 'a/٠': group a has GPUs 0 to 0"),
    "no number": ({"pipelines": [["a/", "b/0"]]}, "pipelines: 'a/': group a has GPUs 0 to 0"),
    "NaN": ({"micro_batch": float("nan")}, "micro_batch: is not a number"),
}


@pytest.mark.parametrize(("changes", "reason"), BAD_PLANS.values(), ids=BAD_PLANS)
def test_a_malformed_plan_is_refused_by_file_field_and_reason(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(edited(HAND_PLAN, changes)))
    message = problem_with(read_plan, path, hand_instance())
    assert message.startswith(f"{path}: {reason}")


@pytest.mark.parametrize("data", [None, 1, "text", [], True])
def test_a_plan_is_an_object(data: Any) -> None:
    assert problem_with(plan_from_json, data, hand_instance(), "file").startswith("file: ")


@pytest.mark.parametrize("changes", [{"micro_batch": 7}, {"layers": [0, 2]}, {"pipelines": [["a/0", "a/0"]]}])
def test_a_plan_that_breaks_a_rule_of_the_problem_is_well_formed(changes: dict[str, Any]) -> None:
    plan_from_json(edited(HAND_PLAN, changes), hand_instance(), "file")


@pytest.mark.parametrize("case", **named(CASES))
def test_an_instance_comes_back_from_its_file(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "there" / "instance.json"
    write_instance(path, case.instance)
    again = read_instance(path)
    assert again == case.instance
    assert again.content_hash == case.instance.content_hash
    first = path.read_bytes()
    write_instance(path, again)
    assert path.read_bytes() == first
    assert first.endswith(b"}\n")


@pytest.mark.parametrize("seed", range(20))
def test_a_random_instance_and_its_plan_come_back(tmp_path: Path, seed: int) -> None:
    instance = random_instance(seed)
    plan = random_plan(instance, seed)
    write_plan(tmp_path / "plan.json", plan, instance)
    assert read_plan(tmp_path / "plan.json", instance) == plan
    assert instance_from_json(instance_to_json(instance), "again") == instance
    assert plan_from_json(PlanFile.of(plan, instance).model_dump(mode="json"), instance, "again") == plan


@pytest.mark.parametrize("case", **named(FEASIBLE))
def test_a_plan_file_names_gpus_by_group_and_number(case: Case) -> None:
    data = case.truth["time_plan"]
    plan = plan_from_json(data, case.instance, "file")
    assert isinstance(plan, Plan)
    assert PlanFile.of(plan, case.instance).model_dump(mode="json") == data


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.json"
    write_text(path, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        assert problem_with(write_text, path, "new") == f"{path}: cannot be written: No space left on device"
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written" in problem_with(write_instance, tmp_path / "file" / "x.json", hand_instance())


def turned(data: Any) -> Any:
    """The same JSON with the keys of every object in reverse order."""
    if isinstance(data, dict):
        return {key: turned(data[key]) for key in reversed(data)}
    return [turned(entry) for entry in data] if isinstance(data, list) else data


def test_the_hash_ignores_order_space_name_provenance_and_how_numbers_are_written(tmp_path: Path) -> None:
    full = edited(HAND, {"sites": {"west": {"carbon": 100}, "east": {"carbon": 200, "price": 0.1}}})
    expected = instance_from_json(full, "file").content_hash
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(turned(full), indent=7))
    assert read_instance(path).content_hash == expected
    for changes in (
        {"name": "another"},
        {"provenance": {"made": ["by", 1, None]}},
        {"groups.0.flops": 1e6},
        {"network.bandwidth.0.1": 10000.0},
        {"groups.0.half_batch": None},
    ):
        assert instance_from_json(edited(full, changes), "file").content_hash == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"model.layers": 3},
        {"model.hidden": 11},
        {"model.heads": 2},
        {"model.ffn": 31},
        {"model.gated_ffn": True},
        {"model.vocab": 101},
        {"model.sequence": 51},
        {"model.tied_embeddings": True},
        {"training.global_batch": 5},
        {"training.micro_batches": [1, 2]},
        {"training.recompute": "full"},
        {"training.state_bytes_per_parameter": 15},
        {"training.gradient_bytes": 4},
        {"groups.0.name": "c"},
        {"groups.0.region": "north"},
        {"groups.0.count": 2},
        {"groups.0.flops": 1000000.0000000001},
        {"groups.0.memory": 200001},
        {"groups.0.power_active": 101},
        {"groups.0.power_idle": 11},
        {"groups.0.half_batch": 1},
        {"groups.0.profile": PROFILE},
        {"network.latency.0.1": 0.06},
        {"network.bandwidth.1.0": 2001},
        {"network.energy_per_byte.0.1": 0.002},
        {"network.energy_per_byte": DROP},
        {"sites": {"west": {"carbon": 1}}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_hash_depends_on_all_that_can_change_an_answer(changes: dict[str, Any]) -> None:
    expected = hand_instance().content_hash
    assert instance_from_json(edited(HAND, changes), "file").content_hash != expected


def test_the_hash_is_the_same_in_every_release() -> None:
    # A change here orphans all stored results: it must come with a new cost-model version.
    assert hand_instance().content_hash == "2f81e81bacc8d81c9e59d808447243944eac9402fa9f72e0bcaa33e175bae87e"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training.micro_batches": ["a"]}, "training.micro_batches[0]: input should be a valid integer, found 'a'"),
        ({"training.micro_batches": []}, "training.micro_batches: must have at least 1 entry"),
        (
            {"training.micro_batches": [0, -1]},
            "training.micro_batches[0]: must be at least 1, found 0 (and 1 more problem)",
        ),
        (
            {"training.micro_batches": [0], "groups.0.flops": -1, "model.layers": 0},
            "model.layers: must be at least 1, found 0 (and 2 more problems)",
        ),
        # A key that is misspelled is one problem, though it is both missing and unknown.
        (
            {"groups.0.flops": DROP, "groups.0.flop": 1e6},
            "groups[0].flop: unknown key, perhaps meant to be 'flops', which is required",
        ),
        (
            {"groups.0.flops": DROP, "groups.0.flop": 1e6, "name": 3},
            "name: input should be a valid string, found 3 (and 1 more problem)",
        ),
        (
            {"groups.0.flops": DROP, "groups.0.colour": "red"},
            "groups[0].flops: field required (and 1 more problem)",
        ),
    ],
)
def test_other_problems_are_counted_and_what_follows_from_one_is_none(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(edited(HAND, changes)))
    assert problem_with(read_instance, path) == f"{path}: {message}"
