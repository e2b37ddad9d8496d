"""The current plan: everything that incremental evaluation needs, computed from scratch, and its totals.

The GPUs that the plan leaves out follow the used slots in `group`: selecting, dropping and rearranging GPUs are then
all swaps of two positions, and no GPU can be used twice.
"""

from __future__ import annotations

from solvers.core.compiled import inlined, inner
from solvers.kernel.evaluation import (
    MANY_HOLDERS,
    cap_excess,
    count_endpoints,
    goal_value,
    kind_of,
    missing_links,
    pipeline_cost,
    u,
)
from solvers.kernel.packed import (
    ABOVE,
    B_INDEX,
    COUNT,
    ENERGY,
    ENERGY_WEIGHT,
    EXCESS,
    FITS,
    GOAL,
    HOLDERS,
    IDLE,
    NEIGHBOURS,
    OVER,
    PENALTY,
    POWER,
    R_INDEX,
    REPLICAS,
    SCORE,
    SLOTS,
    STAGES,
    SUM_EXCHANGES,
    SUM_PIPELINES,
    SURROGATE,
    TIME,
    TIME_WEIGHT,
    TOP,
    VALUE,
)
from solvers.kernel.surrogate import fourth_power, power_mean


@inlined
def rank_top(q, f, table, count, start):  # type: ignore[no-untyped-def]
    """Write to q[start:start + 3] the rows with the largest first entries of f[table:], rows of three; -1 for none."""
    first = second = third = -1
    most = more = much = -1.0
    for row in range(count):
        value = f[u(table + 3 * row)]
        if value > most:
            first, second, third = row, first, second
            most, more, much = value, most, more
        elif value > more:
            second, third = row, second
            more, much = value, more
        elif value > much:
            third = row
            much = value
    q[start] = first
    q[start + 1] = second
    q[start + 2] = third


@inlined
def score_plan(o, q, f, slowest, exchange, pipelines, exchanges, idle, above, neighbours, holders, excess, result):  # type: ignore[no-untyped-def]
    """Fill `result` from the parts of a plan.

    Parameters
    ----------
    slowest, exchange
        max T_r and max D_s.
    pipelines, exchanges
        Sums of the fourth powers of T_r and of D_s: the surrogate that distinguishes plans of equal T.
    idle, above, neighbours, holders
        As the entries of f.
    excess
        Violation of memory, links and power.
    """
    replicas = q[REPLICAS]
    time = slowest + exchange
    energy = q[COUNT] * above + idle * time
    if o.link_energy:
        energy += (o.batch // replicas) * o.message_bytes * neighbours + 2 * holders
    excess += cap_excess(f, time, energy)
    value = goal_value(f, time, energy)
    result[TIME] = time
    result[ENERGY] = energy
    result[EXCESS] = excess
    result[VALUE] = value
    surrogate = f[GOAL + SURROGATE] * (power_mean(pipelines, replicas) + power_mean(exchanges, q[STAGES]))
    score = value + (f[GOAL + TIME_WEIGHT] + f[GOAL + ENERGY_WEIGHT] * idle) * surrogate
    result[SCORE] = score * (1.0 + f[GOAL + PENALTY] * excess)


@inner
def update_totals(o, q, f):  # type: ignore[no-untyped-def]
    """Totals, ranks and result from the per-pipeline and per-stage parts, which must be up to date."""
    replicas, stages = q[REPLICAS], q[STAGES]
    rank_top(q, f, o.pipeline, replicas, TOP)
    rank_top(q, f, o.stage, stages, TOP + 3)
    above = neighbours = holders = pipelines = exchanges = 0.0
    for r in range(replicas):
        i = o.pipeline + 3 * r
        pipelines += fourth_power(f[i])
        above += f[i + 1]
        neighbours += f[i + 2]
    for s in range(stages):
        i = o.stage + 3 * s
        exchanges += fourth_power(f[i])
        holders += f[i + 1] * f[i + 2]
    f[ABOVE], f[NEIGHBOURS], f[HOLDERS] = above, neighbours, holders
    f[SUM_PIPELINES], f[SUM_EXCHANGES] = pipelines, exchanges
    excess = 0.0
    for site in range(o.sites):
        excess += max(0.0, f[o.draw + site] / f[o.caps + site] - 1.0)
    f[POWER] = excess
    slowest = f[o.pipeline + 3 * q[TOP]]
    exchange = f[o.stage + 3 * q[TOP + 3]]
    excess += f[OVER]
    score_plan(o, q, f, slowest, exchange, pipelines, exchanges, f[IDLE], above, neighbours, holders, excess, f)


@inner
def load_ports_of_many(o, q, f, s):  # type: ignore[no-untyped-def]
    """`load_ports` up to rounding, but by endpoint instead of by pair of holders."""
    replicas, stages = q[REPLICAS], q[STAGES]
    distinct = count_endpoints(o, q, f, q[o.group : o.group + q[SLOTS]], s, replicas, stages)
    counted, first = o.port_sums, o.port_sums + o.endpoints  # how many hold an endpoint, and 1 + the first of them
    for i in range(distinct):
        f[u(first + q[u(o.stage_endpoints + i)])] = 0.0
    per_byte = 0.0
    for r in range(replicas):
        c = q[u(o.slot_endpoint + r * stages + s)]
        port = u(o.port + 4 * (r * stages + s))
        if f[u(first + c)] > 0.0:
            alike = u(o.port + 4 * ((int(f[u(first + c)]) - 1) * stages + s))
            for entry in range(4):
                f[port + u(entry)] = f[alike + u(entry)]
            continue
        f[u(first + c)] = r + 1.0
        latency_out = inverse_out = latency_in = inverse_in = 0.0
        for i in range(distinct):
            d = q[u(o.stage_endpoints + i)]
            others = f[u(counted + d)] - (1.0 if c == d else 0.0)
            there = u(o.link + 2 * (c * o.endpoints + d))
            back = u(o.link + 2 * (d * o.endpoints + c))
            latency_out += others * f[there]
            inverse_out += others * f[there + u(1)]
            latency_in += others * f[back]
            inverse_in += others * f[back + u(1)]
            if o.link_energy:
                per_byte += f[u(counted + c)] * others * f[u(o.joules + c * o.endpoints + d)] / 2
        f[port], f[port + u(1)], f[port + u(2)], f[port + u(3)] = latency_out, inverse_out, latency_in, inverse_in
    f[o.stage + 3 * s + 1] = per_byte


@inlined
def load_ports(o, q, f, s):  # type: ignore[no-untyped-def]
    """Sums over the other holders, for each slot of stage s, and the J/byte of the stage."""
    replicas, stages = q[REPLICAS], q[STAGES]
    per_byte = 0.0
    first, step = o.port + 4 * s, 4 * stages
    for r in range(replicas):
        for entry in range(4):
            f[u(first + step * r + entry)] = 0.0
    # Each pair once: what leaves one port enters another.
    for r in range(replicas):
        c = q[u(o.slot_endpoint + r * stages + s)]
        port = u(first + step * r)
        latency_out, inverse_out, latency_in, inverse_in = f[port], f[port + u(1)], f[port + u(2)], f[port + u(3)]
        for z in range(r + 1, replicas):
            d = q[u(o.slot_endpoint + z * stages + s)]
            i = u(o.link + 2 * (c * o.endpoints + d))
            other = u(first + step * z)
            latency_out += f[i]
            inverse_out += f[i + u(1)]
            if o.symmetric:
                f[other] += f[i]
                f[other + u(1)] += f[i + u(1)]
            else:
                j = u(o.link + 2 * (d * o.endpoints + c))
                latency_in += f[j]
                inverse_in += f[j + u(1)]
                f[other] += f[j]
                f[other + u(1)] += f[j + u(1)]
                f[other + u(2)] += f[i]
                f[other + u(3)] += f[i + u(1)]
            if o.link_energy:
                per_byte += f[u(o.joules + c * o.endpoints + d)]
        if o.symmetric:
            latency_in, inverse_in = latency_out, inverse_out
        f[port], f[port + u(1)], f[port + u(2)], f[port + u(3)] = latency_out, inverse_out, latency_in, inverse_in
    f[o.stage + 3 * s + 1] = per_byte


@inlined
def exchange_from_ports(o, q, f, s, share):  # type: ignore[no-untyped-def]
    """D_s for a share of `share` bytes."""
    worst = 0.0
    stages = q[STAGES]
    for r in range(q[REPLICAS]):
        i = u(o.port + 4 * (r * stages + s))
        worst = max(worst, f[i] + share * f[i + u(1)])
        if not o.symmetric:
            worst = max(worst, f[i + u(2)] + share * f[i + u(3)])
    return 2 * worst


@inner
def load(o, q, f, r_index, b, stages):  # type: ignore[no-untyped-def]
    """Compute from scratch everything about the plan whose split and placement lie in q, on this grid."""
    replicas = q[o.replicas + r_index]
    count = o.batch // (replicas * q[o.sizes + b])
    q[REPLICAS], q[STAGES], q[R_INDEX], q[B_INDEX] = replicas, stages, r_index, b
    q[COUNT], q[SLOTS] = count, replicas * stages
    fits = o.fits + 4 * o.groups * (r_index * o.choices + b)
    q[FITS] = fits
    idle = 0.0
    over = 0
    for site in range(o.sites):
        f[o.draw + site] = 0.0
    for r in range(replicas):
        start = o.group + r * stages
        seconds, above, per_byte = pipeline_cost(o, q, f, b, count, q, o.layers, q, start, stages)
        i = o.pipeline + 3 * r
        f[i], f[i + 1], f[i + 2] = seconds, above, per_byte
        f[o.steps + 4 * r] = -1.0
        for s in range(stages):
            k = q[u(start + s)]
            q[u(o.slot_endpoint + r * stages + s)] = q[u(o.endpoint + k)]
            idle += f[u(o.rates + 3 * k + 1)]
            over += max(0, q[u(o.layers + s)] - q[u(fits + 4 * k + kind_of(s, stages))])
            site = q[u(o.site + k)]
            if site >= 0:
                f[u(o.draw + site)] += f[u(o.rates + 3 * k + 2)]
    f[IDLE], f[OVER] = idle, over + missing_links(o, q, q, o.group, replicas, stages)
    for s in range(stages):
        share = f[o.gradient + kind_of(s, stages) * (o.total + 1) + q[o.layers + s]] / replicas
        f[o.stage + 3 * s + 2] = share
        if replicas > MANY_HOLDERS:
            load_ports_of_many(o, q, f, s)
        else:
            load_ports(o, q, f, s)
        f[o.stage + 3 * s] = exchange_from_ports(o, q, f, s, share)
    update_totals(o, q, f)
