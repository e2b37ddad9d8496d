"""Sites with carbon intensity and electricity price, half of them with power caps: not all GPUs can be on."""

from __future__ import annotations

from collections.abc import Sequence

from instances.catalogue.networks import campaign
from instances.catalogue.reading import significant
from instances.catalogue.regions import CARBON_BASIS, PRICE_BASES, region, region_names
from instances.generator.assembly import Placed, assemble, notes_on
from instances.generator.family import AUTO, Family, Option, Options
from instances.generator.places import Places, Uniform, pick_types, place_evenly
from instances.generator.sizing import Size, comparable, training_options
from instances.instance import Instance, Site
from instances.seeds import stream

NETWORK = "aws-64-streams"
GPUS = ("T4", "V100-SXM2-32GB", "A10G", "A40", "L40S", "A100-SXM4-40GB")
TYPES_PER_SITE = 2
SITES = Places("sites", gpus_each=3, most=8)
LOWEST_CAP, HIGHEST_CAP = 0.45, 0.9  # of the power of all GPUs of a site
SIZE = Size(state_share=0.08, stash_share=0.1)


def _make(gpus: int, seed: int, options: Options) -> Instance:
    network, basis = campaign(NETWORK), options["price-basis"]
    uniform = stream("federation", basis, options["sites"] or AUTO, gpus, seed).random
    priced = [place for place in network.places if place in region_names() and basis in region(place).price]
    places = SITES.draw(uniform, options, gpus, priced)
    facts = [region(place) for place in places]
    # A quarter of the pool, roughly, cannot be on with the others.
    known = comparable(GPUS, gpus - max(1, gpus // 4))
    placed = place_evenly(gpus, places, lambda share: pick_types(uniform, known, share, TYPES_PER_SITE))
    # Uncapped sites are listed first: a launch in listed order must find GPUs that may be on together.
    uncapped = -(-len(places) // 2)
    sites = {
        place: _site(place, basis, placed, uniform, capped=number >= uncapped) for number, place in enumerate(places)
    }
    return assemble(
        options,
        SIZE,
        network,
        placed,
        used_sources=[each.carbon_source for each in facts] + [each.price_source[basis] for each in facts],
        sites=sites,
        notes={**notes_on(network, options), "carbon": CARBON_BASIS, "price": PRICE_BASES[basis]},
    )


def _site(place: str, basis: str, placed: Sequence[Placed], uniform: Uniform, capped: bool) -> Site:
    """Figures of a site, with a cap that leaves out some of the site's GPUs, but none of its types on its own."""
    here = [entry for entry in placed if entry.region == place]
    total = sum(entry.count * entry.gpu.power_active for entry in here)
    largest = max(entry.gpu.power_active for entry in here)
    share = LOWEST_CAP + (HIGHEST_CAP - LOWEST_CAP) * uniform() if capped else 1.0
    cap = max(largest, significant(share * total, 3)) if capped else None
    facts = region(place)
    return Site(power_cap=cap, carbon=facts.carbon, price=facts.price[basis])


FAMILY = Family(
    name="federation",
    summary="sites with power caps, carbon intensity and price, where not all GPUs can be on at once",
    options={
        **SITES.option(),
        "price-basis": Option("retail", "basis of all electricity prices", choices=tuple(PRICE_BASES)),
        **SITES.energy_option(),
        **training_options(AUTO),
    },
    make=_make,
)
