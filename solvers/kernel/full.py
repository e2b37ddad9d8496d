"""Full evaluation of a plan given as arrays: time, energy and violations from scratch.

Agrees with the referee (`instances.evaluate`) to 1e-9; published numbers still come from the referee.
A placement is a flat array of groups, slot (r, s) at r * stages + s; what follows the used slots is ignored.
"""

from __future__ import annotations

import numpy as np

from solvers.compiled import compiled
from solvers.kernel.packed import ENERGY_CAP, ENERGY_WEIGHT, TIME_CAP, TIME_WEIGHT


@compiled
def kind_of(s, stages):  # type: ignore[no-untyped-def]
    """2*first + last, the index of tables that treat the ends of a pipeline apart."""
    return (2 if s == 0 else 0) + (1 if s == stages - 1 else 0)


@compiled
def pipeline_cost(p, b, count, layers, group, start, stages):  # type: ignore[no-untyped-def]
    """T_r of the pipeline whose slots begin at `start`, its energy above idle per micro-batch, and J/byte of its links."""
    message = p.message_bytes * p.sizes[b]
    speed = p.speed[b]
    k = np.uint64(group[start])
    c = p.place[k]
    x = layers[0] * speed[k, 0]
    y = layers[0] * speed[k, 1]
    latency = fill = forward = backward = above = per_byte = 0.0
    for s in range(1, stages):
        fill += x + y
        forward = max(forward, x)
        backward = max(backward, y)
        above += p.rates[k, 0] * (x + y)
        k = np.uint64(group[start + s])
        d = p.place[k]
        there = message * p.link[c, d, 1]
        back = message * p.link[d, c, 1]
        fill += there + back
        latency += p.link[c, d, 0] + p.link[d, c, 0]
        forward = max(forward, there)
        backward = max(backward, back)
        if p.link_energy:
            per_byte += p.joules[c, d]
        c = d
        x = layers[s] * speed[k, 0]
        y = layers[s] * speed[k, 1]
    x += speed[k, 2]
    y += speed[k, 3]
    fill += x + y + latency
    forward = max(forward, x)
    backward = max(backward, y)
    above += p.rates[k, 0] * (x + y)
    return fill + (count - 1) * (forward + backward), above, per_byte


@compiled
def exchange_cost(p, share, group, s, replicas, stages):  # type: ignore[no-untyped-def]
    """D_s for a share of `share` bytes (G_s/R), and the sum of J/byte over the pairs of holders."""
    spot, ports, place, link, symmetric = p.spot, p.ports, p.place, p.link, p.symmetric
    for r in range(replicas):
        spot[r] = place[group[r * stages + s]]
        ports[r, 0] = 0.0
        ports[r, 1] = 0.0
    worst = 0.0
    # Each pair once: what leaves one port enters another.
    for r in range(replicas):
        c = spot[r]
        out = ports[r, 0]
        into = ports[r, 1]
        if symmetric:
            for q in range(r + 1, replicas):
                d = spot[q]
                seconds = link[c, d, 0] + share * link[c, d, 1]
                out += seconds
                ports[q, 0] += seconds
        else:
            for q in range(r + 1, replicas):
                d = spot[q]
                there = link[c, d, 0] + share * link[c, d, 1]
                back = link[d, c, 0] + share * link[d, c, 1]
                out += there
                into += back
                ports[q, 1] += there
                ports[q, 0] += back
        worst = max(worst, max(out, into))
    per_byte = 0.0
    if p.link_energy:
        for r in range(replicas):
            for q in range(r + 1, replicas):
                per_byte += p.joules[spot[r], spot[q]]
    return 2 * worst, per_byte


@compiled
def measure(p, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """Time (s) and energy (figure) of a plan on a legal grid, feasible or not."""
    replicas = p.replicas[r_index]
    count = p.batch // (replicas * p.sizes[b])
    slowest = 0.0
    above = 0.0
    neighbours = 0.0
    for r in range(replicas):
        seconds, busy, per_byte = pipeline_cost(p, b, count, layers, group, r * stages, stages)
        slowest = max(slowest, seconds)
        above += busy
        neighbours += per_byte
    exchange = 0.0
    holders = 0.0
    if replicas > 1:
        for s in range(stages):
            share = p.gradient[kind_of(s, stages), layers[s]] / replicas
            seconds, per_byte = exchange_cost(p, share, group, s, replicas, stages)
            exchange = max(exchange, seconds)
            holders += share * per_byte
    idle = 0.0
    for slot in range(replicas * stages):
        idle += p.rates[group[slot], 1]
    time = slowest + exchange
    network = (p.batch // replicas) * p.message_bytes * neighbours + 2 * holders
    return time, count * above + idle * time + network


@compiled
def violation(p, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """Layers that do not fit, summed over slots, and the relative power excess, summed over sites."""
    over = 0
    draw = np.zeros(len(p.caps))
    for r in range(p.replicas[r_index]):
        for s in range(stages):
            k = group[r * stages + s]
            over += max(0, layers[s] - p.fits[r_index, b, k, kind_of(s, stages)])
            if p.site[k] >= 0:
                draw[p.site[k]] += p.rates[k, 2]
    return over, power_excess(p, draw)


@compiled
def power_excess(p, draw):  # type: ignore[no-untyped-def]
    """Relative excess over the power caps for a draw (W) at each site, summed."""
    excess = 0.0
    for site in range(len(p.caps)):
        excess += max(0.0, draw[site] / p.caps[site] - 1.0)
    return excess


@compiled
def cap_excess(p, time, energy):  # type: ignore[no-untyped-def]
    """Relative excess over the caps on time and energy."""
    return max(0.0, time / p.goal[TIME_CAP] - 1.0) + max(0.0, energy / p.goal[ENERGY_CAP] - 1.0)


@compiled
def goal_value(p, time, energy):  # type: ignore[no-untyped-def]
    """The goal's weighted sum."""
    return p.goal[TIME_WEIGHT] * time + p.goal[ENERGY_WEIGHT] * energy
