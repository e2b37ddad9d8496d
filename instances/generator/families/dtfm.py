"""DT-FM's five networks, at any size, with equal GPUs or a mix.

Source: Yuan et al. 2022 (arXiv 2206.01288) and config.py of DS3Lab/DT-FM (MIT): cases 0 to 4 of the code,
1 to 5 of the measurements. Delays count one way, as their emulator applied them.
"""

from __future__ import annotations

from collections import Counter

from instances.catalogue.gpus import gpu_type
from instances.catalogue.networks import Link, campaign
from instances.generator.assembly import Placed, assemble, notes_on
from instances.generator.family import Family, Option, Options
from instances.generator.places import pick_weighted, spread
from instances.generator.sizing import Size, training_options
from instances.instance import Instance
from instances.seeds import stream

SCENARIOS = ("datacenter", "spot", "universities", "us-regions", "worldwide")
HOMOGENEOUS = "V100-SXM2-16GB"  # of p3 instances, as theirs
MIX = {"T4": 0.25, "V100-SXM2-16GB": 0.35, "A10G": 0.2, "A100-SXM4-40GB": 0.2}
SIZE = Size(batch_per_gpu=16)  # theirs: 1,024 sequences on 64 GPUs
INSTANCES, GPUS_PER_INSTANCE, GPUS_PER_SPOT_INSTANCE = 8, 8, 4
SINGLES = "singles"
ONE_PLACE = ("datacenter", "spot")  # scenarios of machines in one region


def places(scenario: str, gpus: int) -> dict[str, int]:
    """GPUs by place, spread as evenly as the original's 64, the first places getting the remainder.

    Machines do not grow past their size: a data centre of more than 64 GPUs has more instances of eight, and
    half of a spot pool of any size is in instances of four. Single machines are linked to all others alike,
    so their GPUs are interchangeable and make one place.
    """
    if scenario == "datacenter":
        instances = max(INSTANCES, -(-gpus // GPUS_PER_INSTANCE))
        return _machines(gpus, instances, singles=0)
    if scenario == "spot":
        instances = -(-(gpus // 2) // GPUS_PER_SPOT_INSTANCE)
        return _machines(gpus // 2, instances, singles=gpus - gpus // 2)
    if scenario == "universities":
        return spread(gpus, ["university-0", "university-1"])
    return spread(gpus, list(campaign(f"dtfm-{scenario}").places))


def _machines(gpus: int, instances: int, singles: int) -> dict[str, int]:
    """`gpus` over so many instances, and single machines; an instance that gets one GPU is one of these."""
    found = spread(gpus, [f"instance-{number}" for number in range(instances)])
    shared = {name: count for name, count in found.items() if count > 1}
    lonely = singles + sum(count for count in found.values() if count == 1)
    return {**shared, SINGLES: lonely} if lonely else shared


def _make(gpus: int, seed: int, options: Options) -> Instance:
    scenario, mix = options["scenario"], options["gpu-mix"]
    network = campaign(f"dtfm-{scenario}")
    # A homogeneous pool has nothing to draw, so every seed gives the same instance.
    uniform = stream("dtfm", scenario, gpus, seed).random
    weights = MIX if mix == "mixed" else {HOMOGENEOUS: 1.0}
    placed = []
    for place, count in places(scenario, gpus).items():
        # All GPUs of one machine are of one type.
        each = count if scenario in ONE_PLACE and place != SINGLES else 1
        drawn: Counter[str] = Counter()
        for _ in range(count // each):
            drawn[pick_weighted(uniform, weights)] += each
        region = scenario if scenario in ONE_PLACE else place
        placed += [Placed(place, region, gpu_type(name), drawn[name]) for name in weights if drawn[name]]

    def link(sender: Placed, receiver: Placed) -> Link:
        if sender.place == receiver.place == SINGLES:
            return network.link("one machine", "another machine")
        return network.link(sender.place, receiver.place)

    return assemble(
        options,
        SIZE,
        network,
        placed,
        link,
        notes={**notes_on(network, options), "latency": "one way, as DT-FM's emulator applied it"},
    )


FAMILY = Family(
    name="dtfm",
    summary="DT-FM's five networks, from one data centre to eight regions, V100s or a mix of GPU types",
    options={
        "scenario": Option("worldwide", "one of DT-FM's networks, cases 0 to 4", choices=SCENARIOS, named=True),
        "gpu-mix": Option("homogeneous", "V100s only, or a seeded mix", choices=("homogeneous", "mixed"), named=True),
        **training_options("gpt3-1.3b"),
    },
    make=_make,
)
