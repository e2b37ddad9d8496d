"""Homes in many cities with one or two consumer GPUs each, behind thin and asymmetric access lines.

Between cities delays are measured; a home's line adds its own and sets the rate: the sender's uplink or the
receiver's downlink, whichever is slower.
"""

from __future__ import annotations

from dataclasses import dataclass

from instances.catalogue import campaign, gpu_type
from instances.catalogue.lines import Line, lines
from instances.catalogue.networks import Campaign, Link
from instances.catalogue.reading import significant
from instances.generator.assembly import Placed, assemble, groups_of, network_of
from instances.generator.drawing import Uniform, pick_some, pick_weighted
from instances.generator.family import AUTO, Family, Option, Options
from instances.generator.regional import INSIDE_MACHINE, WAN_JOULES_PER_BYTE, merged, notes_on
from instances.generator.sizing import (
    block_flops,
    chosen_model,
    comparable,
    filling_batch,
    training_for,
    training_options,
)
from instances.instance import Instance
from instances.seeds import stream

NETWORK = "aws-64-streams"
GPUS = {"RTX 2080 Ti": 0.25, "Titan RTX": 0.1, "RTX 3090": 0.4, "RTX 4090": 0.25}
TWO_GPUS, FEWEST_FOR_TWO = 0.25, 8  # share of the homes; size of the pool
FEWEST_CITIES, MOST_CITIES, GPUS_PER_CITY = 2, 12, 3
LARGEST_MODEL = "gpt3-2.7b"  # a larger one would spend an hour an iteration on these lines
STATE_SHARE, STASH_SHARE = 0.08, 0.3


@dataclass(frozen=True)
class Home(Placed):
    """GPUs behind lines of one product in one city; `alone`: every GPU has a line of its own."""

    line: Line
    alone: bool


def _make(gpus: int, seed: int, options: Options) -> Instance:
    network = campaign(NETWORK)
    uniform = stream("volunteer", options.integer("cities") or AUTO, gpus, seed).random
    homes = merged(_homes(gpus, options, network, uniform))
    pool_bytes = sum(entry.count * entry.gpu.memory for entry in homes)
    model = chosen_model(options, pool_bytes, STATE_SHARE, LARGEST_MODEL)
    groups = groups_of(homes, block_flops(options, model))
    aim = filling_batch(options, model, pool_bytes, STASH_SHARE)
    inside = campaign(INSIDE_MACHINE).link("machine", "machine")

    def link(sender: Placed, receiver: Placed) -> Link:
        assert isinstance(sender, Home)
        assert isinstance(receiver, Home)
        if sender is receiver and not sender.alone:
            return inside
        city = network.link(sender.region, receiver.region)
        return Link(
            significant(sender.line.access_s + city.latency + receiver.line.access_s),
            min(sender.line.up, receiver.line.down, city.bandwidth),
        )

    return assemble(
        model,
        training_for(options, model, groups, aim),
        groups,
        network_of(homes, link, options.number("link-energy")),
        [*network.sources, *(home.line.source for home in homes), *(s for home in homes for s in home.gpu.sources)],
        notes={**notes_on(network, options.number("link-energy")), "access": "lines.csv, at both ends"},
    )


def _homes(gpus: int, options: Options, network: Campaign, uniform: Uniform) -> list[Home]:
    count = options.integer("cities") or min(MOST_CITIES, max(FEWEST_CITIES, gpus // GPUS_PER_CITY))
    cities = pick_some(uniform, network.places, min(count, gpus, len(network.places)))
    shares = {name: line.share for name, line in lines().items()}
    weights = {name: GPUS[name] for name in comparable(list(GPUS), gpus)}
    homes: list[Home] = []
    left = gpus
    while left:
        city = cities[len(homes) % len(cities)]
        line = lines()[pick_weighted(uniform, shares)]
        gpu = gpu_type(pick_weighted(uniform, weights))
        # In a small pool one home with two GPUs would be the plan.
        size = 2 if gpus >= FEWEST_FOR_TWO and uniform() < TWO_GPUS and left > 1 else 1
        # Single-GPU homes in one city with the same line are linked alike: one place.
        place = f"{city} {line.name}" if size == 1 else f"{city} home {len(homes)}"
        homes.append(Home(place, city, gpu, size, line, alone=size == 1))
        left -= size
    return homes


FAMILY = Family(
    name="volunteer",
    summary="homes in many cities with one or two consumer GPUs, thin and asymmetric uplinks",
    options={
        "cities": Option(AUTO, "number of cities; auto: one for every three GPUs, two to twelve", kind="integer"),
        "link-energy": Option(f"{WAN_JOULES_PER_BYTE:g}", "J per byte between cities", kind="number"),
        **training_options(AUTO),
    },
    make=_make,
)
