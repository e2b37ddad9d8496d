"""Put an instance together from GPUs in places and the links between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from instances.catalogue.gpus import GpuType
from instances.catalogue.models import model_source
from instances.catalogue.networks import Link
from instances.catalogue.reading import sources
from instances.instance import Group, Instance, Model, Network, Site, Training

Linking = Callable[["Placed", "Placed"], Link]


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


def groups_of(placed: Sequence[Placed], block_forward_flops: float) -> list[Group]:
    """One group for each entry, named after place and GPU type."""
    names = [f"{_slug(entry.place)}-{entry.gpu.slug}" for entry in placed]
    repeated = {name for name, count in Counter(names).items() if count > 1}
    assert not repeated, f"two entries for {', '.join(sorted(repeated))}"
    return [
        entry.gpu.group(name, entry.region, entry.count, block_forward_flops)
        for name, entry in zip(names, placed, strict=True)
    ]


def network_of(placed: Sequence[Placed], link: Linking, joules_per_byte: float | None = None) -> Network:
    """The K x K links; `joules_per_byte` is charged between regions, nothing inside one."""
    links = [[link(sender, receiver) for receiver in placed] for sender in placed]
    energy = None
    if joules_per_byte is not None:
        energy = tuple(
            tuple(0.0 if sender.region == receiver.region else joules_per_byte for receiver in placed)
            for sender in placed
        )
    return Network(
        latency=tuple(tuple(entry.latency for entry in row) for row in links),
        bandwidth=tuple(tuple(entry.bandwidth for entry in row) for row in links),
        energy_per_byte=energy,
    )


def assemble(
    model: Model,
    training: Training,
    groups: Sequence[Group],
    network: Network,
    used_sources: Iterable[str],
    sites: Mapping[str, Site] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Instance:
    """The instance, still without a name of its own (`family.generate` gives it one)."""
    return Instance(
        schema="geotrain-bench/instance/1",
        name="generated",
        model=model,
        training=training,
        groups=tuple(groups),
        network=network,
        sites=dict(sites) if sites else None,
        provenance={**(notes or {}), "sources": list(sources([model_source(model.name), *used_sources]))},
    )


def _slug(text: str) -> str:
    return text.lower().replace(". ", "-").replace(" ", "-")
