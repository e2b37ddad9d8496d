"""Put an instance together: GPUs in places of a measured network are given, all else follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from instances.catalogue.gpus import GpuType
from instances.catalogue.models import model_source
from instances.catalogue.networks import Campaign, Link, campaign
from instances.catalogue.reading import sources
from instances.generator.family import Options
from instances.generator.sizing import Size, chosen_model, training_for, training_with
from instances.instance import Group, Instance, Network, Profile, Site, Training
from instances.workload import Workload

WAN_JOULES_PER_BYTE = 3.6e-6
"""0.001 kWh/GB, the coefficient of Cloud Carbon Footprint for traffic between regions (an assumption there)."""

INSIDE_MACHINE = "dtfm-datacenter"
"""Inside one machine: 100 Gbit/s and no delay, as DT-FM sets NVLink (config.py, MIT)."""


@dataclass(frozen=True)
class Placed:
    """Interchangeable GPUs: `count` of one type in one place.

    Attributes
    ----------
    place
        What links depend on: a region, or one machine of it.
    region
        What power caps, carbon and prices depend on.
    """

    place: str
    region: str
    gpu: GpuType
    count: int


P = TypeVar("P", bound=Placed)
Linking = Callable[[P, P], Link]


# Long for its parameters and their documentation.
def assemble(
    options: Options,
    size: Size,
    network: Campaign,
    entries: Iterable[P],
    link: Linking[P] | None = None,
    *,
    used_sources: Iterable[str] = (),
    notes: Mapping[str, str] | None = None,
    sites: Mapping[str, Site] | None = None,
    measured: Callable[[str, Training], Profile] | None = None,
) -> Instance:
    """The instance, still without a name of its own (`family.generate` gives it one).

    Parameters
    ----------
    size
        How large a model and a batch these GPUs get where the options leave them open.
    link
        Links between entries, and inside one, in place of those of `link_in`.
    used_sources
        Sources of what the family took from the catalogue beside model, network and GPU types.
    notes
        What else the provenance says, in place of `notes_on`.
    measured
        Times of a GPU type under that training, in place of its speed.
    """
    placed = merged(entries)
    model = chosen_model(options, size, sum(entry.count * entry.gpu.memory for entry in placed))
    block_flops = Workload.of(model, training_with(options, 1)).block_forward_flops
    groups = [
        entry.gpu.group(_slug(f"{entry.place}-{entry.gpu.name}"), entry.region, entry.count, block_flops)
        for entry in placed
    ]
    training = training_for(options, size, model, groups, sites)
    if measured is not None:
        groups = [
            Group(**{**dict(group), "half_batch": None, "profile": measured(group.gpu, training)}) for group in groups
        ]
    gpu_sources = [source for entry in placed for source in entry.gpu.sources]
    used = sources([model_source(model.name), *network.sources, *used_sources, *gpu_sources])
    return Instance(
        schema="geotrain-bench/instance/1",
        name="generated",
        model=model,
        training=training,
        groups=tuple(groups),
        network=_network(placed, link or link_in(network), options.get("link-energy")),
        sites=dict(sites) if sites else None,
        provenance={**(notes or notes_on(network, options)), "sources": list(used)},
    )


def merged(entries: Iterable[P]) -> list[P]:
    """The same GPUs with one entry for all of a type in a place, region by region in order of first use."""
    by_region: dict[str, dict[tuple[str, str], P]] = {}
    for entry in entries:
        found = by_region.setdefault(entry.region, {})
        key = (entry.place, entry.gpu.name)
        found[key] = replace(entry, count=entry.count + (found[key].count if key in found else 0))
    return [entry for found in by_region.values() for entry in found.values()]


def link_in(network: Campaign) -> Linking[Placed]:
    """Links by region; a place that is not its region is one machine, with a link of its own inside."""

    def link(sender: Placed, receiver: Placed) -> Link:
        if sender.place == receiver.place != sender.region:
            return campaign(INSIDE_MACHINE).link("machine", "machine")
        return network.link(sender.region, receiver.region)

    return link


def notes_on(network: Campaign, options: Options) -> dict[str, str]:
    """What the provenance says of the links."""
    notes = {"network": network.name, "latency": "one way", "tcp_streams": network.tcp_streams}
    if options.get("link-energy") is not None:
        notes["link_energy"] = (
            f"{options['link-energy']:g} J/byte between regions; {WAN_JOULES_PER_BYTE:g} is 0.001 kWh/GB, "
            "the coefficient of Cloud Carbon Footprint"
        )
    return notes


def _network(placed: Sequence[P], link: Linking[P], joules_per_byte: float | None) -> Network:
    """The K x K links; `joules_per_byte` is charged between regions, nothing inside one."""
    links = [[link(sender, receiver) for receiver in placed] for sender in placed]
    regions = [entry.region for entry in placed]
    return Network(
        latency=tuple(tuple(entry.latency for entry in row) for row in links),
        bandwidth=tuple(tuple(entry.bandwidth for entry in row) for row in links),
        energy_per_byte=None
        if joules_per_byte is None
        else tuple(tuple(0.0 if here == there else joules_per_byte for there in regions) for here in regions),
    )


def _slug(text: str) -> str:
    return text.lower().replace(". ", "-").replace(" ", "-")
