"""The problem and the plan under search in two flat blocks of memory, one of whole numbers, one of floats.

Compiled code that takes dozens of arrays spends its time on passing and counting references to them, so
inner loops take only (o, q, f): offsets, whole numbers, floats. Everything else reads the same memory
through named views. Groups whose links are all alike share a network *endpoint*, so the link table of a regional
cluster with a thousand GPUs fits a processor's first cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from instances.objective import CAP_SLACK, Goal
from instances.tables import Floats, Ints, Tables

REPLICAS, STAGES, R_INDEX, B_INDEX, COUNT, SLOTS, FITS = range(7)
"""Entries of q for the current plan: R, S, positions of R and mb in the tables, micro-batches M, R*S, offset of
its rows of `fits`."""
TOP = 8
"""Where in q the three slowest pipelines are listed, then the three slowest exchanges; -1 where there are fewer."""
TIME, ENERGY, EXCESS, VALUE, SCORE = range(5)
"""Entries of f and of every result: T, E, violation, objective value, score that the search compares."""
IDLE, ABOVE, NEIGHBOURS, HOLDERS, SUM_PIPELINES, SUM_EXCHANGES, OVER, POWER = range(5, 13)
"""Entries of f: idle power, energy above idle per micro-batch, J/byte between neighbours, J between holders,
sums of the fourth powers of T_r and of D_s, layers that do not fit plus links that are missing, relative excess of the
power caps."""
GOAL = 16
TIME_WEIGHT, ENERGY_WEIGHT, TIME_CAP, ENERGY_CAP, PENALTY, SURROGATE = range(6)
"""Entries of f from GOAL on, and of `Packed.goal`; the search changes them, for example to move along a front."""
Q_HEAD, F_HEAD = 16, 24
LEFT, ORDER, SOURCE, QUEUE, CHOSEN, LIMITS, MOST, TRIAL, ZEROS, GRID = range(10)
"""Rows of `Packed.whole`: GPUs left of each group; an order of slots, rows or groups; parent's column of each stage;
GPUs in a queue; groups chosen; layer limits of stages, memory limits, a trial split; zeros; a grid."""
KEY, SLOPE, OFFSET, COST, NEIGHBOUR = range(5)
"""Rows of `Packed.real`: keys of groups; seconds per layer, fixed seconds and cost per layer of stages; a result."""


class Offsets(NamedTuple):
    """Sizes, and where tables begin in q or f; indices as in `Packed`, innermost last."""

    batch: int  # B
    message_bytes: float  # A
    symmetric: bool  # every link is like its reverse
    link_energy: bool  # some link takes energy
    all_linked: bool  # no link is missing
    groups: int  # K
    endpoints: int
    sites: int  # with a power cap
    choices: int  # of micro-batch sizes
    total: int  # L
    gpus: int  # n
    # in q
    replicas: int
    sizes: int
    endpoint: int
    site: int
    fits: int
    layers: int  # [L] split of the current plan
    group: int  # [n] group of each of its slots r * S + s, then of each unused GPU
    slot_endpoint: int  # [n] endpoint of each of its slots
    stage_endpoints: int  # [n] scratch
    unlinked: int  # [c, c] 1 where there is no link
    # in f
    caps: int
    rates: int
    speed: int
    gradient: int
    link: int
    joules: int
    draw: int  # [sites] W of the current plan
    pipeline: int  # [n, 3] T_r, energy above idle per micro-batch, J/byte of the links
    steps: int  # [n, 4] two largest forward steps of each pipeline, then backward; -1 first if not ranked yet
    port: int  # [n, 4] of each slot: latency out, s/byte out, latency in, s/byte in, over the other holders
    stage: int  # [L, 3] D_s, J/byte over pairs of holders, G_s/R
    port_sums: int  # [n, 2] scratch


class Packed(NamedTuple):
    """Indices: r usable replica counts, b usable micro-batches, k groups, c endpoints, `kind` = 2*first + last."""

    o: Offsets
    q: Ints
    f: Floats
    counts: Ints  # [k] GPUs
    replicas: Ints  # [r]
    sizes: Ints  # [b] micro-batch sizes
    endpoint: Ints  # [k]
    fits: Ints  # [r, b, k, kind] most layers
    layers: Ints  # [L] of the current plan
    group: Ints  # [n] of the current plan
    rates: Floats  # [k, 3] energy per busy second above idle, per idle second; W for the caps
    speed: Floats  # [b, k, 4] s per block forward and backward; s of the head forward and backward
    gradient: Floats  # [kind, layers] bytes
    link: Floats  # [c, c, 2] latency; s per byte
    goal: Floats  # [6] see the names above
    result: Floats  # [5] of the current plan
    whole: Ints  # [10, m] scratch, rows as named above: compiled code that allocates takes much longer to compile
    real: Floats  # [5, m] scratch


# Long only for its list of tables.
def pack(tables: Tables, goal: Goal) -> Packed:
    """The memory of one problem. Seconds must be linear in the layers, as docs/model.md has them (Iteration time)."""
    blocks = tables.layers
    per_block = np.stack([tables.forward[:, :, 0, 1], tables.backward[:, :, 0, 1]], axis=-1)
    whole = np.stack([tables.forward[:, :, 1, blocks], tables.backward[:, :, 1, blocks]], axis=-1)
    head = np.maximum(whole - blocks * per_block, 0.0)
    endpoint, members = find_endpoints(tables)
    latency, inverse, energy = (
        matrix[np.ix_(members, members)] for matrix in (tables.latency, 1.0 / tables.bandwidth, tables.per_byte)
    )
    gpus, stages = tables.gpus, blocks
    whole_numbers = {
        "replicas": np.array(tables.replicas),
        "sizes": np.array(tables.micro_batches),
        "endpoint": endpoint,
        "site": tables.site,
        "fits": tables.fits.reshape(*tables.fits.shape[:3], 4),
        "layers": np.zeros(blocks),
        "group": np.repeat(np.arange(len(tables.counts)), tables.counts),
        "slot_endpoint": np.zeros(gpus),
        "stage_endpoints": np.zeros(gpus),
        "unlinked": ~tables.linked[np.ix_(members, members)],
    }
    floats = {
        "caps": tables.power_caps,
        "rates": np.stack([tables.active - tables.idle, tables.idle, tables.power], axis=-1),
        "speed": np.concatenate([per_block, head], axis=-1),
        "gradient": tables.gradient.reshape(4, -1),
        "link": np.stack([latency, inverse], axis=-1),
        "joules": energy + energy.T,
        "draw": np.zeros(len(tables.power_caps)),
        "pipeline": np.zeros((gpus, 3)),
        "steps": np.zeros((gpus, 4)),
        "port": np.zeros((gpus, 4)),
        "stage": np.zeros((stages, 3)),
        "port_sums": np.zeros((gpus, 2)),
    }
    q, q_offsets = lay_out(whole_numbers, Q_HEAD, np.int64)
    f, f_offsets = lay_out(floats, F_HEAD, np.float64)
    f[GOAL : GOAL + 6] = goal_row(goal)
    offsets = Offsets(
        batch=tables.batch,
        message_bytes=tables.message_bytes,
        symmetric=bool((latency == latency.T).all() and (inverse == inverse.T).all()),
        link_energy=bool(energy.any()),
        all_linked=bool(tables.linked.all()),
        groups=len(tables.counts),
        endpoints=len(members),
        sites=len(tables.power_caps),
        choices=len(tables.micro_batches),
        total=blocks,
        gpus=gpus,
        **q_offsets,
        **f_offsets,
    )

    def view(block: Any, offset: int, shape: tuple[int, ...]) -> Any:
        return block[offset : offset + int(np.prod(shape))].reshape(shape)

    return Packed(
        o=offsets,
        q=q,
        f=f,
        counts=tables.counts,
        **{
            name: view(q, q_offsets[name], whole_numbers[name].shape)
            for name in ("replicas", "sizes", "endpoint", "fits", "layers", "group")
        },
        **{name: view(f, f_offsets[name], floats[name].shape) for name in ("rates", "speed", "gradient", "link")},
        goal=f[GOAL : GOAL + 6],
        result=f[TIME : SCORE + 1],
        whole=np.zeros((GRID + 1, max(gpus, blocks, 5)), dtype=np.int64),
        real=np.zeros((NEIGHBOUR + 1, max(gpus, blocks, 5))),
    )


def goal_row(goal: Goal, share: float = 0.99) -> list[float]:
    """The goal as entries of f, for a front time at first.

    Caps with a share of the referee's slack: by default so much that rounding lets nothing through that it refuses.
    """
    cap = 1 + share * CAP_SLACK
    return [
        1.0 if goal.front else goal.time_weight,
        goal.energy_weight,
        np.inf if goal.time_cap is None else goal.time_cap * cap,
        np.inf if goal.energy_cap is None else goal.energy_cap * cap,
        1.0,
        0.0,
    ]


def lay_out(tables: dict[str, Any], head: int, kind: type) -> tuple[Any, dict[str, int]]:
    """One block with `head` free entries and then the tables, and where each begins."""
    offsets = {}
    end = head
    for name, table in tables.items():
        offsets[name] = end
        end += table.size
    block: Any = np.zeros(end, dtype=kind)
    for name, table in tables.items():
        block[offsets[name] : offsets[name] + table.size] = table.ravel()
    return block, offsets


def find_endpoints(tables: Tables) -> tuple[Ints, Ints]:
    """Endpoint of each group, and one group of each endpoint; groups of one endpoint have equal rows and columns."""
    known: dict[bytes, int] = {}
    matrices = [
        np.concatenate([matrix, matrix.T], axis=1)
        for matrix in (tables.latency, tables.bandwidth, tables.per_byte, tables.linked)
    ]
    rows = np.ascontiguousarray(np.concatenate(matrices, axis=1))
    endpoint = np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.int64)
    members = np.array([int(np.argmax(endpoint == number)) for number in range(len(known))], dtype=np.int64)
    return endpoint, members
