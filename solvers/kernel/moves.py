"""Incremental evaluation of the two elementary moves: exchange of two GPUs, shift of layers.

`try_*` fills `result` and leaves the state as it was; `do_*` makes the move.
"""

from __future__ import annotations

from solvers.compiled import compiled
from solvers.kernel.full import kind_of, pipeline_cost
from solvers.kernel.state import (
    ABOVE,
    B_INDEX,
    COUNT,
    HOLDERS,
    IDLE,
    NEIGHBOURS,
    OVER,
    R_INDEX,
    REPLICAS,
    SLOTS,
    STAGES,
    SUM_EXCHANGES,
    SUM_PIPELINES,
    conclude,
    exchange_from_ports,
    judge,
)


@compiled
def largest_but(values, top, start, a, b):  # type: ignore[no-untyped-def]
    """Largest entry of column 0 apart from rows a and b, by the ranks in top[start:start + 3]; 0 if none is left."""
    for i in range(start, start + 3):
        row = top[i]
        if row >= 0 and row != a and row != b:
            return values[row, 0]
    return 0.0


@compiled
def exchange_with(p, st, s, r, k):  # type: ignore[no-untyped-def]
    """D_s and J/byte of stage s if its holder in pipeline r were of group k."""
    replicas, stages = st.shape[REPLICAS], st.shape[STAGES]
    old = p.place[st.group[r * stages + s]]
    new = p.place[k]
    if old == new:
        return st.stage[s, 0], st.stage[s, 1]
    share = st.stage[s, 2]
    worst = 0.0
    per_byte = st.stage[s, 1]
    latency_out = inverse_out = latency_in = inverse_in = 0.0
    for q in range(replicas):
        if q != r:
            slot = q * stages + s
            c = p.place[st.group[slot]]
            latency = p.link[c, new, 0]
            inverse = p.link[c, new, 1]
            out = st.port[slot, 0] + latency - p.link[c, old, 0]
            out += share * (st.port[slot, 1] + inverse - p.link[c, old, 1])
            latency_in += latency
            inverse_in += inverse
            worst = max(worst, out)
            if not p.symmetric:
                latency = p.link[new, c, 0]
                inverse = p.link[new, c, 1]
                into = st.port[slot, 2] + latency - p.link[old, c, 0]
                into += share * (st.port[slot, 3] + inverse - p.link[old, c, 1])
                latency_out += latency
                inverse_out += inverse
                worst = max(worst, into)
            if p.link_energy:
                per_byte += p.joules[c, new] - p.joules[c, old]
    worst = max(worst, max(latency_out + share * inverse_out, latency_in + share * inverse_in))
    return 2 * worst, per_byte


@compiled
def over_in(p, st, slot, k):  # type: ignore[no-untyped-def]
    """Layers of a slot that would not fit a GPU of group k."""
    stages = st.shape[STAGES]
    s = slot % stages
    most = p.fits[st.shape[R_INDEX], st.shape[B_INDEX], k, kind_of(s, stages)]
    return max(0, st.layers[s] - most)


@compiled
def power_excess_after(p, st, leaving, entering):  # type: ignore[no-untyped-def]
    """Relative power excess if a GPU of group `entering` took the place of one of group `leaving`."""
    excess = 0.0
    for site in range(len(p.caps)):
        draw = st.draw[site]
        if p.site[leaving] == site:
            draw -= p.rates[leaving, 2]
        if p.site[entering] == site:
            draw += p.rates[entering, 2]
        excess += max(0.0, draw / p.caps[site] - 1.0)
    return excess


@compiled
def try_exchange(p, st, i, j, result):  # type: ignore[no-untyped-def]
    """Evaluate the exchange of positions i and j of st.group; i is a used slot, j another one or an unused GPU."""
    group = st.group
    stages, slots = st.shape[STAGES], st.shape[SLOTS]
    replicas, b, count = st.shape[REPLICAS], st.shape[B_INDEX], st.shape[COUNT]
    k, g = group[i], group[j]
    r, s = i // stages, i % stages
    inside = j < slots
    q = j // stages if inside else -1
    z = j % stages if inside else -1

    idle = st.sums[IDLE]
    over = st.sums[OVER] + over_in(p, st, i, g) - over_in(p, st, i, k)
    if inside:
        over += over_in(p, st, j, k) - over_in(p, st, j, g)
    else:
        idle += p.rates[g, 1] - p.rates[k, 1]
    excess = over + power_excess_after(p, st, k, k if inside else g)

    exchange = largest_but(st.stage, st.top, 3, s, z)
    exchanges, holders = st.sums[SUM_EXCHANGES], st.sums[HOLDERS]
    if s == z or replicas == 1:
        exchange = st.stage[st.top[3], 0]  # the same holders in another order
    else:
        seconds, per_byte = exchange_with(p, st, s, r, g)
        exchange = max(exchange, seconds)
        exchanges += seconds - st.stage[s, 0]
        holders += (per_byte - st.stage[s, 1]) * st.stage[s, 2]
        if inside:
            seconds, per_byte = exchange_with(p, st, z, q, k)
            exchange = max(exchange, seconds)
            exchanges += seconds - st.stage[z, 0]
            holders += (per_byte - st.stage[z, 1]) * st.stage[z, 2]

    group[i], group[j] = g, k
    seconds, above, neighbours = pipeline_cost(p, b, count, st.layers, group, r * stages, stages)
    slowest = max(seconds, largest_but(st.pipeline, st.top, 0, r, q))
    pipelines = st.sums[SUM_PIPELINES] + seconds - st.pipeline[r, 0]
    above += st.sums[ABOVE] - st.pipeline[r, 1]
    neighbours += st.sums[NEIGHBOURS] - st.pipeline[r, 2]
    if inside and q != r:
        seconds, busy, per_byte = pipeline_cost(p, b, count, st.layers, group, q * stages, stages)
        slowest = max(slowest, seconds)
        pipelines += seconds - st.pipeline[q, 0]
        above += busy - st.pipeline[q, 1]
        neighbours += per_byte - st.pipeline[q, 2]
    group[i], group[j] = k, g
    judge(p, st, slowest, exchange, pipelines, exchanges, (idle, above, neighbours, holders), excess, result)


@compiled
def place_gpu(p, st, slot, k):  # type: ignore[no-untyped-def]
    """Put group k into a used slot: everything but pipelines, stage seconds and totals."""
    old = st.group[slot]
    stages = st.shape[STAGES]
    s = slot % stages
    st.sums[IDLE] += p.rates[k, 1] - p.rates[old, 1]
    st.sums[OVER] += over_in(p, st, slot, k) - over_in(p, st, slot, old)
    if p.site[old] >= 0:
        st.draw[p.site[old]] -= p.rates[old, 2]
    if p.site[k] >= 0:
        st.draw[p.site[k]] += p.rates[k, 2]
    st.group[slot] = k
    c, d = p.place[old], p.place[k]
    if c == d:
        return
    latency_out = inverse_out = latency_in = inverse_in = per_byte = 0.0
    for r in range(st.shape[REPLICAS]):
        other = r * stages + s
        if other != slot:
            e = p.place[st.group[other]]
            st.port[other, 0] += p.link[e, d, 0] - p.link[e, c, 0]
            st.port[other, 1] += p.link[e, d, 1] - p.link[e, c, 1]
            st.port[other, 2] += p.link[d, e, 0] - p.link[c, e, 0]
            st.port[other, 3] += p.link[d, e, 1] - p.link[c, e, 1]
            latency_in += p.link[e, d, 0]
            inverse_in += p.link[e, d, 1]
            latency_out += p.link[d, e, 0]
            inverse_out += p.link[d, e, 1]
            per_byte += p.joules[e, d] - p.joules[e, c]
    st.port[slot, 0] = latency_out
    st.port[slot, 1] = inverse_out
    st.port[slot, 2] = latency_in
    st.port[slot, 3] = inverse_in
    st.stage[s, 1] += per_byte
    st.stage[s, 0] = exchange_from_ports(st, s, st.stage[s, 2])


@compiled
def do_exchange(p, st, i, j):  # type: ignore[no-untyped-def]
    """Exchange positions i and j of st.group; i is a used slot."""
    k, g = st.group[i], st.group[j]
    stages = st.shape[STAGES]
    place_gpu(p, st, i, g)
    if j < st.shape[SLOTS]:
        place_gpu(p, st, j, k)
        if j // stages != i // stages:
            renew_pipeline(p, st, j // stages)
    else:
        st.group[j] = k
    renew_pipeline(p, st, i // stages)
    conclude(p, st)


@compiled
def renew_pipeline(p, st, r):  # type: ignore[no-untyped-def]
    """Recompute the entries of one pipeline."""
    stages = st.shape[STAGES]
    seconds, above, per_byte = pipeline_cost(
        p, st.shape[B_INDEX], st.shape[COUNT], st.layers, st.group, r * stages, stages
    )
    st.pipeline[r, 0] = seconds
    st.pipeline[r, 1] = above
    st.pipeline[r, 2] = per_byte


@compiled
def try_shift(p, st, a, z, size, result):  # type: ignore[no-untyped-def]
    """Evaluate moving `size` layers from stage a, which holds more, to stage z."""
    replicas, stages, b, count = st.shape[REPLICAS], st.shape[STAGES], st.shape[B_INDEX], st.shape[COUNT]
    over = st.sums[OVER]
    for r in range(replicas):
        i, j = r * stages + a, r * stages + z
        over -= over_in(p, st, i, st.group[i]) + over_in(p, st, j, st.group[j])
    st.layers[a] -= size
    st.layers[z] += size
    slowest = 0.0
    pipelines = 0.0
    above = 0.0
    for r in range(replicas):
        i, j = r * stages + a, r * stages + z
        over += over_in(p, st, i, st.group[i]) + over_in(p, st, j, st.group[j])
        seconds, busy, per_byte = pipeline_cost(p, b, count, st.layers, st.group, r * stages, stages)
        slowest = max(slowest, seconds)
        pipelines += seconds
        above += busy
    exchange = largest_but(st.stage, st.top, 3, a, z)
    exchanges, holders = st.sums[SUM_EXCHANGES], st.sums[HOLDERS]
    if replicas > 1:
        for s in (a, z):
            share = p.gradient[kind_of(s, stages), st.layers[s]] / replicas
            seconds = exchange_from_ports(st, s, share)
            exchange = max(exchange, seconds)
            exchanges += seconds - st.stage[s, 0]
            holders += st.stage[s, 1] * (share - st.stage[s, 2])
    st.layers[a] += size
    st.layers[z] -= size
    excess = over + power_excess_after(p, st, st.group[0], st.group[0])
    parts = (st.sums[IDLE], above, st.sums[NEIGHBOURS], holders)
    judge(p, st, slowest, exchange, pipelines, exchanges, parts, excess, result)


@compiled
def do_shift(p, st, a, z, size):  # type: ignore[no-untyped-def]
    """Move `size` layers from stage a to stage z."""
    replicas, stages = st.shape[REPLICAS], st.shape[STAGES]
    for r in range(replicas):
        i, j = r * stages + a, r * stages + z
        st.sums[OVER] -= over_in(p, st, i, st.group[i]) + over_in(p, st, j, st.group[j])
    st.layers[a] -= size
    st.layers[z] += size
    for r in range(replicas):
        i, j = r * stages + a, r * stages + z
        st.sums[OVER] += over_in(p, st, i, st.group[i]) + over_in(p, st, j, st.group[j])
        renew_pipeline(p, st, r)
    for s in (a, z):
        st.stage[s, 2] = p.gradient[kind_of(s, stages), st.layers[s]] / replicas
        st.stage[s, 0] = exchange_from_ports(st, s, st.stage[s, 2])
    conclude(p, st)
