"""Machines that clouds rent out: GPU type and count by region."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from instances.catalogue.reading import rows


@dataclass(frozen=True)
class Offer:
    """One machine type in one region."""

    cloud: str
    region: str
    machine: str
    gpu: str
    gpus: int
    source: str


def offers(cloud: str) -> tuple[Offer, ...]:
    """All offers of a cloud, in the order of the table."""
    return tuple(offer for offer in _offers() if offer.cloud == cloud)


@cache
def _offers() -> tuple[Offer, ...]:
    return tuple(
        Offer(row["cloud"], row["region"], row["machine"], row["gpu"], int(row["gpus"]), row["source"])
        for row in rows("offers")
    )
