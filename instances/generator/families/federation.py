"""Sites with carbon intensity and electricity price, half of them with power caps: not all GPUs can be on."""

from __future__ import annotations

from collections.abc import Sequence

from instances.catalogue import campaign, gpu_type, region
from instances.catalogue.reading import significant
from instances.catalogue.regions import CARBON_BASIS, PRICE_BASES, regions
from instances.generator.assembly import Placed, assemble, groups_of, network_of
from instances.generator.drawing import Uniform, between, pick_some, spread
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
from instances.instance import Instance, Site
from instances.seeds import stream

NETWORK = "aws-64-streams"
GPUS = ("T4", "V100-SXM2-32GB", "A10G", "A40", "L40S", "A100-SXM4-40GB")
FEWEST_SITES, MOST_SITES, GPUS_PER_SITE = 2, 8, 3
TYPES_PER_SITE = 2
LOWEST_CAP, HIGHEST_CAP = 0.45, 0.9  # of the power of all GPUs of a site
STATE_SHARE, STASH_SHARE = 0.08, 0.1


def _make(gpus: int, seed: int, options: Options) -> Instance:
    network, basis = campaign(NETWORK), options.text("price-basis")
    uniform = stream("federation", basis, options.integer("sites") or AUTO, gpus, seed).random
    priced = [place for place in network.places if _has_figures(place, basis)]
    count = options.integer("sites") or min(MOST_SITES, max(FEWEST_SITES, gpus // GPUS_PER_SITE))
    places = pick_some(uniform, priced, min(count, gpus, len(priced)))
    placed = merged(_owned(gpus, places, uniform))
    # Uncapped sites are listed first: a launch in listed order must find GPUs that may be on together.
    uncapped = -(-len(places) // 2)
    sites = {
        place: _site(place, basis, placed, uniform, capped=number >= uncapped) for number, place in enumerate(places)
    }
    pool_bytes = sum(entry.count * entry.gpu.memory for entry in placed)
    model = chosen_model(options, pool_bytes, STATE_SHARE)
    groups = groups_of(placed, block_flops(options, model))
    aim = filling_batch(options, model, pool_bytes, STASH_SHARE)
    return assemble(
        model,
        training_for(options, model, groups, aim, sites),
        groups,
        network_of(placed, link_in(network), options.number("link-energy")),
        [
            *network.sources,
            *(region(place).carbon_source for place in places),
            *(region(place).price_source[basis] for place in places),
            *(source for entry in placed for source in entry.gpu.sources),
        ],
        sites=sites,
        notes={
            **notes_on(network, options.number("link-energy")),
            "carbon": CARBON_BASIS,
            "price": PRICE_BASES[basis],
        },
    )


def _owned(gpus: int, places: Sequence[str], uniform: Uniform) -> list[Placed]:
    # A quarter of the pool, roughly, cannot be on with the others.
    known = comparable(GPUS, gpus - max(1, gpus // 4))
    placed = []
    for place, share in spread(gpus, places).items():
        types = pick_some(uniform, known, min(types_for(share, TYPES_PER_SITE), len(known)))
        placed += [Placed(place, place, gpu_type(name), size) for name, size in spread(share, types).items()]
    return placed


def _site(place: str, basis: str, placed: Sequence[Placed], uniform: Uniform, capped: bool) -> Site:
    """Figures of a site, with a cap that leaves out some of the site's GPUs, but none of its types on its own."""
    here = [entry for entry in placed if entry.region == place]
    total = sum(entry.count * entry.gpu.power_active for entry in here)
    largest = max(entry.gpu.power_active for entry in here)
    cap = max(largest, significant(between(uniform, LOWEST_CAP, HIGHEST_CAP) * total, 3)) if capped else None
    facts = region(place)
    return Site(power_cap=cap, carbon=facts.carbon, price=facts.price[basis])


def _has_figures(place: str, basis: str) -> bool:
    return place in regions() and basis in region(place).price


FAMILY = Family(
    name="federation",
    summary="sites with power caps, carbon intensity and price, where not all GPUs can be on at once",
    options={
        "sites": Option(AUTO, "number of sites; auto: one for every three GPUs, two to eight", kind="integer"),
        "price-basis": Option("retail", "basis of all electricity prices", choices=tuple(PRICE_BASES)),
        "link-energy": Option(f"{WAN_JOULES_PER_BYTE:g}", "J per byte between sites", kind="number"),
        **training_options(AUTO),
    },
    make=_make,
)
