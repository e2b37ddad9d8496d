"""What every family promises, run on each one that is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from instances.errors import InputError
from instances.files import instance_from_json, instance_to_json
from instances.generator.family import LARGEST, SMALLEST, Option, families, generate
from instances.generator.fitting import fits_in_listed_order, fits_one_gpu, fits_somewhere
from instances.instance import COST_MODEL_VERSION, Instance
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations

FAMILIES = sorted(families())
HETEROGENEOUS = [name for name in FAMILIES if name != "uniform"]
SIZES = (2, 3, 7, 12, 64)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", params=[(name, gpus) for name in FAMILIES for gpus in SIZES], ids=str)
def made(request: pytest.FixtureRequest) -> Instance:
    name, gpus = request.param
    return generate(name, gpus, 1, {})


def test_the_families_of_the_specification_are_found() -> None:
    assert FAMILIES == ["campus", "cloud", "dtfm", "federation", "profiled", "uniform", "volunteer"]


def test_instances_have_the_size_asked_for_and_read_back_equal(made: Instance) -> None:
    assert made.provenance is not None
    assert made.gpus == made.provenance["gpus"]
    assert instance_from_json(instance_to_json(made), "round trip") == made


def test_some_plan_fits_but_none_on_a_single_gpu(made: Instance) -> None:
    """The uniform control may fit one GPU."""
    assert fits_somewhere(made.model, made.training, made.groups, made.sites)
    if not made.name.startswith("uniform"):
        assert not any(fits_one_gpu(made.model, made.training, group.memory) for group in made.groups)


def test_the_uniform_baseline_has_a_plan_from_four_gpus_on(made: Instance) -> None:
    if made.gpus >= 4:
        assert fits_in_listed_order(made.model, made.training, made.groups, made.sites)


def test_provenance_regenerates_the_instance(made: Instance) -> None:
    origin = made.provenance
    assert origin is not None
    assert origin["cost_model_version"] == COST_MODEL_VERSION
    assert origin["content_hash"] == made.content_hash
    assert isinstance(origin["sources"], list)
    assert len(origin["sources"]) >= 3
    assert isinstance(origin["options"], dict)
    options = {option: str(text) for option, text in origin["options"].items()}
    assert isinstance(origin["family"], str)
    assert isinstance(origin["gpus"], int)
    assert isinstance(origin["seed"], int)
    assert generate(origin["family"], origin["gpus"], origin["seed"], options) == made


def test_interchangeable_gpus_of_one_region_form_one_group(made: Instance) -> None:
    """No two groups of a type in a region whose GPUs could be swapped without changing a link."""
    for k, group in enumerate(made.groups):
        for j in range(k):
            if (made.groups[j].gpu, made.groups[j].region) == (group.gpu, group.region):
                assert not swappable(made, k, j)


def swappable(instance: Instance, k: int, j: int) -> bool:
    """Whether a GPU of group k and one of group j see all other GPUs over the same links."""
    network = instance.network
    links = [list(zip(*rows, strict=True)) for rows in zip(network.latency, network.bandwidth, strict=True)]
    others = [x for x in range(len(links)) if x not in (k, j)]
    same_others = all(links[k][x] == links[j][x] and links[x][k] == links[x][j] for x in others)
    insides = [links[g][g] for g in (k, j) if instance.groups[g].count > 1]
    return same_others and links[k][j] == links[j][k] and all(inside == links[k][j] for inside in insides)


@pytest.mark.parametrize("name", HETEROGENEOUS)
def test_same_seed_same_instance_and_other_seed_other_instance(name: str) -> None:
    options = {"gpu-mix": "mixed"} if name == "dtfm" else {}
    first, again, other = (generate(name, 16, seed, options) for seed in (0, 0, 1))
    assert first == again
    assert first.content_hash != other.content_hash


def test_uniform_pools_are_one_group_whatever_the_seed() -> None:
    first, other = (generate("uniform", 16, seed, {}) for seed in (0, 1))
    assert first.content_hash == other.content_hash
    assert len(first.groups) == 1


HASHES = {
    "campus": "bd62cb33ee50b0d4",
    "cloud": "5637b8b41312f902",
    "dtfm": "e5b4f9406510e4a8",
    "federation": "ca405f9360eb3fa8",
    "profiled": "06f57768d5cd6339",
    "uniform": "defce1ac9ecc17c7",
    "volunteer": "7197239b9c097c0c",
}
"""Starts of content hashes at 24 GPUs, seed 3: they change only when a family or the catalogue means to."""


@pytest.mark.parametrize("name", FAMILIES)
def test_content_is_the_same_on_every_machine_and_python(name: str) -> None:
    assert generate(name, 24, 3, {}).content_hash.startswith(HASHES[name])


FILES = """
import sys
from pathlib import Path
from instances.generator.family import families, generate
from instances.files import write_instance
for name in families():
    write_instance(Path(sys.argv[1]) / f"{name}.json", generate(name, 24, 3, {}))
"""


def test_files_are_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    folders = []
    for seed in ("0", "4242"):
        folder = tmp_path / seed
        folder.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", FILES, str(folder)], env=environment, check=True)
        folders.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert sorted(folders[0]) == [f"{name}.json" for name in FAMILIES]
    assert folders[0] == folders[1]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_largest_size_generates_and_evaluates(name: str) -> None:
    """One GPU a layer, in listed order: nothing clever, but a plan that is feasible or says why not."""
    instance = generate(name, LARGEST, 0, {})
    assert instance.gpus == LARGEST
    assert fits_in_listed_order(instance.model, instance.training, instance.groups, instance.sites)
    if instance.sites is None and (plan := some_plan(instance)) is not None:
        assert evaluate(instance, plan).time_s > 0


def some_plan(instance: Instance) -> Plan | None:
    """As many one-layer pipelines as fit, the GPUs with the most memory first."""
    listed = [k for k, group in enumerate(instance.groups) for _ in range(group.count)]
    listed.sort(key=lambda k: -instance.groups[k].memory)
    stages = instance.model.layers
    replicas = max(r for r in range(1, len(listed) // stages + 1) if instance.training.global_batch % r == 0)
    rows = [[listed[stage * replicas + r] for stage in range(stages)] for r in range(replicas)]
    plan = Plan.from_groups(1, [1] * stages, rows)
    return None if violations(instance, plan) else plan


@pytest.mark.parametrize(
    ("name", "gpus", "seed", "options", "reason"),
    [
        ("nowhere", 4, 0, {}, "unknown family 'nowhere'; expected one of campus, cloud"),
        ("cloud", SMALLEST - 1, 0, {}, "family cloud: gpus: 1 is outside of 2 to 1024"),
        ("cloud", LARGEST + 1, 0, {}, "family cloud: gpus: 1025 is outside of 2 to 1024"),
        ("cloud", 4, -1, {}, "family cloud: seed: -1 is below 0"),
        ("cloud", 4, 0, {"colour": "red"}, "family cloud: unknown option 'colour'; expected one of network"),
        ("cloud", 4, 0, {"model": "gpt-5"}, "family cloud: model: found 'gpt-5', expected one of auto, gpt2-small"),
        ("cloud", 4, 0, {"batch": "0"}, "family cloud: batch: found '0', expected a whole number above 0"),
        ("cloud", 4, 0, {"batch": "1_0"}, "family cloud: batch: found '1_0', expected a whole number above 0"),
        ("cloud", 4, 0, {"batch": "6.4"}, "family cloud: batch: found '6.4', expected a whole number above 0"),
        ("cloud", 4, 0, {"link-energy": "-1"}, "family cloud: link-energy: found '-1', expected a number of 0 or more"),
        (
            "cloud",
            4,
            0,
            {"link-energy": "1e31"},
            "found '1e31', expected a number of 0 or more, up to 1e+15",
        ),
        ("cloud", 4, 0, {"batch": "9" * 400}, "9'... (400 characters), expected a whole number above 0"),
        ("cloud", 4, 0, {"micro-batches": "9" * 5000}, "9'... (5000 characters), expected whole numbers"),
        (
            "cloud",
            4,
            0,
            {"link-energy": "nan"},
            "cloud: link-energy: found 'nan', expected a number of 0 or more",
        ),
        ("cloud", 4, 0, {"micro-batches": "1,x"}, "family cloud: micro-batches: found '1,x', expected whole numbers"),
        ("cloud", 4, 0, {"micro-batches": "2,2"}, "family cloud: micro-batches: '2,2' repeats a size"),
        ("dtfm", 8, 0, {"batch": "8388608"}, "family dtfm: batch: 8388608 is above 4194304"),
        ("dtfm", 8, 0, {"batch": "7", "micro-batches": "2"}, "batch 7: no choice of micro-batches divides it"),
        ("dtfm", 2, 0, {"model": "gpt3-13b"}, "no batch will do: no plan fits 2 GPUs of 32 GiB together"),
        ("dtfm", 8, 0, {"model": "gpt2-small", "batch": "8"}, "batch 8: a single V100-SXM2-16GB holds a plan"),
        ("profiled", 4, 0, {"micro-batches": "1,16"}, "micro-batches: 16 was not measured; measured are 1, 2, 4, 8"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_reason(
    name: str, gpus: int, seed: int, options: dict[str, str], reason: str
) -> None:
    with pytest.raises(InputError) as caught:
        generate(name, gpus, seed, options)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_that_may_be_left_out_are_read_as_none() -> None:
    option = Option("auto", "some number", kind="integer")
    assert (option.parse("auto"), option.parse("12")) == (None, 12)


@pytest.mark.parametrize("name", FAMILIES)
def test_options_change_what_they_say(name: str) -> None:
    plain = generate(name, 16, 0, {})
    batch = plain.training.global_batch
    smaller = generate(name, 16, 0, {"micro-batches": "1", "batch": str(batch)})
    assert smaller.training.micro_batches == (1,)
    assert smaller.training.global_batch == batch
    assert smaller.groups == plain.groups or name == "profiled"  # its times are by micro-batch
    assert smaller.name != plain.name


def test_federations_cap_power_at_some_sites_and_price_all() -> None:
    instance = generate("federation", 24, 0, {})
    assert instance.sites is not None
    caps = [site.power_cap for site in instance.sites.values()]
    assert None in caps
    for region, site in instance.sites.items():
        assert site.carbon
        assert site.price
        here = [group for group in instance.groups if group.region == region]
        full = sum(group.count * group.power_active for group in here)
        if site.power_cap is not None and sum(group.count for group in here) > 1:
            assert max(group.power_active for group in here) <= site.power_cap < full


def test_volunteers_upload_over_the_thinner_end_of_each_link() -> None:
    """Rates differ by direction, since lines do."""
    bandwidth = generate("volunteer", 12, 0, {}).network.bandwidth
    size = range(len(bandwidth))
    assert any(bandwidth[k][j] != bandwidth[j][k] for k in size for j in size)


def test_profiles_charge_the_recomputed_forward_pass() -> None:
    full, none = (generate("profiled", 8, 0, {"recompute": mode}) for mode in ("full", "none"))
    times = {group.gpu: group.profile for group in none.groups}
    for group in full.groups:
        if group.profile is not None and (bare := times.get(group.gpu)) is not None:
            expected = bare.forward["1"] + bare.backward["1"]
            assert group.profile.backward["1"] == pytest.approx(expected, rel=1e-5)
