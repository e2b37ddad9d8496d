"""The best plan found so far, or all nondominated plans by rising time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.objective import CAP_SLACK
from instances.tables import Floats, Ints, Tables
from solvers.core.compiled import inner
from solvers.kernel.evaluation import cap_excess, goal_value, measure, violation
from solvers.memetic.copying import copy
from solvers.memetic.population import Small


class Archive(NamedTuple):
    """Rows of `point` are sorted by time; plan i lies in row slot[i] of the other arrays."""

    held: Ints  # [3] number of plans, changes so far, whether it is a front
    best: Floats  # [1] least value; unused for a front
    point: Floats  # [a, 2] T, E
    slot: Ints  # [a]
    grids: Ints  # [a, 3] position of R, position of mb, S
    layers: Small  # [a, L]
    groups: Small  # [a, n]


def new_archive(tables: Tables, front: bool, capacity: int) -> Archive:
    """An empty archive that holds one plan, or `capacity` plans of a front."""
    rows = capacity if front else 1
    return Archive(
        held=np.array([0, 0, int(front)], dtype=np.int64),
        best=np.array([np.inf]),
        point=np.zeros((rows, 2)),
        slot=np.arange(rows, dtype=np.int64),
        grids=np.zeros((rows, 3), dtype=np.int64),
        layers=np.zeros((rows, tables.layers), dtype=np.int16),
        groups=np.zeros((rows, tables.gpus), dtype=np.int16),
    )


@inner
def first_later(archive, time):  # type: ignore[no-untyped-def]
    """Number of points no slower than `time`, within CAP_SLACK."""
    low, high = 0, archive.held[0]
    limit = time * (1.0 + CAP_SLACK)
    while low < high:
        middle = (low + high) // 2
        if archive.point[middle, 0] <= limit:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def wanted(f, archive, time, energy):  # type: ignore[no-untyped-def]
    """Whether a feasible plan of this time and energy would be an improvement."""
    if archive.held[2] == 0:
        return goal_value(f, time, energy) < archive.best[0] and cap_excess(f, time, energy) == 0.0
    before = first_later(archive, time)
    return before == 0 or archive.point[before - 1, 1] > energy * (1.0 + CAP_SLACK)


@inner
def offer(p, archive, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """Evaluate the plan from scratch and keep it if it is feasible and an improvement; whether it was kept."""
    over, power = violation(p.o, p.q, p.f, r_index, b, stages, layers, group)
    if over > 0 or power > 0.0:
        return False
    time, energy = measure(p.o, p.q, p.f, r_index, b, stages, layers, group)
    if not wanted(p.f, archive, time, energy):
        return False
    position = 0
    if archive.held[2] == 0:
        archive.best[0] = goal_value(p.f, time, energy)
        archive.held[0] = 1
    else:
        position = open_position(archive, time, energy)
        if position < 0:
            return False
    row = archive.slot[position]
    archive.held[1] += 1
    archive.point[position, 0] = time
    archive.point[position, 1] = energy
    archive.grids[row, 0], archive.grids[row, 1], archive.grids[row, 2] = r_index, b, stages
    for s in range(stages):
        archive.layers[row, s] = layers[s]
    for slot in range(p.replicas[r_index] * stages):
        archive.groups[row, slot] = group[slot]
    return True


@inner
def open_position(archive, time, energy):  # type: ignore[no-untyped-def]
    """Remove points that the new one dominates and make room for it; its position, -1 if the archive is full."""
    slack = 1.0 + CAP_SLACK
    count = archive.held[0]
    kept = 0
    for i in range(count):
        dominated = time <= archive.point[i, 0] * slack and energy <= archive.point[i, 1] * slack
        if not dominated:
            if kept < i:
                row = archive.slot[kept]
                archive.slot[kept] = archive.slot[i]
                archive.slot[i] = row
                copy(archive.point[i], 0, archive.point[kept], 0, 2)
            kept += 1
    if kept == len(archive.slot):
        return -1
    position = kept
    row = archive.slot[kept]
    while position > 0 and archive.point[position - 1, 0] > time:
        copy(archive.point[position - 1], 0, archive.point[position], 0, 2)
        archive.slot[position] = archive.slot[position - 1]
        position -= 1
    archive.slot[position] = row
    archive.held[0] = kept + 1
    return position
