"""Homes in many cities with one or two consumer GPUs each, behind thin and asymmetric access lines.

Between cities delays are measured; a home's line adds its own and sets the rate: the sender's uplink or the
receiver's downlink, whichever is slower.
"""

from __future__ import annotations

from dataclasses import dataclass

from instances.catalogue.gpus import gpu_type
from instances.catalogue.networks import Campaign, Line, Link, campaign, lines
from instances.catalogue.reading import significant
from instances.generator.assembly import INSIDE_MACHINE, Placed, assemble, merged, notes_on
from instances.generator.family import AUTO, Family, Options
from instances.generator.places import Places, Uniform, pick_weighted
from instances.generator.sizing import Size, comparable, training_options
from instances.instance import Instance
from instances.seeds import stream

NETWORK = "aws-64-streams"
GPUS = {"RTX 2080 Ti": 0.25, "Titan RTX": 0.1, "RTX 3090": 0.4, "RTX 4090": 0.25}
TWO_GPUS, FEWEST_FOR_TWO = 0.25, 8  # share of the homes; size of the pool
CITIES = Places("cities", gpus_each=3, most=12)
# A larger model would spend an hour an iteration on these lines.
SIZE = Size(state_share=0.08, stash_share=0.3, largest_model="gpt3-2.7b")


@dataclass(frozen=True)
class Home(Placed):
    """GPUs behind lines of one product in one city; `alone`: every GPU has a line of its own."""

    line: Line
    alone: bool


def _make(gpus: int, seed: int, options: Options) -> Instance:
    network = campaign(NETWORK)
    uniform = stream("volunteer", options["cities"] or AUTO, gpus, seed).random
    homes = merged(_homes(gpus, options, network, uniform))
    inside = campaign(INSIDE_MACHINE).link("machine", "machine")

    def link(sender: Home, receiver: Home) -> Link:
        if sender is receiver and not sender.alone:
            return inside
        city = network.link(sender.region, receiver.region)
        return Link(
            significant(sender.line.access_s + city.latency + receiver.line.access_s),
            min(sender.line.up, receiver.line.down, city.bandwidth),
        )

    return assemble(
        options,
        SIZE,
        network,
        homes,
        link,
        used_sources=[home.line.source for home in homes],
        notes={**notes_on(network, options), "access": "lines.csv, at both ends"},
    )


def _homes(gpus: int, options: Options, network: Campaign, uniform: Uniform) -> list[Home]:
    cities = CITIES.draw(uniform, options, gpus, network.places)
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
        **CITIES.option(),
        **CITIES.energy_option(),
        **training_options(AUTO),
    },
    make=_make,
)
