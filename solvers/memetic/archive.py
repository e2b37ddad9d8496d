"""What a run has found: the best plan, or all nondominated plans by rising time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.objective import CAP_SLACK
from instances.tables import Floats, Ints, Tables
from solvers.core.compiled import inner
from solvers.kernel.evaluation import cap_excess, goal_value, measure, violation
from solvers.memetic.population import Small


class Record(NamedTuple):
    """Rows of `point` are sorted by time; plan i lies in row slot[i] of the other arrays."""

    held: Ints  # [3] plans held, changes so far, whether a front is kept
    best: Floats  # [1] least value; unused for a front
    point: Floats  # [a, 2] T, E
    slot: Ints  # [a]
    grids: Ints  # [a, 3] position of R, position of mb, S
    layers: Small  # [a, L]
    groups: Small  # [a, n]


def new_record(tables: Tables, front: bool, capacity: int) -> Record:
    """An empty record with room for one plan, or for `capacity` plans of a front."""
    rows = capacity if front else 1
    return Record(
        held=np.array([0, 0, int(front)], dtype=np.int64),
        best=np.array([np.inf]),
        point=np.zeros((rows, 2)),
        slot=np.arange(rows, dtype=np.int64),
        grids=np.zeros((rows, 3), dtype=np.int64),
        layers=np.zeros((rows, tables.layers), dtype=np.int16),
        groups=np.zeros((rows, tables.gpus), dtype=np.int16),
    )


@inner
def first_later(record, time):  # type: ignore[no-untyped-def]
    """Number of points that are not slower than `time`, 1e-9 of slack included."""
    low, high = 0, record.held[0]
    limit = time * (1.0 + CAP_SLACK)
    while low < high:
        middle = (low + high) // 2
        if record.point[middle, 0] <= limit:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def wanted(f, record, time, energy):  # type: ignore[no-untyped-def]
    """Whether a feasible plan of this time and energy would be an improvement."""
    if record.held[2] == 0:
        return goal_value(f, time, energy) < record.best[0] and cap_excess(f, time, energy) == 0.0
    before = first_later(record, time)
    return before == 0 or record.point[before - 1, 1] > energy * (1.0 + CAP_SLACK)


@inner
def offer(p, record, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """Keep the plan if it is feasible and an improvement, costed from scratch; whether it was kept."""
    over, power = violation(p.o, p.q, p.f, r_index, b, stages, layers, group)
    if over > 0 or power > 0.0:
        return False
    time, energy = measure(p.o, p.q, p.f, r_index, b, stages, layers, group)
    if not wanted(p.f, record, time, energy):
        return False
    position = 0
    if record.held[2] == 0:
        record.best[0] = goal_value(p.f, time, energy)
        record.held[0] = 1
    else:
        position = make_room(record, time, energy)
        if position < 0:
            return False
    row = record.slot[position]
    record.held[1] += 1
    record.point[position, 0] = time
    record.point[position, 1] = energy
    record.grids[row, 0], record.grids[row, 1], record.grids[row, 2] = r_index, b, stages
    for s in range(stages):
        record.layers[row, s] = layers[s]
    for slot in range(p.replicas[r_index] * stages):
        record.groups[row, slot] = group[slot]
    return True


@inner
def make_room(record, time, energy):  # type: ignore[no-untyped-def]
    """Remove what the new point dominates and open its position; -1 if the record is full."""
    slack = 1.0 + CAP_SLACK
    count = record.held[0]
    kept = 0
    for i in range(count):
        dominated = time <= record.point[i, 0] * slack and energy <= record.point[i, 1] * slack
        if not dominated:
            if kept < i:
                row = record.slot[kept]
                record.slot[kept] = record.slot[i]
                record.slot[i] = row
                record.point[kept] = record.point[i]
            kept += 1
    if kept == len(record.slot):
        return -1
    position = kept
    row = record.slot[kept]
    while position > 0 and record.point[position - 1, 0] > time:
        record.point[position] = record.point[position - 1]
        record.slot[position] = record.slot[position - 1]
        position -= 1
    record.slot[position] = row
    record.held[0] = kept + 1
    return position
