"""Every placement of the site-by-site rule, each once: the usual launch first.

The GPUs in listed order come before all else, with layers shared equally as the usual launch does (docs/model.md,
Baselines) and by speed: nobody gives up a launch that works for a worse plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from instances.instance import Instance
from instances.tables import Ints, Tables
from solvers.placements.layouts import pipelines_inside_sites, stages_across_sites, stages_inside_sites
from solvers.placements.sites import pools, short_paths
from solvers.placements.uniform import listed_gpus


class Placement(NamedTuple):
    """Groups of R pipelines of C stages; with `every_depth`, its first stages alone are placements as well."""

    groups: Ints  # [R, C]
    equal: bool  # share the layers equally, in this direction, as the usual launch does
    every_depth: bool


def placements(instance: Instance, tables: Tables) -> Iterator[Placement]:
    """All placements, those that come up again left out."""
    seen: set[tuple[int, bool, bool, int]] = set()
    for placement in _with_repeats(instance, tables):
        groups, equal, every_depth = placement
        key = groups.shape[1], equal, every_depth, hash(groups.tobytes())
        if key not in seen:
            seen.add(key)
            yield placement


def _with_repeats(instance: Instance, tables: Tables) -> Iterator[Placement]:
    if not tables.micro_batches:
        return
    listed = [gpu.group for gpu in listed_gpus(instance)]
    for equal in (True, False):
        for groups in stages_across_sites(tables, listed):
            yield Placement(groups, equal, True)
    for sites in pools(instance, tables):
        for path in short_paths(tables, sites):
            in_a_row = [group for site in path for group in site.gpus]
            for groups in stages_inside_sites(tables, path):
                yield Placement(groups, False, True)
            for groups in pipelines_inside_sites(tables, path):
                yield Placement(groups, False, False)
            for groups in stages_across_sites(tables, in_a_row):
                yield Placement(groups, False, True)
