"""Three ways to lay out pipelines along a path over the sites; each yields R x S arrays of groups.

A layout by stages is made once, as deep as it goes: its first columns are the layout with fewer stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from instances.tables import Ints, Tables
from solvers.placements.sites import Site


def stages_inside_sites(tables: Tables, path: Sequence[Site]) -> Iterator[Ints]:
    """The R holders of a stage share a site: a site of m GPUs serves m // R stages, then the next site follows."""
    for replicas in tables.replicas:
        blocks: list[Sequence[int]] = []
        for site in path:
            starts = range(0, len(site.gpus) - replicas + 1, replicas)
            blocks += [site.gpus[start : start + replicas] for start in starts]
        yield from _columns(tables, blocks)


def stages_across_sites(tables: Tables, gpus: Sequence[int]) -> Iterator[Ints]:
    """Each R consecutive GPUs form a stage, across the borders of sites: for sites smaller than R."""
    for replicas in tables.replicas:
        starts = range(0, len(gpus) - replicas + 1, replicas)
        yield from _columns(tables, [gpus[start : start + replicas] for start in starts[: tables.layers]])


def pipelines_inside_sites(tables: Tables, path: Sequence[Site]) -> Iterator[Ints]:
    """Every pipeline stays inside a site: one of m GPUs runs m // S pipelines, its fast GPUs in the first stages."""
    sites = [np.array(site.gpus, dtype=np.int64) for site in path]
    for stages in range(1, min(tables.layers, max(map(len, sites))) + 1):
        most = sum(len(gpus) // stages for gpus in sites)
        for replicas in tables.replicas:
            if replicas > most:
                break
            rows: list[Ints] = []
            left = replicas
            for gpus in sites:
                count = min(len(gpus) // stages, left)
                if count:
                    rows.append(gpus[: count * stages].reshape(stages, count).T)
                    left -= count
            yield np.ascontiguousarray(np.concatenate(rows))


def _columns(tables: Tables, blocks: Sequence[Sequence[int]]) -> Iterator[Ints]:
    """The blocks as stages, at most one for each layer."""
    if blocks:
        yield np.ascontiguousarray(np.array(blocks[: tables.layers], dtype=np.int64).T)
