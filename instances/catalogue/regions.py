"""Regions: carbon intensity on one basis, electricity prices on two stated bases, machines that clouds rent out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from instances.catalogue.reading import by_name, look_up, rows

CARBON_BASIS = "Electricity Maps 2023, annual consumption average, life cycle"
PRICE_BASES = {
    "retail": "industrial retail price, the year of each source",
    "wholesale": "mean wholesale price 2024",
}


@dataclass(frozen=True)
class RegionFacts:
    """One region: gCO2e/kWh, and USD/kWh by basis; a basis without a figure here is absent."""

    name: str
    carbon: float
    price: dict[str, float]
    carbon_source: str
    price_source: dict[str, str]


class Offer(NamedTuple):
    """One machine type in one region."""

    region: str
    gpu: str
    gpus: int
    source: str


def region(name: str) -> RegionFacts:
    """The region called `name`; InputError if the catalogue has none."""
    row = look_up(by_name("regions"), name, "region")
    priced = [basis for basis in PRICE_BASES if row[f"{basis}_usd_per_kwh"]]
    return RegionFacts(
        name=name,
        carbon=float(row["carbon_gco2e_per_kwh"]),
        price={basis: float(row[f"{basis}_usd_per_kwh"]) for basis in priced},
        carbon_source=row["carbon_source"],
        price_source={basis: row[f"{basis}_source"] for basis in priced},
    )


def region_names() -> tuple[str, ...]:
    """All regions, in the order of the table."""
    return tuple(by_name("regions"))


@cache
def offers(cloud: str) -> tuple[Offer, ...]:
    """All offers of a cloud, in the order of the table."""
    found = (row for row in rows("offers") if row["cloud"] == cloud)
    return tuple(Offer(row["region"], row["gpu"], int(row["gpus"]), row["source"]) for row in found)
