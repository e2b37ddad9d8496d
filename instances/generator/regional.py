"""What families whose GPUs sit in regions of a measured network have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from instances.catalogue.gpus import gpu_type
from instances.catalogue.networks import Campaign, Link, campaign
from instances.generator.assembly import Linking, Placed
from instances.generator.drawing import Uniform, pick_some, spread
from instances.generator.family import AUTO, LARGEST, Option, Options

P = TypeVar("P", bound=Placed)
T = TypeVar("T")

WAN_JOULES_PER_BYTE = 3.6e-6
"""0.001 kWh/GB, the coefficient of Cloud Carbon Footprint for traffic between regions (an assumption there)."""

INSIDE_MACHINE = "dtfm-datacenter"
"""Inside one machine: 100 Gbit/s and no delay, as DT-FM sets NVLink (config.py, MIT)."""


@dataclass(frozen=True)
class Places:
    """The regions (sites, cities) that a pool is spread over; `kind` is their name and that of the option.

    Left to the family, there is one for every `gpus_each` GPUs, within `fewest` and `most`.
    """

    kind: str
    gpus_each: int
    fewest: int = 2
    most: int = LARGEST

    def option(self) -> dict[str, Option]:
        """The number of places."""
        limits = f"{self.fewest} {'or more' if self.most == LARGEST else f'to {self.most}'}"
        text = f"number of {self.kind}; auto: one for every {self.gpus_each} GPUs, {limits}"
        return {self.kind: Option(AUTO, text, kind="integer")}

    def energy_option(self) -> dict[str, Option]:
        """The energy of what is sent from one place to another."""
        return {"link-energy": Option(f"{WAN_JOULES_PER_BYTE:g}", f"J per byte between {self.kind}", kind="number")}

    def draw(self, uniform: Uniform, options: Options, gpus: int, known: Sequence[str]) -> list[str]:
        """As many of the known places as were asked for, but never more than there are GPUs."""
        count = options.integer(self.kind) or min(self.most, max(self.fewest, gpus // self.gpus_each))
        return pick_some(uniform, known, min(count, gpus, len(known)))


def place_evenly(gpus: int, places: Sequence[str], types_of: Callable[[int], Sequence[str]]) -> list[Placed]:
    """The GPUs spread evenly over places, and in each over the types that `types_of` gives for so many GPUs."""
    return [
        Placed(place, place, gpu_type(name), size)
        for place, share in spread(gpus, places).items()
        for name, size in spread(share, types_of(share)).items()
    ]


def pick_types(uniform: Uniform, types: Sequence[T], gpus: int, most: int) -> list[T]:
    """Up to `most` types for a place with so many GPUs: two or more GPUs of each, where there is more than one."""
    return pick_some(uniform, types, min(max(1, min(most, gpus // 2)), len(types)))


def link_in(network: Campaign) -> Linking:
    """Links by region; a place that is not its region is one machine, with a link of its own inside."""
    machine = campaign(INSIDE_MACHINE).link("machine", "machine")

    def link(sender: Placed, receiver: Placed) -> Link:
        if sender.place == receiver.place != sender.region:
            return machine
        return network.link(sender.region, receiver.region)

    return link


def notes_on(network: Campaign, options: Options) -> dict[str, str]:
    """What the provenance says of the links."""
    notes = {"network": network.name, "latency": "one way", "tcp_streams": network.tcp_streams}
    if options.link_energy is not None:
        notes["link_energy"] = (
            f"{options.link_energy:g} J/byte between regions; {WAN_JOULES_PER_BYTE:g} is 0.001 kWh/GB, "
            "the coefficient of Cloud Carbon Footprint"
        )
    return notes


def merged(placed: Iterable[P]) -> list[P]:
    """The same GPUs with one entry for all of a type in a place, region by region in order of first use."""
    by_region: dict[str, dict[tuple[str, str], P]] = {}
    for entry in placed:
        found = by_region.setdefault(entry.region, {})
        key = (entry.place, entry.gpu.name)
        found[key] = replace(entry, count=entry.count + (found[key].count if key in found else 0))
    return [entry for found in by_region.values() for entry in found.values()]
