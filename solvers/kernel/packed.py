"""The problem as few, densely packed arrays: what compiled searches read in their inner loops.

Groups whose links are all alike share a *place*, so the link table of a regional cluster with a
thousand GPUs fits a processor's first cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.objective import CAP_SLACK, Goal
from instances.tables import Floats, Ints, Tables

Unsigned = NDArray[np.uint64]
"""Indices in inner loops: unsigned ones spare numba's test for negative numbers."""
TIME_WEIGHT, ENERGY_WEIGHT, TIME_CAP, ENERGY_CAP, PENALTY, GUIDE = range(6)
"""Columns of `Packed.goal`; the search changes them, for example to walk along a front."""


class Packed(NamedTuple):
    """Indices: r usable replica counts, b usable micro-batches, k groups, c places, `kind` = 2*first + last."""

    batch: int  # B
    message_bytes: float  # A
    symmetric: bool  # every link is like its reverse
    link_energy: bool  # some link takes energy
    replicas: Ints  # [r]
    sizes: Ints  # [b] micro-batch sizes
    counts: Ints  # [k] GPUs
    place: Unsigned  # [k]
    site: Ints  # [k] index into caps, -1 without a cap
    caps: Floats  # [site] W
    rates: Floats  # [k, 3] figure per busy second above idle, per idle second; W for the caps
    speed: Floats  # [b, k, 4] s per block forward and backward; s of the head forward and backward
    fits: Ints  # [r, b, k, kind] most layers
    gradient: Floats  # [kind, layers] bytes
    link: Floats  # [c, c, 2] latency; s per byte
    joules: Floats  # [c, c] figure per byte, there and back together
    goal: Floats  # [6] see the names above
    spot: Unsigned  # [n] room for the places of one stage's holders
    ports: Floats  # [n, 2] room for seconds out and in of each of them


def pack(tables: Tables, goal: Goal) -> Packed:
    """The arrays of one problem. Seconds must be linear in the layers, as SPEC 1.3 has them."""
    blocks = tables.layers
    per_block = np.stack([tables.forward[:, :, 0, 1], tables.backward[:, :, 0, 1]], axis=-1)
    whole = np.stack([tables.forward[:, :, 1, blocks], tables.backward[:, :, 1, blocks]], axis=-1)
    head = np.maximum(whole - blocks * per_block, 0.0)
    place, members = _places(tables)
    latency, inverse, energy = (
        matrix[np.ix_(members, members)] for matrix in (tables.latency, 1.0 / tables.bandwidth, tables.per_byte)
    )
    kinds = tables.fits.reshape(*tables.fits.shape[:3], 4)
    # Half the referee's slack: rounding must never let a plan through that the referee refuses.
    cap = 1 + CAP_SLACK / 2
    return Packed(
        batch=tables.batch,
        message_bytes=tables.message_bytes,
        symmetric=bool((latency == latency.T).all() and (inverse == inverse.T).all()),
        link_energy=bool(energy.any()),
        replicas=np.array(tables.replicas, dtype=np.int64),
        sizes=np.array(tables.micro_batches, dtype=np.int64),
        counts=tables.counts,
        place=place,
        site=tables.site,
        caps=tables.power_caps,
        rates=np.ascontiguousarray(np.stack([tables.active - tables.idle, tables.idle, tables.power], axis=-1)),
        speed=np.ascontiguousarray(np.concatenate([per_block, head], axis=-1)),
        fits=np.ascontiguousarray(kinds),
        gradient=np.ascontiguousarray(tables.gradient.reshape(4, -1)),
        link=np.ascontiguousarray(np.stack([latency, inverse], axis=-1)),
        joules=np.ascontiguousarray(energy + energy.T),
        goal=np.array(
            [
                goal.time_weight,
                goal.energy_weight,
                np.inf if goal.time_cap is None else goal.time_cap * cap,
                np.inf if goal.energy_cap is None else goal.energy_cap * cap,
                1.0,
                0.0,
            ]
        ),
        spot=np.zeros(tables.gpus, dtype=np.uint64),
        ports=np.zeros((tables.gpus, 2)),
    )


def _places(tables: Tables) -> tuple[Unsigned, Ints]:
    """Place of each group, and one group of each place; groups of a place have equal rows and columns."""
    known: dict[bytes, int] = {}
    matrices = [
        np.concatenate([matrix, matrix.T], axis=1) for matrix in (tables.latency, tables.bandwidth, tables.per_byte)
    ]
    rows = np.ascontiguousarray(np.concatenate(matrices, axis=1))
    place = np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.uint64)
    members = np.array([int(np.argmax(place == number)) for number in range(len(known))], dtype=np.int64)
    return place, members
