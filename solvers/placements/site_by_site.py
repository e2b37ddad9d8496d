"""All site-by-site placements, each once, after the usual launch.

The GPUs in listed order come first, with equal layers as in the usual launch (docs/model.md, Baselines) and with
layers balanced by speed: nobody would replace a launch that works by a worse plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from instances.instance import Instance
from instances.tables import Ints, Tables
from solvers.placements.layouts import pipelines_inside_sites, stages_across_sites, stages_inside_sites
from solvers.placements.sites import fast_sites, short_paths
from solvers.placements.uniform import listed_gpus


class Placement(NamedTuple):
    """Groups of R pipelines of C stages; with `every_depth`, its first S stages alone are placements as well."""

    groups: Ints  # [R, C]
    equal: bool  # equal layers, in this direction only, as in the usual launch
    every_depth: bool


def placements(
    instance: Instance, tables: Tables, listed_only: bool = False, used: int | None = None
) -> Iterator[Placement]:
    """All placements without repetitions; `listed_only`: in listed order; `used`: of so many GPUs exactly."""
    seen: set[tuple[int, bool, bool, int]] = set()
    found = _in_listed_order(instance, tables)
    if not listed_only:
        found = chain(found, _site_by_site(instance, tables))
    for placement in found if used is None else _of_exactly(used, found):
        groups, equal, every_depth = placement
        key = groups.shape[1], equal, every_depth, hash(groups.tobytes())
        if key not in seen:
            seen.add(key)
            yield placement


def _of_exactly(used: int, found: Iterator[Placement]) -> Iterator[Placement]:
    for groups, equal, every_depth in found:
        replicas, width = groups.shape
        stages, rest = divmod(used, replicas)
        if not rest and (stages == width or (every_depth and stages < width)):
            yield Placement(np.ascontiguousarray(groups[:, :stages]), equal, False)


def _in_listed_order(instance: Instance, tables: Tables) -> Iterator[Placement]:
    if not tables.micro_batches:
        return
    listed = [gpu.group for gpu in listed_gpus(instance)]
    for equal in (True, False):
        for groups in stages_across_sites(tables, listed):
            yield Placement(groups, equal, True)


def _site_by_site(instance: Instance, tables: Tables) -> Iterator[Placement]:
    if not tables.micro_batches:
        return
    for sites in fast_sites(instance, tables):
        for path in short_paths(tables, sites):
            consecutive = [group for site in path for group in site.gpus]
            for groups in stages_inside_sites(tables, path):
                yield Placement(groups, False, True)
            for groups in pipelines_inside_sites(tables, path):
                yield Placement(groups, False, False)
            for groups in stages_across_sites(tables, consecutive):
                yield Placement(groups, False, True)
