"""What families whose GPUs sit in regions of a measured network have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from instances.catalogue.networks import Campaign, Link, campaign
from instances.generator.assembly import Linking, Placed

P = TypeVar("P", bound=Placed)

WAN_JOULES_PER_BYTE = 3.6e-6
"""0.001 kWh/GB, the coefficient of Cloud Carbon Footprint for traffic between regions (an assumption there)."""

INSIDE_MACHINE = "dtfm-datacenter"
"""Inside one machine: 100 Gbit/s and no delay, as DT-FM sets NVLink (config.py, MIT)."""


def link_in(network: Campaign) -> Linking:
    """Links by region; a place that is not its region is one machine, with a link of its own inside."""
    machine = campaign(INSIDE_MACHINE).link("machine", "machine")

    def link(sender: Placed, receiver: Placed) -> Link:
        if sender.place == receiver.place != sender.region:
            return machine
        return network.link(sender.region, receiver.region)

    return link


def notes_on(network: Campaign, joules_per_byte: float | None = None) -> dict[str, str]:
    """What the provenance says of the links."""
    notes = {"network": network.name, "latency": "one way", "tcp_streams": network.tcp_streams}
    if joules_per_byte is not None:
        notes["link_energy"] = (
            f"{joules_per_byte:g} J/byte between regions; {WAN_JOULES_PER_BYTE:g} is 0.001 kWh/GB, "
            "the coefficient of Cloud Carbon Footprint"
        )
    return notes


def types_for(gpus: int, most: int) -> int:
    """How many GPU types a place with so many GPUs has: two or more of each, where there is more than one."""
    return max(1, min(most, gpus // 2))


def merged(placed: Iterable[P]) -> list[P]:
    """The same GPUs with one entry for all of a type in a place, region by region in order of first use."""
    by_region: dict[str, dict[tuple[str, str], P]] = {}
    for entry in placed:
        found = by_region.setdefault(entry.region, {})
        key = (entry.place, entry.gpu.name)
        found[key] = replace(entry, count=entry.count + (found[key].count if key in found else 0))
    return [entry for found in by_region.values() for entry in found.values()]
