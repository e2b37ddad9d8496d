"""Shift of layers from one stage to another, evaluated incrementally.

`try_shift` fills `result` and leaves the plan in work as it was; `do_shift` makes the move.
"""

from __future__ import annotations

from solvers.compiled import inner
from solvers.kernel.full import kind_of, pipeline_cost, u
from solvers.kernel.packed import (
    B_INDEX,
    COUNT,
    HOLDERS,
    IDLE,
    NEIGHBOURS,
    OVER,
    POWER,
    REPLICAS,
    STAGES,
    SUM_EXCHANGES,
    TOP,
)
from solvers.kernel.parts import largest_but, over_in, renew_pipeline
from solvers.kernel.state import conclude, exchange_from_ports, judge


@inner
def over_of_stage(o, q, s):  # type: ignore[no-untyped-def]
    """Layers of stage s that do not fit, over its holders."""
    over = 0
    held = q[o.layers + s]
    stages = q[STAGES]
    for r in range(q[REPLICAS]):
        slot = r * stages + s
        over += over_in(o, q, slot, q[u(o.group + slot)], held)
    return over


@inner
def try_shift(o, q, f, a, z, size, result):  # type: ignore[no-untyped-def]
    """Evaluate moving `size` layers from stage a, which holds more, to stage z."""
    replicas, stages, b, count = q[REPLICAS], q[STAGES], q[B_INDEX], q[COUNT]
    over = f[OVER] - over_of_stage(o, q, a) - over_of_stage(o, q, z)
    q[o.layers + a] -= size
    q[o.layers + z] += size
    over += over_of_stage(o, q, a) + over_of_stage(o, q, z)
    slowest = pipelines = above = 0.0
    for r in range(replicas):
        start = o.group + r * stages
        seconds, busy, _ = pipeline_cost(o, q, f, b, count, q, o.layers, q, start, stages)
        slowest = max(slowest, seconds)
        pipelines += seconds
        above += busy
    exchange = largest_but(q, f, o.stage, TOP + 3, a, z)
    exchanges, holders = f[SUM_EXCHANGES], f[HOLDERS]
    if replicas > 1:
        for s in (a, z):
            stage = o.stage + 3 * s
            share = f[o.gradient + kind_of(s, stages) * (o.total + 1) + q[o.layers + s]] / replicas
            seconds = exchange_from_ports(o, q, f, s, share)
            exchange = max(exchange, seconds)
            exchanges += seconds - f[stage]
            holders += f[stage + 1] * (share - f[stage + 2])
    q[o.layers + a] += size
    q[o.layers + z] -= size
    excess = over + f[POWER]
    idle, neighbours = f[IDLE], f[NEIGHBOURS]
    judge(o, q, f, slowest, exchange, pipelines, exchanges, idle, above, neighbours, holders, excess, result)


@inner
def do_shift(o, q, f, a, z, size):  # type: ignore[no-untyped-def]
    """Move `size` layers from stage a to stage z."""
    replicas, stages = q[REPLICAS], q[STAGES]
    f[OVER] -= over_of_stage(o, q, a) + over_of_stage(o, q, z)
    q[o.layers + a] -= size
    q[o.layers + z] += size
    f[OVER] += over_of_stage(o, q, a) + over_of_stage(o, q, z)
    for r in range(replicas):
        renew_pipeline(o, q, f, r)
    for s in (a, z):
        stage = o.stage + 3 * s
        share = f[o.gradient + kind_of(s, stages) * (o.total + 1) + q[o.layers + s]] / replicas
        f[stage + 2] = share
        f[stage] = exchange_from_ports(o, q, f, s, share)
    conclude(o, q, f)
