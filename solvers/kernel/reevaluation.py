"""Evaluates a plan on the same grid that differs a lot from the current one; stages that are alike are not redone."""

from __future__ import annotations

from solvers.core.compiled import inner
from solvers.kernel.evaluation import exchange_cost, kind_of, missing_links, pipeline_cost, power_excess, u
from solvers.kernel.packed import B_INDEX, COUNT, FITS, REPLICAS, STAGES
from solvers.kernel.state import exchange_from_ports, score_plan
from solvers.kernel.surrogate import fourth_power


@inner
def try_plan(o, q, f, group, result):  # type: ignore[no-untyped-def]
    """Fill `result` for the split and placement now in q, while everything else still describes the previous plan."""
    replicas, stages = q[REPLICAS], q[STAGES]
    slowest = pipelines = above = neighbours = 0.0
    for r in range(replicas):
        start = o.group + r * stages
        seconds, busy, per_byte = pipeline_cost(o, q, f, q[B_INDEX], q[COUNT], q, o.layers, q, start, stages)
        slowest = max(slowest, seconds)
        pipelines += fourth_power(seconds)
        above += busy
        neighbours += per_byte
    exchange = exchanges = holders = idle = 0.0
    over = 0
    for s in range(stages):
        held = q[u(o.layers + s)]
        moved = False
        for r in range(replicas):
            slot = r * stages + s
            k = q[u(o.group + slot)]
            moved = moved or q[u(o.endpoint + k)] != q[u(o.slot_endpoint + slot)]
            idle += f[u(o.rates + 3 * k + 1)]
            over += max(0, held - q[u(q[FITS] + 4 * k + kind_of(s, stages))])
        share = f[u(o.gradient + kind_of(s, stages) * (o.total + 1) + held)] / replicas
        stage = o.stage + 3 * s
        seconds, per_byte = f[stage], f[stage + 1]
        if moved:
            seconds, per_byte = exchange_cost(o, q, f, share, group, s, replicas, stages)
        elif share != f[stage + 2]:
            seconds = exchange_from_ports(o, q, f, s, share)
        exchange = max(exchange, seconds)
        exchanges += fourth_power(seconds)
        holders += per_byte * share
    over += missing_links(o, q, q, o.group, replicas, stages)
    excess = over + power_excess(o, q, f, group, replicas * stages)
    score_plan(o, q, f, slowest, exchange, pipelines, exchanges, idle, above, neighbours, holders, excess, result)
