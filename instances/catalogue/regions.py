"""Regions: carbon intensity on one basis, electricity prices on two stated bases."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from instances.catalogue.reading import look_up, rows

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


def region(name: str) -> RegionFacts:
    """The region called `name`; InputError if the catalogue has none."""
    return look_up(regions(), name, "region")


@cache
def regions() -> dict[str, RegionFacts]:
    """All regions by name."""
    return {row["name"]: _read(row) for row in rows("regions")}


def _read(row: dict[str, str]) -> RegionFacts:
    priced = [basis for basis in PRICE_BASES if row[f"{basis}_usd_per_kwh"]]
    return RegionFacts(
        name=row["name"],
        carbon=float(row["carbon_gco2e_per_kwh"]),
        price={basis: float(row[f"{basis}_usd_per_kwh"]) for basis in priced},
        carbon_source=row["carbon_source"],
        price_source={basis: row[f"{basis}_source"] for basis in priced},
    )
