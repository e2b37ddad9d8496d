"""Three ways to lay pipelines out along a path over the sites; each gives R x S arrays of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from instances.tables import Ints, Tables
from solvers.contiguous.sites import Site


def stages_inside_sites(tables: Tables, path: Sequence[Site]) -> Iterator[Ints]:
    """Every stage's R holders share a site: a site of m GPUs serves m // R stages, then comes the next site."""
    for replicas in tables.replicas:
        blocks: list[Sequence[int]] = []
        for site in path:
            starts = range(0, len(site.gpus) - replicas + 1, replicas)
            blocks += [site.gpus[start : start + replicas] for start in starts]
        yield from _cut(tables, blocks)


def stages_across_sites(tables: Tables, gpus: Sequence[int]) -> Iterator[Ints]:
    """Each R GPUs in a row form a stage, wherever the sites' borders lie: for sites smaller than R."""
    for replicas in tables.replicas:
        starts = range(0, len(gpus) - replicas + 1, replicas)
        yield from _cut(tables, [gpus[start : start + replicas] for start in starts])


def pipelines_inside_sites(tables: Tables, path: Sequence[Site]) -> Iterator[Ints]:
    """Every pipeline stays in a site: one of m GPUs runs m // S pipelines, its fast GPUs serving the first stages."""
    longest = min(tables.layers, max(len(site.gpus) for site in path))
    for stages in range(1, longest + 1):
        most = sum(len(site.gpus) // stages for site in path)
        for replicas in tables.replicas:
            if replicas > most:
                break
            rows: list[Ints] = []
            for site in path:
                count = min(len(site.gpus) // stages, replicas - sum(map(len, rows)))
                rows.append(np.array(site.gpus[: count * stages], dtype=np.int64).reshape(stages, count).T)
            yield np.ascontiguousarray(np.concatenate(rows))


def _cut(tables: Tables, blocks: Sequence[Sequence[int]]) -> Iterator[Ints]:
    """Pipelines of every depth over the first blocks, each block a stage."""
    if not blocks:
        return
    columns = np.array(blocks[: tables.layers], dtype=np.int64).T
    for stages in range(1, columns.shape[1] + 1):
        yield np.ascontiguousarray(columns[:, :stages])
