"""Figures that look as if they were given in another unit than the file's: warnings, never errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from instances.instance import Instance


class Slip(NamedTuple):
    """Figures from `low` up to `high` are most likely of `unit`, which is `factor` units of the file."""

    low: float
    high: float
    unit: str
    factor: float


# What no hardware of today has, but has in the other unit. Toy problems with all figures small pass.
SLIPS: dict[str, tuple[str, tuple[Slip, ...]]] = {
    "flops": ("FLOP/s", (Slip(1, 5e3, "TFLOP/s", 1e12), Slip(5e3, 5e5, "GFLOP/s", 1e9))),
    "memory": ("bytes", (Slip(4, 2e3, "GB", 1e9), Slip(4e3, 1.6e5, "MiB", 2**20))),
    "power_active": ("W", (Slip(0.01, 1.5, "kW", 1e3), Slip(2e4, 2e6, "mW", 1e-3))),
    "latency": ("s", (Slip(2, 1e3, "ms", 1e-3), Slip(1e3, 1e7, "microseconds", 1e-6))),
    "bandwidth": ("bytes/s", (Slip(0.01, 2e3, "Gbit/s", 1.25e8),)),
    "energy_per_byte": ("J/byte", (Slip(1, 1e6, "J per GB", 1e-9),)),
    "carbon": ("gCO2e/kWh", (Slip(0.005, 1.5, "kgCO2e/kWh", 1e3),)),
    "price": ("USD/kWh", (Slip(5, 1e3, "USD/MWh", 1e-3),)),
}


def unlikely_units(instance: Instance) -> list[str]:
    """A sentence for every field whose figures look like those of another unit: where, what, and which unit."""
    found: dict[tuple[str, Slip], list[tuple[str, float]]] = {}
    for name, where, value in _figures(instance):
        for slip in SLIPS[name][1]:
            if slip.low <= value < slip.high:
                found.setdefault((name, slip), []).append((where, value))
    said = [
        f"{_first(places)} {SLIPS[name][0]} is unlikely; if {slip.unit} are meant, write {places[0][1] * slip.factor:g}"
        for (name, slip), places in found.items()
    ]
    return [*said, *_no_links(instance), *_low_caps(instance)]


def _first(places: list[tuple[str, float]]) -> str:
    (where, value), more = places[0], len(places) - 1
    return f"{where}{f' (and {more} more)' if more else ''}: {value:g}"


def _figures(instance: Instance) -> Iterator[tuple[str, str, float]]:
    """Name, place and value of every figure with a unit that is easily mistaken."""
    for number, group in enumerate(instance.groups):
        for name in ("flops", "memory", "power_active"):
            yield name, f"groups[{number}].{name}", getattr(group, name)
    for name in ("latency", "bandwidth", "energy_per_byte"):
        for k, row in enumerate(getattr(instance.network, name) or ()):
            for j, value in enumerate(row):
                if value is not None:
                    yield name, f"network.{name}[{k}][{j}]", value
    for region, site in (instance.sites or {}).items():
        for name in ("carbon", "price"):
            if getattr(site, name) is not None:
                yield name, f"sites.{region}.{name}", getattr(site, name)


def _no_links(instance: Instance) -> Iterator[str]:
    """Bandwidths that stand for what a file can say itself."""
    slow = [
        (f"network.bandwidth[{k}][{j}]", value)
        for k, row in enumerate(instance.network.bandwidth)
        for j, value in enumerate(row)
        if value is not None and value < SLIPS["bandwidth"][1][0].low
    ]
    if slow:
        yield f"{_first(slow)} bytes/s is unlikely; if there is no link, write null"


def _low_caps(instance: Instance) -> Iterator[str]:
    for region, site in (instance.sites or {}).items():
        least = min(group.power_active for group in instance.groups if group.region == region)
        if site.power_cap is not None and site.power_cap < least:
            yield (
                f"sites.{region}.power_cap: {site.power_cap:g} W allows no GPU, the least draws {least:g} W; "
                f"if kW are meant, write {site.power_cap * 1e3:g}"
            )
