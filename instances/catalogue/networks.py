"""Measured networks, one campaign each so that a topology never mixes ways of measuring; access lines of homes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from instances.catalogue.reading import by_name, look_up, rows, significant, sources
from instances.errors import InputError

INSIDE, ANY = "(inside)", "(any)"
BYTES_PER_GBIT, BYTES_PER_MBIT = 1e9 / 8, 1e6 / 8


class Link(NamedTuple):
    """One direction: one-way latency in seconds (a_kj), bandwidth in bytes/s (b_kj)."""

    latency: float
    bandwidth: float


@dataclass(frozen=True)
class Campaign:
    """Links between places that were measured together, all in the units of an instance.

    Attributes
    ----------
    tcp_streams
        Parallel streams of a measurement, or "not stated".
    places
        Places that have links of their own; empty if any two places are linked alike.
    sources
        Where the figures come from.
    """

    name: str
    tcp_streams: str
    places: tuple[str, ...]
    sources: list[str]
    links: dict[tuple[str, str], Link]

    def link(self, sender: str, receiver: str) -> Link:
        """The link between two places, or inside one; InputError if it was never measured."""
        wanted = [(sender, receiver), (INSIDE, INSIDE) if sender == receiver else (ANY, ANY)]
        for pair in wanted:
            if pair in self.links:
                return self.links[pair]
        raise InputError(f"network {self.name}: no link from {sender} to {receiver} was measured")


class Line(NamedTuple):
    """One access product: bytes/s down and up, one-way seconds to the city's exchange, share of homes."""

    name: str
    down: float
    up: float
    access_s: float
    share: float
    source: str


@cache
def campaign(name: str) -> Campaign:
    """The campaign called `name`; InputError if the catalogue has none."""
    row = look_up(by_name("campaigns"), name, "network")
    links = [link for link in rows("links") if link["campaign"] == name]
    # A round-trip time counts half each way. DT-FM's emulator applied its figure to each direction.
    one_way = {"rtt": 0.5, "one-way": 1.0}[row["delay_kind"]]
    places = dict.fromkeys(link["sender"] for link in links if link["sender"] not in (INSIDE, ANY))
    return Campaign(
        name=name,
        tcp_streams=row["tcp_streams"],
        places=tuple(places),
        sources=sources(link["source"] for link in links),
        links={
            (link["sender"], link["receiver"]): Link(
                significant(float(link["delay_ms"]) / 1e3 * one_way),
                significant(float(link["bandwidth_gbps"]) * BYTES_PER_GBIT),
            )
            for link in links
        },
    )


@cache
def lines() -> dict[str, Line]:
    """Access lines of volunteers by name: thin and asymmetric."""
    return {
        name: Line(
            name=name,
            down=significant(float(row["down_mbps"]) * BYTES_PER_MBIT),
            up=significant(float(row["up_mbps"]) * BYTES_PER_MBIT),
            access_s=significant(float(row["access_ms"]) / 1e3),
            share=float(row["share"]),
            source=row["source"],
        )
        for name, row in by_name("lines").items()
    }
