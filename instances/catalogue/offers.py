"""Machines that clouds rent out: GPU type and count by region."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from instances.catalogue.reading import rows


class Offer(NamedTuple):
    """One machine type in one region."""

    region: str
    gpu: str
    gpus: int
    source: str


@cache
def offers(cloud: str) -> tuple[Offer, ...]:
    """All offers of a cloud, in the order of the table."""
    return tuple(
        Offer(row["region"], row["gpu"], int(row["gpus"]), row["source"])
        for row in rows("offers")
        if row["cloud"] == cloud
    )
