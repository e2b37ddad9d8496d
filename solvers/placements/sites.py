"""Sites, each with its GPUs, fastest first, and short paths over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from instances.instance import Instance
from instances.tables import Floats, Tables

STARTS = 4  # paths begin at each of so many sites, those with most GPUs
SELECTIONS = 4  # most selections of GPU types tried, from all to the fastest alone


@dataclass(frozen=True)
class Site:
    """One region: the group of each of its GPUs, fast ones first, in listed order where equally fast."""

    region: str
    gpus: tuple[int, ...]


def seconds_per_layer(tables: Tables) -> Floats:
    """[k] forward and backward seconds of a layer, per sequence, at the largest usable micro-batch."""
    whole = tables.forward[-1, :, 0, -1] + tables.backward[-1, :, 0, -1]
    seconds: Floats = whole / (tables.layers * tables.micro_batches[-1])
    return seconds


def fast_sites(instance: Instance, tables: Tables) -> Iterator[list[Site]]:
    """The sites with all GPU types, then without the slowest, and so on to the fastest type alone.

    A type is as slow as its slowest group. With more types than selections, several are dropped at once.
    """
    slow = seconds_per_layer(tables)
    types: dict[str, float] = {}
    for k, group in enumerate(instance.groups):
        types[group.gpu] = max(types.get(group.gpu, 0.0), float(slow[k]))
    limits = sorted(set(types.values()), reverse=True)
    for limit in limits[:: -(-len(limits) // SELECTIONS)]:
        yield _sites(instance, slow, {gpu for gpu, seconds in types.items() if seconds <= limit})


def _sites(instance: Instance, slow: Floats, types: set[str]) -> list[Site]:
    """The sites with GPUs of these types; under a power cap as many as it allows, the fastest first."""
    found = []
    for region in dict.fromkeys(group.region for group in instance.groups):
        site = (instance.sites or {}).get(region)
        left = site.power_cap if site and site.power_cap is not None else np.inf
        gpus: list[int] = []
        here = [k for k, group in enumerate(instance.groups) if group.region == region and group.gpu in types]
        for k in sorted(here, key=lambda k: slow[k]):
            power = instance.groups[k].power_active
            allowed = min(instance.groups[k].count, left / power)
            gpus += [k] * int(allowed)
            left -= int(allowed) * power
        if gpus:
            found.append(Site(region, tuple(gpus)))
    return found


def short_paths(tables: Tables, sites: list[Site]) -> Iterator[list[Site]]:
    """From each of the largest sites, always on to the nearest site not yet visited.

    The distance of two sites is the time that the activations of a whole batch take, there and back, averaged over
    the links of their GPU groups.
    """
    seconds = tables.latency + tables.message_bytes * tables.batch / tables.bandwidth
    seconds[~tables.linked] = 1000 * seconds.max()  # far away, but a number: the referee decides
    members = [list(dict.fromkeys(site.gpus)) for site in sites]
    far = np.array([[seconds[np.ix_(here, there)].mean() for there in members] for here in members])
    far = far + far.T
    for start in sorted(range(len(sites)), key=lambda i: -len(sites[i].gpus))[:STARTS]:
        path, left = [start], [i for i in range(len(sites)) if i != start]
        while left:
            nearest = min(left, key=lambda i: far[path[-1], i])
            path.append(nearest)
            left.remove(nearest)
        yield [sites[i] for i in path]
