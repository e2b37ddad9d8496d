"""An instance of GPUs per site, links between sites, and a model; with a line of explanation for each figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from instances.catalogue.gpus import gpu_type
from instances.catalogue.networks import Link
from instances.catalogue.reading import sources
from instances.errors import InputError
from instances.generator.sizing import GRADIENT_BYTES, STATE_BYTES
from instances.importing.gpus import SiteGpus, read_gpus
from instances.importing.links import Fill, complete, read_links
from instances.importing.models import parameters, read_model
from instances.instance import Group, Instance, Network, Training
from instances.workload import Workload

RESERVE = 2**30
"""Bytes of each GPU that CUDA's context and the buffers of NCCL take, about; not the plan's."""


@dataclass(frozen=True)
class Imported:
    """The instance, what was filled in, and how each figure came about."""

    instance: Instance
    notes: list[str]
    explained: list[str]


def import_pool(
    gpus: Path,
    links: Path,
    model: str,
    batch: int,
    micro_batches: Sequence[int],
    recompute: str,
    name: str,
    sequence: int | None = None,
    fill: Fill = "no",
    reserve: int = RESERVE,
) -> Imported:
    """Read everything and put it together. InputError names file, row and what to do."""
    shape = read_model(model, sequence)
    training = Training(
        global_batch=batch,
        micro_batches=tuple(micro_batches),
        schedule="gpipe",
        recompute=recompute,  # type: ignore[arg-type]
        state_bytes_per_parameter=STATE_BYTES,
        gradient_bytes=GRADIENT_BYTES,
    )
    placed = read_gpus(gpus)
    small = [entry for entry in placed if entry.gpu.memory <= reserve]
    if small:
        raise InputError(f"{gpus}: {small[0].gpu.name}: has less memory than --reserve keeps back")
    work = Workload.of(shape, training)
    groups = [_group(entry, work, reserve) for entry in placed]
    names = [group.name for group in groups]
    groups = [
        group.model_copy(update={"name": f"{group.name}-{names[:k].count(group.name) + 1}"})
        if group.name in names[:k]
        else group
        for k, group in enumerate(groups)
    ]
    counts = {site: sum(entry.count for entry in placed if entry.site == site) for site in _sites(placed)}
    several = [site for site, count in counts.items() if count > 1]
    found, notes = complete(read_links(links), counts, several, fill)
    instance = Instance(
        schema="geotrain-bench/instance/1",
        name=name,
        model=shape,
        training=training,
        groups=tuple(groups),
        network=_network([entry.site for entry in placed], found),
        provenance={
            "imported": f"{gpus.name}, {links.name}, {Path(model).name}",
            "notes": list(notes),
            "sources": list(sources(source for entry in placed for source in entry.gpu.sources)),
        },
    )
    return Imported(instance, notes, [*_explained_groups(placed, groups, reserve), *_explained_model(instance)])


def _sites(placed: Sequence[SiteGpus]) -> list[str]:
    return list(dict.fromkeys(entry.site for entry in placed))


def _group(entry: SiteGpus, work: Workload, reserve: int) -> Group:
    slug = f"{entry.site}-{entry.gpu.name}".lower().replace(" ", "-").replace("/", "-")
    group = entry.gpu.group(slug, entry.site, entry.count, work.block_forward_flops)
    return group.model_copy(update={"memory": entry.gpu.memory - reserve})


def _network(sites: Sequence[str], links: dict[tuple[str, str], Link | None]) -> Network:
    """K x K. A GPU alone at its site sends nothing to itself: there is no link, and none is needed."""
    rows = [[links.get((sender, receiver)) for receiver in sites] for sender in sites]
    return Network(
        latency=tuple(tuple(link and link.latency for link in row) for row in rows),
        bandwidth=tuple(tuple(link and link.bandwidth for link in row) for row in rows),
    )


def _explained_groups(placed: Sequence[SiteGpus], groups: Sequence[Group], reserve: int) -> list[str]:
    lines = []
    for entry, group in zip(placed, groups, strict=True):
        kind, known = entry.gpu, gpu_type(entry.gpu.name)
        speed = (
            f"dense fp16 peak x efficiency ({kind.basis['efficiency']})" if kind.flops == known.flops else "as given"
        )
        power = kind.basis["power_active"] if kind.power_active == known.power_active else "as given"
        waiting = kind.basis["power_waiting"] if kind.power_waiting == known.power_waiting else "from that"
        lines += [
            f"{group.name}: flops = {group.flops:.6g} FLOP/s: {speed}",
            f"{group.name}: memory = {group.memory:.0f} bytes: {kind.memory:.0f} reported - {reserve} kept back",
            f"{group.name}: power = {group.power_active:g} W computing ({power}), "
            f"{group.power_idle:g} W waiting ({waiting})",
            f"{group.name}: half_batch = {group.half_batch:g} sequences: block overhead "
            f"{1e3 * kind.block_overhead_s:g} ms x flops / (3 x forward FLOPs of a block) "
            f"({kind.basis['block_overhead']})",
        ]
    return lines


def _explained_model(instance: Instance) -> list[str]:
    work = Workload.of(instance.model, instance.training)
    return [
        f"{instance.model.name}: {parameters(instance.model):,} parameters: blocks and embeddings, without norms, "
        "biases and positions",
        f"{instance.model.name}: {work.block_forward_flops:.6g} FLOPs forward a block and sequence "
        "(Narayanan et al. 2021)",
        f"{instance.model.name}: {work.message_bytes:,} bytes of activations between two stages, a sequence: "
        "2 x sequence x hidden",
        "latency = half of a round trip, or as given one way; bandwidth = bits / 8",
    ]
