"""Access lines of volunteers: thin and asymmetric."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from instances.catalogue.reading import rows, significant

BYTES_PER_MBIT = 1e6 / 8


class Line(NamedTuple):
    """One product: bytes/s down and up, one-way seconds to the city's exchange, share of homes."""

    name: str
    down: float
    up: float
    access_s: float
    share: float
    source: str


@cache
def lines() -> dict[str, Line]:
    """All lines by name."""
    return {
        row["name"]: Line(
            name=row["name"],
            down=significant(float(row["down_mbps"]) * BYTES_PER_MBIT),
            up=significant(float(row["up_mbps"]) * BYTES_PER_MBIT),
            access_s=significant(float(row["access_ms"]) / 1e3),
            share=float(row["share"]),
            source=row["source"],
        )
        for row in rows("lines")
    }
