"""Full evaluation of a plan given as arrays: time, energy and violations from scratch.

Agrees with the referee (`instances.referee.evaluate`) to 1e-9; published numbers come from the referee.
A placement is a flat array of groups, slot (r, s) at r * stages + s. (o, q, f) are those of `packed`.
"""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inlined, inner
from solvers.kernel.packed import ENERGY_CAP, ENERGY_WEIGHT, GOAL, TIME_CAP, TIME_WEIGHT

# Unsigned indices spare numba's test for negative ones, a tenth of the time of the inner loops.
u = np.uint64
MANY_HOLDERS = 64
"""Holders of a stage beyond which its exchange is summed by endpoint: pairs would be quadratic in them."""


@inlined
def kind_of(s, stages):  # type: ignore[no-untyped-def]
    """2*first + last, the index into tables that distinguish the ends of a pipeline."""
    return (2 if s == 0 else 0) + (1 if s == stages - 1 else 0)


@inlined
def pipeline_cost(o, q, f, b, count, layers, first_layer, group, start, stages):  # type: ignore[no-untyped-def]
    """Cost of one pipeline: its split begins at layers[first_layer], its slots at group[start].

    Returns
    -------
    T_r, its energy above idle per micro-batch, and J/byte of its links.
    """
    message = o.message_bytes * q[o.sizes + b]
    speed = o.speed + 4 * o.groups * b
    k = group[u(start)]
    c = q[u(o.endpoint + k)]
    i = u(speed + 4 * k)
    held = float(layers[u(first_layer)])
    x = held * f[i]
    y = held * f[i + u(1)]
    fill = x + y
    above = f[u(o.rates + 3 * k)] * fill
    latency = per_byte = 0.0
    forward, backward = x, y
    for s in range(1, stages):
        k = group[u(start + s)]
        d = q[u(o.endpoint + k)]
        i = u(o.link + 2 * (c * o.endpoints + d))
        j = u(o.link + 2 * (d * o.endpoints + c))
        there = message * f[i + u(1)]
        back = message * f[j + u(1)]
        latency += f[i] + f[j]
        if o.link_energy:
            per_byte += f[u(o.joules + c * o.endpoints + d)]
        c = d
        i = u(speed + 4 * k)
        held = float(layers[u(first_layer + s)])
        x = held * f[i]
        y = held * f[i + u(1)]
        above += f[u(o.rates + 3 * k)] * (x + y)
        fill += x + y + there + back
        forward = max(forward, max(x, there))
        backward = max(backward, max(y, back))
    # The head adds to the last stage, which is slower with it than without.
    head_x, head_y = f[i + u(2)], f[i + u(3)]
    forward = max(forward, x + head_x)
    backward = max(backward, y + head_y)
    fill += head_x + head_y
    above += f[u(o.rates + 3 * k)] * (head_x + head_y)
    return fill + latency + (count - 1) * (forward + backward), above, per_byte


@inner
def count_endpoints(o, q, f, group, s, replicas, stages):  # type: ignore[no-untyped-def]
    """How many endpoints hold stage s, listed in q[stage_endpoints:]; their holders are counted in f[port_sums:]."""
    for c in range(o.endpoints):
        f[u(o.port_sums + c)] = 0.0
    distinct = 0
    for r in range(replicas):
        c = q[u(o.endpoint + group[u(r * stages + s)])]
        if f[u(o.port_sums + c)] == 0.0:
            q[u(o.stage_endpoints + distinct)] = c
            distinct += 1
        f[u(o.port_sums + c)] += 1.0
    return distinct


@inner
def exchange_cost_of_many(o, q, f, share, group, s, replicas, stages):  # type: ignore[no-untyped-def]
    """`exchange_cost` up to rounding, but by endpoint instead of by pair of holders."""
    worst = per_byte = 0.0
    distinct = count_endpoints(o, q, f, group, s, replicas, stages)
    for i in range(distinct):
        c = q[u(o.stage_endpoints + i)]
        out = into = 0.0
        for j in range(distinct):
            d = q[u(o.stage_endpoints + j)]
            others = f[u(o.port_sums + d)] - (1.0 if i == j else 0.0)
            there = u(o.link + 2 * (c * o.endpoints + d))
            back = u(o.link + 2 * (d * o.endpoints + c))
            out += others * (f[there] + share * f[there + u(1)])
            into += others * (f[back] + share * f[back + u(1)])
            if o.link_energy:
                per_byte += f[u(o.port_sums + c)] * others * f[u(o.joules + c * o.endpoints + d)] / 2
        worst = max(worst, max(out, into))
    return 2 * worst, per_byte


@inlined
def exchange_cost(o, q, f, share, group, s, replicas, stages):  # type: ignore[no-untyped-def]
    """D_s for a share of `share` bytes (G_s/R), and the sum of J/byte over the pairs of holders."""
    if replicas > MANY_HOLDERS:
        return exchange_cost_of_many(o, q, f, share, group, s, replicas, stages)
    worst = 0.0
    per_byte = 0.0
    for r in range(replicas):
        f[u(o.port_sums + 2 * r)] = 0.0
        f[u(o.port_sums + 2 * r + 1)] = 0.0
        q[u(o.stage_endpoints + r)] = q[u(o.endpoint + group[u(r * stages + s)])]
    # Each pair once: what leaves one port enters another.
    for r in range(replicas):
        row = o.link + 2 * o.endpoints * q[u(o.stage_endpoints + r)]
        out = f[u(o.port_sums + 2 * r)]
        into = f[u(o.port_sums + 2 * r + 1)]
        if o.symmetric:
            for z in range(r + 1, replicas):
                i = u(row + 2 * q[u(o.stage_endpoints + z)])
                seconds = f[i] + share * f[i + u(1)]
                out += seconds
                f[u(o.port_sums + 2 * z)] += seconds
        else:
            for z in range(r + 1, replicas):
                d = q[u(o.stage_endpoints + z)]
                i = u(row + 2 * d)
                j = u(o.link + 2 * (d * o.endpoints + q[u(o.stage_endpoints + r)]))
                there = f[i] + share * f[i + u(1)]
                back = f[j] + share * f[j + u(1)]
                out += there
                into += back
                f[u(o.port_sums + 2 * z)] += back
                f[u(o.port_sums + 2 * z + 1)] += there
        worst = max(worst, max(out, into))
    if o.link_energy:
        for r in range(replicas):
            row = o.joules + o.endpoints * q[u(o.stage_endpoints + r)]
            for z in range(r + 1, replicas):
                per_byte += f[u(row + q[u(o.stage_endpoints + z)])]
    return 2 * worst, per_byte


@inner
def measure(o, q, f, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """Time (s) and energy (in the objective's unit) of a plan on a legal grid, feasible or not."""
    replicas = q[o.replicas + r_index]
    count = o.batch // (replicas * q[o.sizes + b])
    first = np.int64(0)  # numba would compile `pipeline_cost` again for a literal
    slowest = above = neighbours = 0.0
    for r in range(replicas):
        seconds, busy, per_byte = pipeline_cost(o, q, f, b, count, layers, first, group, r * stages, stages)
        slowest = max(slowest, seconds)
        above += busy
        neighbours += per_byte
    exchange = holders = 0.0
    if replicas > 1:
        for s in range(stages):
            share = f[o.gradient + kind_of(s, stages) * (o.total + 1) + layers[s]] / replicas
            seconds, per_byte = exchange_cost(o, q, f, share, group, s, replicas, stages)
            exchange = max(exchange, seconds)
            holders += share * per_byte
    idle = 0.0
    for slot in range(replicas * stages):
        idle += f[u(o.rates + 3 * group[u(slot)] + 1)]
    time = slowest + exchange
    network = (o.batch // replicas) * o.message_bytes * neighbours + 2 * holders
    return time, count * above + idle * time + network


@inner
def missing_links(o, q, group, start, replicas, stages):  # type: ignore[no-untyped-def]
    """Pairs of neighbours and pairs of holders without a link, of the slots from group[start] on."""
    missing = 0
    if o.all_linked:
        return missing
    for slot in range(replicas * stages):
        row = o.unlinked + o.endpoints * q[u(o.endpoint + group[u(start + slot)])]
        if (slot + 1) % stages != 0:
            missing += q[u(row + q[u(o.endpoint + group[u(start + slot + 1)])])]
        for other in range(slot + stages, replicas * stages, stages):
            missing += q[u(row + q[u(o.endpoint + group[u(start + other)])])]
    return missing


@inner
def violation(o, q, f, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """Layers that do not fit and missing links, and the relative power excess, summed over sites."""
    over = 0
    replicas = q[o.replicas + r_index]
    fits = o.fits + 4 * o.groups * (r_index * o.choices + b)
    for s in range(stages):
        kind = fits + kind_of(s, stages)
        for r in range(replicas):
            over += max(0, layers[s] - q[u(kind + 4 * group[u(r * stages + s)])])
    over += missing_links(o, q, group, np.int64(0), replicas, stages)
    return over, power_excess(o, q, f, group, replicas * stages)


@inner
def power_excess(o, q, f, group, slots):  # type: ignore[no-untyped-def]
    """Relative excess over the sites' power caps, summed over sites."""
    excess = 0.0
    for site in range(o.sites):
        draw = 0.0
        for slot in range(slots):
            k = group[u(slot)]
            if q[u(o.site + k)] == site:
                draw += f[u(o.rates + 3 * k + 2)]
        excess += max(0.0, draw / f[o.caps + site] - 1.0)
    return excess


@inlined
def cap_excess(f, time, energy):  # type: ignore[no-untyped-def]
    """Relative excess over the caps on time and energy."""
    excess = max(0.0, time / f[GOAL + TIME_CAP] - 1.0)
    return excess + max(0.0, energy / f[GOAL + ENERGY_CAP] - 1.0)


@inlined
def goal_value(f, time, energy):  # type: ignore[no-untyped-def]
    """The goal's weighted sum."""
    return f[GOAL + TIME_WEIGHT] * time + f[GOAL + ENERGY_WEIGHT] * energy
