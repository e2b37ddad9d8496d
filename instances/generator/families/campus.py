"""A few universities with good links and several generations of GPUs inside each."""

from __future__ import annotations

from collections.abc import Sequence

from instances.catalogue.networks import campaign
from instances.generator.assembly import assemble
from instances.generator.family import AUTO, Family, Option, Options
from instances.generator.places import Places, pick, pick_types, place_evenly
from instances.generator.sizing import Size, comparable, training_options
from instances.instance import Instance
from instances.seeds import stream

KNOWN_SITES = {
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
GENERATIONS_PER_SITE = 3
SITES = Places("sites", gpus_each=8)
SIZE = Size(state_share=0.1, stash_share=0.15)


def _make(gpus: int, seed: int, options: Options) -> Instance:
    network = campaign(options["network"])
    uniform = stream("campus", network.name, options["sites"] or AUTO, gpus, seed).random
    sites = SITES.draw(uniform, options, gpus, KNOWN_SITES[network.name])
    known = comparable([name for generation in GENERATIONS for name in generation], gpus)
    usable = [[name for name in generation if name in known] for generation in GENERATIONS]
    generations = [generation for generation in usable if generation]

    def types_of(share: int) -> Sequence[str]:
        """One of each generation that the site has."""
        return [pick(uniform, types) for types in pick_types(uniform, generations, share, GENERATIONS_PER_SITE)]

    return assemble(options, SIZE, network, place_evenly(gpus, sites, types_of))


FAMILY = Family(
    name="campus",
    summary="few sites with good links, several GPU generations inside each",
    options={
        "network": Option("aws-64-streams", "measurement campaign of the links", choices=tuple(KNOWN_SITES)),
        **SITES.option(),
        **SITES.energy_option(),
        **training_options(AUTO),
    },
    make=_make,
)
