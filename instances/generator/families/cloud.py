"""Rented machines in several regions of one cloud, over links that were measured together.

GPU types and machine sizes are those that the cloud offers in a region; which of them, and where, is drawn.
"""

from __future__ import annotations

from instances.catalogue.gpus import gpu_type
from instances.catalogue.networks import Campaign, campaign
from instances.catalogue.regions import Offer, offers
from instances.generator.assembly import Placed, assemble
from instances.generator.family import AUTO, Family, Option, Options
from instances.generator.places import Places, Uniform, pick, spread
from instances.generator.sizing import Size, comparable, training_options
from instances.instance import Instance
from instances.seeds import stream

CLOUDS = {"aws-64-streams": "aws", "aws-dtfm": "aws", "gcp-1-stream": "gcp"}
TYPES_PER_REGION = 2
REGIONS = Places("regions", gpus_each=3, most=8)
SIZE = Size(state_share=0.1, stash_share=0.15)


def _make(gpus: int, seed: int, options: Options) -> Instance:
    network = campaign(options["network"])
    uniform = stream("cloud", network.name, options["regions"] or AUTO, gpus, seed).random
    rented = _rented(gpus, options, network, uniform)
    return assemble(options, SIZE, network, rented, used_sources=[offers(CLOUDS[network.name])[0].source])


def _rented(gpus: int, options: Options, network: Campaign, uniform: Uniform) -> list[Placed]:
    """Machines region by region: up to `TYPES_PER_REGION` GPU types in each, machines as large as still fit."""
    by_region: dict[str, list[Offer]] = {place: [] for place in network.places}
    found = offers(CLOUDS[network.name])
    known = comparable(list(dict.fromkeys(offer.gpu for offer in found)), gpus)
    for offer in found:
        if offer.region in by_region and offer.gpu in known:
            by_region[offer.region].append(offer)
    # Every region must be able to fill any number of GPUs.
    usable = [region for region, found in by_region.items() if any(offer.gpus == 1 for offer in found)]
    regions = REGIONS.draw(uniform, options, gpus, usable)
    placed = []
    for region, share in spread(gpus, regions).items():
        single = [offer.gpu for offer in by_region[region] if offer.gpus == 1]
        larger = [offer.gpu for offer in by_region[region] if 1 < offer.gpus <= share]
        types = [pick(uniform, single)]
        types += [pick(uniform, single + larger) for _ in range(TYPES_PER_REGION - 1)]
        left, machine = share, 0
        while left:
            wanted = pick(uniform, types)
            fitting = [o for o in by_region[region] if o.gpu == wanted and o.gpus <= left]
            offer = pick(uniform, fitting or [o for o in by_region[region] if o.gpu == types[0] and o.gpus == 1])
            place = region if offer.gpus == 1 else f"{region} machine {machine}"
            machine += offer.gpus > 1
            placed.append(Placed(place, region, gpu_type(offer.gpu), offer.gpus))
            left -= offer.gpus
    return placed


FAMILY = Family(
    name="cloud",
    summary="rented machines in several regions of one cloud, over measured links",
    options={
        "network": Option("aws-dtfm", "measurement campaign of the links", choices=tuple(CLOUDS)),
        **REGIONS.option(),
        **REGIONS.energy_option(),
        **training_options(AUTO),
    },
    make=_make,
)
