"""The shipped suites cover what they promise, from instances whose content is the committed one."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

import bench.runs.suite
from bench.runs.known_hashes import check_hash, known_hashes
from bench.runs.suite import read_suite, shipped, tasks_of
from instances.catalogue.models import published_parameters
from instances.errors import InputError
from instances.generator.family import families, generate
from scripts.write_hardness import FILE as HARDNESS
from scripts.write_hashes import FOLDER, hashes_text
from tests.bench.shipped import instances_by_suite

SUITES = ("demo", "energy", "paper", "proofs", "regression", "scaling", "verify")


def family_of(name: str) -> str:
    return name.partition("-")[0]


def test_there_are_seven() -> None:
    assert tuple(sorted(shipped())) == SUITES


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_expands_into_different_runs(name: str) -> None:
    suite, folder = read_suite(name)
    tasks = tasks_of(suite, folder, name)
    assert len({task.key for task in tasks}) == len(tasks)
    assert {task.instance.name for task in tasks} == {instance.name for instance in instances_by_suite()[name]}
    assert "megatron" in {task.solver for task in tasks}  # savings need it


def test_every_instance_has_its_committed_hash() -> None:
    every = [instance for found in instances_by_suite().values() for instance in found]
    assert (FOLDER / "hashes.csv").read_text() == hashes_text(every)
    assert {instance.name: instance.content_hash for instance in every} == known_hashes()


def test_an_instance_of_another_content_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = generate("uniform", 4, 0, {})
    with pytest.raises(
        InputError, match=f"mine: instance {instance.name}: .*expected abc, found {instance.content_hash}"
    ):
        check_hash(instance, "mine", {instance.name: "abc"})
    check_hash(instance, "mine", {"another": "abc"})

    def changed(family: str, gpus: int, *rest: object) -> object:
        return generate(family, gpus + 1, *rest).model_copy(update={"name": generate(family, gpus, *rest).name})  # type: ignore[arg-type]

    monkeypatch.setattr(bench.runs.suite, "generate", changed)
    suite, folder = read_suite("regression")
    with pytest.raises(InputError, match=r"regression: instance .*: content hash: expected .*, found"):
        tasks_of(suite, folder, "regression")


def test_verify_is_small_and_takes_all_families_and_objectives() -> None:
    found = instances_by_suite()["verify"]
    assert len({instance.name for instance in found}) >= 60
    assert {instance.gpus for instance in found} == set(range(3, 13))
    assert {family_of(instance.name) for instance in found} == set(families())
    suite, _ = read_suite("verify")
    objectives = {text for entry in suite.instances for text in entry.objectives or ()}
    assert objectives >= {"time", "energy", "weighted:0.5", "energy@1x", "carbon", "cost"}


def test_paper_has_the_five_networks_twice_and_models_up_to_13b() -> None:
    found = instances_by_suite()["paper"]
    names = {instance.name for instance in found}
    for scenario in ("datacenter", "spot", "universities", "us-regions", "worldwide"):
        for mix in ("homogeneous", "mixed"):
            assert f"dtfm-{scenario}-{mix}-gpt3-1.3b-64gpus-seed0" in names
    assert {family_of(name) for name in names} == {"dtfm", "cloud", "volunteer", "campus"}
    assert {min(i.gpus for i in found), max(i.gpus for i in found)} == {8, 128}
    sizes = [published_parameters(instance.model.name)[0] for instance in found]
    assert min(sizes) < 1.4e9
    assert max(sizes) > 12.5e9


def test_proofs_has_pools_of_singles_and_of_three_groups() -> None:
    found = instances_by_suite()["proofs"]
    single = [instance.gpus for instance in found if len(instance.groups) == instance.gpus]
    assert {gpus: single.count(gpus) for gpus in single} == {6: 10, 8: 10, 10: 10, 12: 5}
    grouped = [(instance.gpus, len(instance.groups)) for instance in found if len(instance.groups) < instance.gpus]
    assert grouped == [(16, 3)] * 10


def test_scaling_doubles_up_to_1024() -> None:
    sizes = {i.gpus for i in instances_by_suite()["scaling"] if family_of(i.name) == "cloud"}
    assert sorted(sizes) == [4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024]


def test_energy_asks_for_caps_weights_fronts_carbon_and_cost() -> None:
    suite, _ = read_suite("energy")
    objectives = {*suite.objectives, *(text for entry in suite.instances for text in entry.objectives or ())}
    assert objectives >= {"energy@0.8x", "energy@1x", "weighted:0.7", "front", "carbon", "cost"}


def test_regression_does_not_depend_on_the_speed_of_a_machine() -> None:
    suite, folder = read_suite("regression")
    assert all(task.budget.seconds is None for task in tasks_of(suite, folder, "regression"))


@pytest.fixture(scope="module")
def hardness() -> pd.DataFrame:
    """What `describe` said of the suites."""
    return pd.read_csv(HARDNESS)


@pytest.mark.parametrize("name", ["verify", "paper"])
def test_good_plans_leave_gpus_out_and_have_several_pipelines(hardness: pd.DataFrame, name: str) -> None:
    rows = hardness[hardness["suite"] == name]
    assert (rows["left_out"] >= 0.25).mean() >= 1 / 3
    assert (rows["pipelines"] >= 2).mean() >= 1 / 3


def test_a_single_gpu_is_no_best_plan(hardness: pd.DataFrame) -> None:
    single = hardness[(hardness["pipelines"] == 1) & (hardness["stages"] == 1)]
    assert {family_of(name) for name in single["instance"]} <= {"uniform"}


def test_the_usual_plans_exist_on_every_instance(hardness: pd.DataFrame) -> None:
    """Under `time`, which has no cap."""
    rows = hardness[hardness["objective"] == "time"]
    assert rows[["pipelines", "megatron_gap", "contiguous_gap"]].notna().all().all()


def test_hardness_was_measured_on_these_suites(hardness: pd.DataFrame) -> None:
    with Path(HARDNESS).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = {(name, instance.name) for name, found in instances_by_suite().items() for instance in found}
    assert {(row["suite"], row["instance"]) for row in rows} == expected
