"""Swap of two GPUs, evaluated incrementally: it selects, drops and rearranges GPUs alike.

`try_swap` fills `result` and leaves the current plan as it was; `do_swap` makes the move.
"""

from __future__ import annotations

from solvers.core.compiled import inlined, inner
from solvers.kernel.evaluation import pipeline_cost, u
from solvers.kernel.move_parts import largest_but, over_in, renew_pipeline
from solvers.kernel.packed import (
    ABOVE,
    B_INDEX,
    COUNT,
    GOAL,
    HOLDERS,
    IDLE,
    NEIGHBOURS,
    OVER,
    POWER,
    REPLICAS,
    SLOTS,
    STAGES,
    SUM_EXCHANGES,
    SUM_PIPELINES,
    TIME_WEIGHT,
    TOP,
)
from solvers.kernel.state import exchange_from_ports, score_plan, update_totals
from solvers.kernel.surrogate import fourth_power


@inlined
def changed_exchange(o, q, f, s, r, k):  # type: ignore[no-untyped-def]
    """D_s and J/byte of stage s if its holder in pipeline r were of group k."""
    replicas, stages = q[REPLICAS], q[STAGES]
    old = q[o.slot_endpoint + r * stages + s]
    new = q[u(o.endpoint + k)]
    stage = o.stage + 3 * s
    if old == new:
        return f[stage], f[stage + 1]
    share = f[stage + 2]
    worst = 0.0
    per_byte = f[stage + 1]
    latency = inverse = latency_in = inverse_in = 0.0
    before, after = o.link + 2 * old * o.endpoints, o.link + 2 * new * o.endpoints
    for z in range(replicas):
        if z == r:
            continue
        slot = z * stages + s
        c = q[u(o.slot_endpoint + slot)]
        i, j, port = u(before + 2 * c), u(after + 2 * c), u(o.port + 4 * slot)
        latency += f[j]
        inverse += f[j + u(1)]
        # What the changed holder sends, the others receive.
        into = f[port + u(2)] + f[j] - f[i] + share * (f[port + u(3)] + f[j + u(1)] - f[i + u(1)])
        worst = max(worst, into)
        if not o.symmetric:
            i, j = u(o.link + 2 * (c * o.endpoints + old)), u(o.link + 2 * (c * o.endpoints + new))
            latency_in += f[j]
            inverse_in += f[j + u(1)]
            out = f[port] + f[j] - f[i] + share * (f[port + u(1)] + f[j + u(1)] - f[i + u(1)])
            worst = max(worst, out)
        if o.link_energy:
            per_byte += f[u(o.joules + new * o.endpoints + c)] - f[u(o.joules + old * o.endpoints + c)]
    worst = max(worst, max(latency + share * inverse, latency_in + share * inverse_in))
    return 2 * worst, per_byte


@inner
def missing_at(o, q, slot):  # type: ignore[no-untyped-def]
    """Links missing from a used slot to its neighbours and to the other holders of its stage."""
    stages = q[STAGES]
    s = slot % stages
    row = o.unlinked + o.endpoints * q[u(o.endpoint + q[u(o.group + slot)])]
    missing = 0
    if s > 0:
        missing += q[u(row + q[u(o.endpoint + q[u(o.group + slot - 1)])])]
    if s < stages - 1:
        missing += q[u(row + q[u(o.endpoint + q[u(o.group + slot + 1)])])]
    for r in range(q[REPLICAS]):
        other = r * stages + s
        if other != slot:
            missing += q[u(row + q[u(o.endpoint + q[u(o.group + other)])])]
    return missing


@inlined
def power_excess_after(o, q, f, leaving, entering):  # type: ignore[no-untyped-def]
    """Relative power excess if a GPU of group `entering` took the place of one of group `leaving`."""
    excess = 0.0
    for site in range(o.sites):
        draw = f[o.draw + site]
        if q[o.site + leaving] == site:
            draw -= f[o.rates + 3 * leaving + 2]
        if q[o.site + entering] == site:
            draw += f[o.rates + 3 * entering + 2]
        excess += max(0.0, draw / f[o.caps + site] - 1.0)
    return excess


@inlined
def least_time(o, q, f, slot, k, other):  # type: ignore[no-untyped-def]
    """Lower bound on T_r with group k in a used slot: all micro-batches but one pass its own slowest steps.

    The GPU in slot `other` changes as well, so a link to it is not counted.
    """
    stages, b = q[STAGES], q[B_INDEX]
    s = slot % stages
    i = u(o.speed + 4 * (o.groups * b + k))
    held = float(q[u(o.layers + s)])
    forward, backward = held * f[i], held * f[i + u(1)]
    if s == stages - 1:
        forward += f[i + u(2)]
        backward += f[i + u(3)]
    message = o.message_bytes * q[o.sizes + b]
    c = q[u(o.endpoint + k)]
    if s > 0 and slot - 1 != other:
        d = q[u(o.slot_endpoint + slot - 1)]
        forward = max(forward, message * f[u(o.link + 2 * (d * o.endpoints + c) + 1)])
        backward = max(backward, message * f[u(o.link + 2 * (c * o.endpoints + d) + 1)])
    if s < stages - 1 and slot + 1 != other:
        d = q[u(o.slot_endpoint + slot + 1)]
        forward = max(forward, message * f[u(o.link + 2 * (c * o.endpoints + d) + 1)])
        backward = max(backward, message * f[u(o.link + 2 * (d * o.endpoints + c) + 1)])
    return (q[COUNT] - 1) * (forward + backward)


@inner
def exceeds_limit(o, q, f, i, j, limit):  # type: ignore[no-untyped-def]
    """Whether the slowest steps alone put the score of a swap above `limit`: quick, with false negatives."""
    if f[GOAL + TIME_WEIGHT] == 0.0:
        return False
    slots, stages = q[SLOTS], q[STAGES]
    allowed = limit / f[GOAL + TIME_WEIGHT]
    allowed -= largest_but(q, f, o.stage, TOP + 3, i % stages, j % stages if j < slots else -1)
    if least_time(o, q, f, i, q[o.group + j], j) > allowed:
        return True
    return j < slots and least_time(o, q, f, j, q[o.group + i], i) > allowed


# One pass over the parts that a swap changes; each needs the results of those before.
@inner
def try_swap(o, q, f, i, j, result):  # type: ignore[no-untyped-def]
    """Evaluate the swap of positions i and j of `group`; i is a used slot, j another one or an unused GPU."""
    stages, slots, replicas = q[STAGES], q[SLOTS], q[REPLICAS]
    b, count = q[B_INDEX], q[COUNT]
    k, g = q[o.group + i], q[o.group + j]
    r, s = i // stages, i % stages
    inside = j < slots
    w, z = (j // stages, j % stages) if inside else (-1, -1)

    idle, excess = f[IDLE], f[POWER]
    held = q[o.layers + s]
    over = f[OVER] + over_in(o, q, i, g, held) - over_in(o, q, i, k, held)
    if inside:
        held = q[o.layers + z]
        over += over_in(o, q, j, k, held) - over_in(o, q, j, g, held)
    else:
        idle += f[o.rates + 3 * g + 1] - f[o.rates + 3 * k + 1]
        if o.sites > 0:
            excess = power_excess_after(o, q, f, k, g)

    exchange, exchanges, holders = f[o.stage + 3 * q[TOP + 3]], f[SUM_EXCHANGES], f[HOLDERS]
    if s != z and replicas > 1 and q[o.endpoint + k] != q[o.endpoint + g]:
        exchange = largest_but(q, f, o.stage, TOP + 3, s, z)
        seconds, per_byte = changed_exchange(o, q, f, s, r, g)
        exchange = max(exchange, seconds)
        stage = o.stage + 3 * s
        exchanges += fourth_power(seconds) - fourth_power(f[stage])
        holders += (per_byte - f[stage + 1]) * f[stage + 2]
        if inside:
            seconds, per_byte = changed_exchange(o, q, f, z, w, k)
            exchange = max(exchange, seconds)
            stage = o.stage + 3 * z
            exchanges += fourth_power(seconds) - fourth_power(f[stage])
            holders += (per_byte - f[stage + 1]) * f[stage + 2]

    # A pair of the two slots counts twice before and after: the table is symmetric, so it cancels out.
    if not o.all_linked:
        over -= missing_at(o, q, i) + (missing_at(o, q, j) if inside else 0)
    q[o.group + i], q[o.group + j] = g, k
    if not o.all_linked:
        over += missing_at(o, q, i) + (missing_at(o, q, j) if inside else 0)
    row = o.pipeline + 3 * r
    start = o.group + r * stages
    seconds, busy, per_byte = pipeline_cost(o, q, f, b, count, q, o.layers, q, start, stages)
    slowest = max(seconds, largest_but(q, f, o.pipeline, TOP, r, w))
    pipelines = f[SUM_PIPELINES] + fourth_power(seconds) - fourth_power(f[row])
    above = f[ABOVE] + busy - f[row + 1]
    neighbours = f[NEIGHBOURS] + per_byte - f[row + 2]
    if inside and w != r:
        row = o.pipeline + 3 * w
        start = o.group + w * stages
        seconds, busy, per_byte = pipeline_cost(o, q, f, b, count, q, o.layers, q, start, stages)
        slowest = max(slowest, seconds)
        pipelines += fourth_power(seconds) - fourth_power(f[row])
        above += busy - f[row + 1]
        neighbours += per_byte - f[row + 2]
    q[o.group + i], q[o.group + j] = k, g
    excess += over
    score_plan(o, q, f, slowest, exchange, pipelines, exchanges, idle, above, neighbours, holders, excess, result)


@inner
def place_gpu(o, q, f, slot, k):  # type: ignore[no-untyped-def]
    """Put group k into a used slot and update everything but pipelines and totals."""
    stages = q[STAGES]
    old = q[o.group + slot]
    s = slot % stages
    held = q[o.layers + s]
    f[IDLE] += f[o.rates + 3 * k + 1] - f[o.rates + 3 * old + 1]
    f[OVER] += over_in(o, q, slot, k, held) - over_in(o, q, slot, old, held)
    if q[o.site + old] >= 0:
        f[o.draw + q[o.site + old]] -= f[o.rates + 3 * old + 2]
    if q[o.site + k] >= 0:
        f[o.draw + q[o.site + k]] += f[o.rates + 3 * k + 2]
    if not o.all_linked:
        f[OVER] -= missing_at(o, q, slot)
    q[o.group + slot] = k
    if not o.all_linked:
        f[OVER] += missing_at(o, q, slot)
    c, d = q[o.endpoint + old], q[o.endpoint + k]
    if c == d:
        return
    q[o.slot_endpoint + slot] = d
    latency_out = inverse_out = latency_in = inverse_in = per_byte = 0.0
    for r in range(q[REPLICAS]):
        other = r * stages + s
        if other == slot:
            continue
        e = q[u(o.slot_endpoint + other)]
        port = u(o.port + 4 * other)
        i, j = u(o.link + 2 * (e * o.endpoints + d)), u(o.link + 2 * (e * o.endpoints + c))
        f[port] += f[i] - f[j]
        f[port + u(1)] += f[i + u(1)] - f[j + u(1)]
        latency_in += f[i]
        inverse_in += f[i + u(1)]
        i, j = u(o.link + 2 * (d * o.endpoints + e)), u(o.link + 2 * (c * o.endpoints + e))
        f[port + u(2)] += f[i] - f[j]
        f[port + u(3)] += f[i + u(1)] - f[j + u(1)]
        latency_out += f[i]
        inverse_out += f[i + u(1)]
        if o.link_energy:
            per_byte += f[u(o.joules + d * o.endpoints + e)] - f[u(o.joules + c * o.endpoints + e)]
    port = u(o.port + 4 * slot)
    f[port], f[port + u(1)], f[port + u(2)], f[port + u(3)] = latency_out, inverse_out, latency_in, inverse_in
    stage = o.stage + 3 * s
    f[stage + 1] += per_byte
    f[stage] = exchange_from_ports(o, q, f, s, f[stage + 2])


@inner
def do_swap(o, q, f, i, j):  # type: ignore[no-untyped-def]
    """Swap positions i and j of `group`; i is a used slot."""
    k, g = q[o.group + i], q[o.group + j]
    stages = q[STAGES]
    place_gpu(o, q, f, i, g)
    if j < q[SLOTS]:
        place_gpu(o, q, f, j, k)
        if j // stages != i // stages:
            renew_pipeline(o, q, f, j // stages)
    else:
        q[o.group + j] = k
    renew_pipeline(o, q, f, i // stages)
    update_totals(o, q, f)
