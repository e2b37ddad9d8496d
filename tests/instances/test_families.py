"""What every family promises, run on each one that is found."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from instances.contract import Rule, findings
from instances.errors import InputError
from instances.generator import contract
from instances.generator.contract import RULES, SIZES
from instances.generator.family import LARGEST, SMALLEST, Option, Options, families, generate
from instances.generator.fitting import fits_in_listed_order, fits_one_gpu
from instances.instance import Instance
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations

FAMILIES = sorted(families())
HETEROGENEOUS = ["campus", "cloud", "dtfm", "federation", "profiled", "volunteer"]
ROOT = Path(__file__).parents[2]


def test_the_families_of_the_specification_are_found() -> None:
    assert set(FAMILIES) >= {"campus", "cloud", "dtfm", "federation", "profiled", "uniform", "volunteer"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.promise)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_keeps_the_contract(name: str, rule: Rule[str]) -> None:
    rule.check(name)


@pytest.mark.parametrize("gpus", SIZES)
@pytest.mark.parametrize("name", HETEROGENEOUS)
def test_no_plan_fits_a_single_gpu(name: str, gpus: int) -> None:
    made = generate(name, gpus, 1, {})
    assert not any(fits_one_gpu(made.model, made.training, group.memory) for group in made.groups)


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


@pytest.mark.parametrize("name", HASHES)
def test_content_is_the_same_on_every_machine_and_python(name: str) -> None:
    assert generate(name, 24, 3, {}).content_hash.startswith(HASHES[name])


FILES = """
import sys
from dataclasses import replace
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


def test_a_family_that_breaks_a_promise_is_told_which(monkeypatch: pytest.MonkeyPatch) -> None:
    from instances.generator import family

    class Counter:
        calls = 0

    def restless(gpus: int, seed: int, options: Options) -> Instance:
        Counter.calls += 1
        return families()["cloud"].make(gpus, Counter.calls, options)

    cloud = families()["cloud"]
    known = {**families(), "restless": replace(cloud, name="restless", summary="two\nlines", make=restless)}
    monkeypatch.setattr(family, "families", lambda: known)
    monkeypatch.setattr(contract, "families", lambda: known)
    found = {each.promise: each.problem for each in findings(RULES, "restless") if each.problem}
    assert "is not one line" in found["says what it is"]
    assert "the same arguments give another instance" in found["repeats itself"]
    assert "has the size asked for" not in found
