"""DT-FM's networks as the family makes them, against what was published about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from instances.generator.families.dtfm import SCENARIOS
from instances.generator.family import generate
from instances.instance import Instance

PUBLISHED = json.loads((Path(__file__).parents[1] / "data" / "dtfm-scenarios.json").read_text())
BY_NAME = {scenario["name"]: scenario for scenario in PUBLISHED["scenarios"]}
GIGABIT = 1e9 / 8


def homogeneous(scenario: str, gpus: int = 64) -> Instance:
    return generate("dtfm", gpus, 0, {"scenario": scenario, "gpu-mix": "homogeneous"})


def device_groups(instance: Instance) -> list[int]:
    """Group of each GPU, in the order of the instance."""
    return [number for number, group in enumerate(instance.groups) for _ in range(group.count)]


def published_links(scenario: dict[str, Any]) -> list[list[tuple[float, float] | None]]:
    """Delay (s) and bandwidth (bytes/s) between any two of the 64 devices, None on the diagonal."""
    sites = [site["name"] for site in scenario["sites"] for _ in range(site["devices"])]
    named = {frozenset(link["between"]): link for link in scenario["links"]}

    def link(i: int, j: int) -> tuple[float, float] | None:
        if i == j:
            return None
        pair = frozenset((sites[i], sites[j]))
        found = scenario["inside"] if len(pair) == 1 else named.get(pair, scenario["between"])
        return found["delay_ms"] / 1e3, found["bandwidth_gbps"] * GIGABIT

    return [[link(i, j) for j in range(len(sites))] for i in range(len(sites))]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_pair_of_64_gpus_has_the_published_delay_and_bandwidth(scenario: str) -> None:
    """Delays count one way, as the emulator applied them; 5 ms inside a region."""
    instance = homogeneous(scenario)
    groups = device_groups(instance)
    published = published_links(BY_NAME[scenario])
    assert len(groups) == len(published) == 64
    for i, row in enumerate(published):
        for j, expected in enumerate(row):
            if expected is not None:
                k, to = groups[i], groups[j]
                made = instance.network.latency[k][to], instance.network.bandwidth[k][to]
                assert made == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scenario", ["us-regions", "worldwide"])
def test_the_published_total_of_balanced_stages_follows_from_the_links(scenario: str) -> None:
    """Best known: each of 8 stages has as many GPUs of each region, and all hops stay inside a region.

    Data parallel: the slowest GPU of a stage pays, for its 7 peers, twice delay + 8 * 0.65 / (8 * Gbit/s).
    Pipeline: 7 hops inside a region, 5 ms + 8 * 0.4712 / 2 each. Total = data parallel + 2 * pipeline.
    """
    network = homogeneous(scenario).network
    regions = range(len(network.latency))
    gradient, activation = (PUBLISHED["sizes_gb"][size] * 1e9 for size in ("gradient", "activation"))

    def exchange(k: int, j: int) -> float:
        peers = 8 // len(regions) - (j == k)
        return float(peers * 2 * (network.latency[k][j] + gradient / 8 / network.bandwidth[k][j]))

    data_parallel = max(sum(exchange(k, j) for j in regions) for k in regions)
    hop = network.latency[0][0] + activation / network.bandwidth[0][0]
    assert data_parallel + 2 * 7 * hop == pytest.approx(BY_NAME[scenario]["best_known_total_s"], rel=1e-9)


@pytest.mark.parametrize(
    ("scenario", "groups", "largest"), [("worldwide", 8, 8), ("spot", 9, 32), ("datacenter", 8, 8)]
)
def test_interchangeable_gpus_form_one_group(scenario: str, groups: int, largest: int) -> None:
    """32 single machines of the spot pool are linked alike, so they are one group; instances are one each."""
    instance = homogeneous(scenario)
    assert len(instance.groups) == groups
    assert max(group.count for group in instance.groups) == largest


def test_machines_do_not_grow_past_their_size() -> None:
    assert {group.count for group in homogeneous("datacenter", 128).groups} == {8}
    assert sorted({group.count for group in homogeneous("spot", 128).groups}) == [4, 64]


def test_homogeneous_pools_do_not_depend_on_the_seed_and_mixed_ones_do() -> None:
    def hashes(mix: str) -> set[str]:
        made = [generate("dtfm", 64, seed, {"gpu-mix": mix}) for seed in (0, 1)]
        return {instance.content_hash for instance in made}

    assert len(hashes("homogeneous")) == 1
    assert len(hashes("mixed")) == 2


def test_the_original_batch_is_kept_at_64_gpus() -> None:
    training = homogeneous("worldwide").training
    assert (training.global_batch, training.recompute) == (1024, "full")
