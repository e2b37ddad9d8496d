"""A plan under search with everything that incremental evaluation needs, and its evaluation from scratch.

The GPUs that the plan leaves out follow the used slots in `group`: selecting, dropping and swapping
GPUs are then all the exchange of two positions, and no GPU can be used twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.tables import Floats, Ints
from solvers.compiled import compiled
from solvers.kernel.full import cap_excess, goal_value, kind_of, pipeline_cost, power_excess
from solvers.kernel.packed import ENERGY_WEIGHT, GUIDE, PENALTY, TIME_WEIGHT, Packed

REPLICAS, STAGES, R_INDEX, B_INDEX, COUNT, SLOTS = range(6)
"""Entries of `State.shape`: R, S, positions of R and mb in the tables, micro-batches M, R*S."""
TIME, ENERGY, EXCESS, VALUE, SCORE = range(5)
"""Entries of a result: T, E, violation, the goal's value, and the value that the search compares."""
IDLE, ABOVE, NEIGHBOURS, HOLDERS, SUM_PIPELINES, SUM_EXCHANGES, OVER = range(7)
"""Entries of `State.sums`: idle power, energy above idle per micro-batch, J/byte between neighbours, J between
holders, sum of T_r, sum of D_s, layers that do not fit."""


class State(NamedTuple):
    """All arrays are changed in place; n GPUs, up to L stages, R pipelines, slot = r * S + s."""

    shape: Ints  # [6]
    layers: Ints  # [L] split; entries past S are unused
    group: Ints  # [n] group of each slot, then of each unused GPU
    pipeline: Floats  # [n, 3] T_r, energy above idle per micro-batch, J/byte of the links
    port: Floats  # [n, 4] of each slot: latency out, s/byte out, latency in, s/byte in, over the other holders
    stage: Floats  # [L, 3] D_s, J/byte over pairs of holders, G_s/R
    sums: Floats  # [7]
    top: Ints  # [6] the three slowest pipelines, then the three slowest exchanges; -1 where there are fewer
    draw: Floats  # [sites] W
    result: Floats  # [5]


def new_state(p: Packed) -> State:
    """An empty state with room for every plan of the problem."""
    gpus, layers = int(p.counts.sum()), p.gradient.shape[1] - 1
    return State(
        shape=np.zeros(6, dtype=np.int64),
        layers=np.zeros(layers, dtype=np.int64),
        group=np.repeat(np.arange(len(p.counts)), p.counts),
        pipeline=np.zeros((gpus, 3)),
        port=np.zeros((gpus, 4)),
        stage=np.zeros((layers, 3)),
        sums=np.zeros(7),
        top=np.zeros(6, dtype=np.int64),
        draw=np.zeros(len(p.caps)),
        result=np.zeros(5),
    )


@compiled
def rank_top(values, count, top, start):  # type: ignore[no-untyped-def]
    """Write the rows with the three largest entries of column 0 to top[start:start + 3]."""
    first = second = third = -1
    for i in range(count):
        value = values[i, 0]
        if first < 0 or value > values[first, 0]:
            first, second, third = i, first, second
        elif second < 0 or value > values[second, 0]:
            second, third = i, second
        elif third < 0 or value > values[third, 0]:
            third = i
    top[start] = first
    top[start + 1] = second
    top[start + 2] = third


@compiled
def judge(p, st, slowest, exchange, pipelines, exchanges, sums, excess, result):  # type: ignore[no-untyped-def]
    """Fill `result` from the parts of a plan; `excess` is its violation of memory and power.

    Parameters
    ----------
    slowest, exchange
        max T_r and max D_s.
    pipelines, exchanges
        Sum of T_r and of D_s: the guide that tells plans of equal T apart.
    sums
        Tuple (idle power, energy above idle, neighbours, holders) as in `State.sums`.
    """
    idle, above, neighbours, holders = sums
    replicas = st.shape[REPLICAS]
    time = slowest + exchange
    network = (p.batch // replicas) * p.message_bytes * neighbours + 2 * holders
    energy = st.shape[COUNT] * above + idle * time + network
    excess += cap_excess(p, time, energy)
    value = goal_value(p, time, energy)
    guide = p.goal[GUIDE] * (pipelines / replicas + exchanges / st.shape[STAGES])
    result[TIME] = time
    result[ENERGY] = energy
    result[EXCESS] = excess
    result[VALUE] = value
    guided = value + (p.goal[TIME_WEIGHT] + p.goal[ENERGY_WEIGHT] * idle) * guide
    result[SCORE] = guided * (1.0 + p.goal[PENALTY] * excess)


@compiled
def conclude(p, st):  # type: ignore[no-untyped-def]
    """Totals, ranks and result from the per-pipeline and per-stage parts, which must be up to date."""
    replicas, stages = st.shape[REPLICAS], st.shape[STAGES]
    rank_top(st.pipeline, replicas, st.top, 0)
    rank_top(st.stage, stages, st.top, 3)
    above = neighbours = holders = pipelines = exchanges = 0.0
    for r in range(replicas):
        pipelines += st.pipeline[r, 0]
        above += st.pipeline[r, 1]
        neighbours += st.pipeline[r, 2]
    for s in range(stages):
        exchanges += st.stage[s, 0]
        holders += st.stage[s, 1] * st.stage[s, 2]
    sums = st.sums
    sums[ABOVE], sums[NEIGHBOURS], sums[HOLDERS] = above, neighbours, holders
    sums[SUM_PIPELINES], sums[SUM_EXCHANGES] = pipelines, exchanges
    excess = sums[OVER] + power_excess(p, st.draw)
    parts = (sums[IDLE], above, neighbours, holders)
    slowest, exchange = st.pipeline[st.top[0], 0], st.stage[st.top[3], 0]
    judge(p, st, slowest, exchange, pipelines, exchanges, parts, excess, st.result)


@compiled
def load_ports(p, st, s):  # type: ignore[no-untyped-def]
    """Sums over the other holders for each slot of stage s, and the J/byte of the stage."""
    replicas, stages = st.shape[REPLICAS], st.shape[STAGES]
    per_byte = 0.0
    for r in range(replicas):
        slot = r * stages + s
        c = p.place[st.group[slot]]
        latency_out = inverse_out = latency_in = inverse_in = 0.0
        for q in range(replicas):
            if q != r:
                d = p.place[st.group[q * stages + s]]
                latency_out += p.link[c, d, 0]
                inverse_out += p.link[c, d, 1]
                latency_in += p.link[d, c, 0]
                inverse_in += p.link[d, c, 1]
                per_byte += p.joules[c, d]
        st.port[slot, 0] = latency_out
        st.port[slot, 1] = inverse_out
        st.port[slot, 2] = latency_in
        st.port[slot, 3] = inverse_in
    st.stage[s, 1] = 0.5 * per_byte


@compiled
def exchange_from_ports(st, s, share):  # type: ignore[no-untyped-def]
    """D_s for a share of `share` bytes."""
    worst = 0.0
    stages = st.shape[STAGES]
    for r in range(st.shape[REPLICAS]):
        slot = r * stages + s
        out = st.port[slot, 0] + share * st.port[slot, 1]
        into = st.port[slot, 2] + share * st.port[slot, 3]
        worst = max(worst, max(out, into))
    return 2 * worst


@compiled
def load(p, st, r_index, b, stages):  # type: ignore[no-untyped-def]
    """Make the state that of the plan in st.layers and st.group on this grid, from scratch."""
    replicas = p.replicas[r_index]
    count = p.batch // (replicas * p.sizes[b])
    shape = st.shape
    shape[REPLICAS], shape[STAGES], shape[R_INDEX], shape[B_INDEX] = replicas, stages, r_index, b
    shape[COUNT], shape[SLOTS] = count, replicas * stages
    st.sums[IDLE] = 0.0
    st.sums[OVER] = 0.0
    st.draw[:] = 0.0
    for r in range(replicas):
        seconds, above, per_byte = pipeline_cost(p, b, count, st.layers, st.group, r * stages, stages)
        st.pipeline[r, 0], st.pipeline[r, 1], st.pipeline[r, 2] = seconds, above, per_byte
        for s in range(stages):
            k = st.group[r * stages + s]
            st.sums[IDLE] += p.rates[k, 1]
            st.sums[OVER] += max(0, st.layers[s] - p.fits[r_index, b, k, kind_of(s, stages)])
            if p.site[k] >= 0:
                st.draw[p.site[k]] += p.rates[k, 2]
    for s in range(stages):
        st.stage[s, 2] = p.gradient[kind_of(s, stages), st.layers[s]] / replicas
        load_ports(p, st, s)
        st.stage[s, 0] = exchange_from_ports(st, s, st.stage[s, 2])
    conclude(p, st)
