"""A few universities with good links and several generations of GPUs inside each."""

from __future__ import annotations

from instances.catalogue import campaign, gpu_type
from instances.generator.assembly import Placed, assemble, groups_of, network_of
from instances.generator.drawing import Uniform, pick, pick_some, spread
from instances.generator.family import AUTO, Family, Option, Options
from instances.generator.regional import WAN_JOULES_PER_BYTE, link_in, merged, notes_on, types_for
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

SITES = {
    "aws-64-streams": ("Ireland", "London", "Frankfurt", "Milan", "Stockholm"),
    "fluidstack": ("US East", "US Mid", "US West"),
}
"""Places that stand in for universities: the rates between near regions are those of a research network."""

GENERATIONS = (
    ("P100-PCIe-16GB",),
    ("V100-SXM2-16GB", "V100-SXM2-32GB", "T4"),
    ("Titan RTX", "RTX 2080 Ti"),
    ("RTX 3090", "RTX A6000", "A40"),
    ("A100-PCIe-80GB", "A100-SXM4-40GB"),
)
FEWEST_SITES, GPUS_PER_SITE = 2, 8
GENERATIONS_PER_SITE = 3
STATE_SHARE, STASH_SHARE = 0.1, 0.15


def _make(gpus: int, seed: int, options: Options) -> Instance:
    network = campaign(options.text("network"))
    uniform = stream("campus", network.name, options.integer("sites") or AUTO, gpus, seed).random
    placed = merged(_owned(gpus, options, network.name, uniform))
    pool_bytes = sum(entry.count * entry.gpu.memory for entry in placed)
    model = chosen_model(options, pool_bytes, STATE_SHARE)
    groups = groups_of(placed, block_flops(options, model))
    aim = filling_batch(options, model, pool_bytes, STASH_SHARE)
    return assemble(
        model,
        training_for(options, model, groups, aim),
        groups,
        network_of(placed, link_in(network), options.number("link-energy")),
        [*network.sources, *(source for entry in placed for source in entry.gpu.sources)],
        notes=notes_on(network, options.number("link-energy")),
    )


def _owned(gpus: int, options: Options, network: str, uniform: Uniform) -> list[Placed]:
    """Site by site, one GPU type of each of up to `GENERATIONS_PER_SITE` generations, as evenly as possible."""
    count = options.integer("sites") or max(FEWEST_SITES, gpus // GPUS_PER_SITE)
    sites = pick_some(uniform, SITES[network], min(count, gpus, len(SITES[network])))
    known = comparable([name for generation in GENERATIONS for name in generation], gpus)
    usable = [[name for name in generation if name in known] for generation in GENERATIONS]
    generations = [generation for generation in usable if generation]
    placed = []
    for site, share in spread(gpus, sites).items():
        drawn = pick_some(uniform, generations, min(types_for(share, GENERATIONS_PER_SITE), len(generations)))
        types = [pick(uniform, generation) for generation in drawn]
        placed += [Placed(site, site, gpu_type(name), size) for name, size in spread(share, types).items()]
    return placed


FAMILY = Family(
    name="campus",
    summary="few sites with good links, several GPU generations inside each",
    options={
        "network": Option("aws-64-streams", "measurement campaign of the links", choices=tuple(SITES)),
        "sites": Option(AUTO, "number of sites; auto: one for every eight GPUs, two or more", kind="integer"),
        "link-energy": Option(f"{WAN_JOULES_PER_BYTE:g}", "J per byte between sites", kind="number"),
        **training_options(AUTO),
    },
    make=_make,
)
