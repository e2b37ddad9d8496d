"""Put an instance together: GPUs in places and the links between them are given, all else follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from instances.catalogue.gpus import GpuType
from instances.catalogue.models import model_source
from instances.catalogue.networks import Link
from instances.catalogue.reading import sources
from instances.generator.family import Options
from instances.generator.sizing import Size, block_flops, chosen_model, training_for
from instances.instance import Group, Instance, Network, Profile, Site, Training

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


def assemble(
    options: Options,
    size: Size,
    placed: Sequence[Placed],
    link: Linking,
    *,
    used_sources: Iterable[str],
    notes: Mapping[str, str],
    sites: Mapping[str, Site] | None = None,
    measured: Callable[[str, Training], Profile] | None = None,
) -> Instance:
    """The instance, still without a name of its own (`family.generate` gives it one).

    Parameters
    ----------
    size
        How large a model and a batch these GPUs get where the options leave them open.
    used_sources
        Sources of the network and of what else the family took from the catalogue; those of the model and of
        the GPU types are added.
    notes
        What else the provenance says.
    measured
        Times of a GPU type under that training, in place of its speed.
    """
    pool_bytes = sum(entry.count * entry.gpu.memory for entry in placed)
    model = chosen_model(options, size, pool_bytes)
    groups = groups_of(placed, block_flops(options, model))
    training = training_for(options, size, model, groups, sites)
    if measured is not None:
        groups = [_with_profile(group, measured(group.gpu, training)) for group in groups]
    gpu_sources = [source for entry in placed for source in entry.gpu.sources]
    return Instance(
        schema="geotrain-bench/instance/1",
        name="generated",
        model=model,
        training=training,
        groups=tuple(groups),
        network=network_of(placed, link, options.link_energy),
        sites=dict(sites) if sites else None,
        provenance={**notes, "sources": list(sources([model_source(model.name), *used_sources, *gpu_sources]))},
    )


def groups_of(placed: Sequence[Placed], block_forward_flops: float) -> list[Group]:
    """One group for each entry, named after place and GPU type."""
    names = [_slug(f"{entry.place}-{entry.gpu.name}") for entry in placed]
    repeated = {name for name, count in Counter(names).items() if count > 1}
    assert not repeated, f"two entries for {', '.join(sorted(repeated))}"
    return [
        entry.gpu.group(name, entry.region, entry.count, block_forward_flops)
        for name, entry in zip(names, placed, strict=True)
    ]


def network_of(placed: Sequence[Placed], link: Linking, joules_per_byte: float | None = None) -> Network:
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


def _with_profile(group: Group, profile: Profile) -> Group:
    return Group.model_validate({**group.model_dump(), "half_batch": None, "profile": profile})


def _slug(text: str) -> str:
    return text.lower().replace(". ", "-").replace(" ", "-")
