"""Shift of layers from one stage to another, evaluated incrementally.

`try_shift` fills `result` and leaves the current plan as it was; `do_shift` makes the move.
"""

from __future__ import annotations

from solvers.core.compiled import inlined, inner
from solvers.kernel.evaluation import kind_of, u
from solvers.kernel.move_parts import largest_but, renew_pipeline
from solvers.kernel.packed import (
    ABOVE,
    B_INDEX,
    COUNT,
    FITS,
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
from solvers.kernel.state import exchange_from_ports, score_plan, update_totals
from solvers.kernel.steps import largest_step_but, rank_steps, stage_seconds
from solvers.kernel.surrogate import fourth_power


@inlined
def over_change(o, q, s, before, after):  # type: ignore[no-untyped-def]
    """Change of the layers that do not fit, summed over the holders of stage s, from `before` to `after` layers."""
    change = 0
    stages = q[STAGES]
    fits = q[FITS] + kind_of(s, stages)
    for r in range(q[REPLICAS]):
        most = q[u(fits + 4 * q[u(o.group + r * stages + s)])]
        change += max(0, after - most) - max(0, before - most)
    return change


@inlined
def shifted_pipelines(o, q, f, a, z, size):  # type: ignore[no-untyped-def]
    """Largest T_r, sum of their fourth powers, and energy above idle per micro-batch, after the move."""
    stages = q[STAGES]
    speed = o.speed + 4 * o.groups * q[B_INDEX]
    rounds = float(q[COUNT] - 1)
    head_a, head_z = 1.0 if a == stages - 1 else 0.0, 1.0 if z == stages - 1 else 0.0
    held_a, held_z = float(q[o.layers + a]), float(q[o.layers + z])
    size = float(size)
    slowest = pipelines = above = 0.0
    for r in range(q[REPLICAS]):
        steps = o.steps + 4 * r
        if f[u(steps)] < 0.0:
            rank_steps(o, q, f, r)
        k, g = q[u(o.group + r * stages + a)], q[u(o.group + r * stages + z)]
        i, j = speed + 4 * k, speed + 4 * g
        x, y = stage_seconds(f, i, held_a, head_a)
        v, w = stage_seconds(f, j, held_z, head_z)
        new_x, new_y = stage_seconds(f, i, held_a - size, head_a)
        new_v, new_w = stage_seconds(f, j, held_z + size, head_z)
        forward = max(largest_step_but(f, steps, x), max(new_x, new_v)) - f[u(steps)]
        backward = max(largest_step_but(f, steps + 2, y), max(new_y, new_w)) - f[u(steps + 2)]
        less, more = new_x + new_y - x - y, new_v + new_w - v - w
        seconds = f[u(o.pipeline + 3 * r)] + less + more + rounds * (forward + backward)
        slowest = max(slowest, seconds)
        pipelines += fourth_power(seconds)
        above += f[u(o.rates + 3 * k)] * less + f[u(o.rates + 3 * g)] * more
    return slowest, pipelines, f[ABOVE] + above


@inner
def try_shift(o, q, f, a, z, size, result):  # type: ignore[no-untyped-def]
    """Evaluate moving `size` layers from stage a, which holds more, to stage z."""
    replicas, stages = q[REPLICAS], q[STAGES]
    slowest, pipelines, above = shifted_pipelines(o, q, f, a, z, size)
    over = f[OVER]
    exchange = largest_but(q, f, o.stage, TOP + 3, a, z)
    exchanges, holders = f[SUM_EXCHANGES], f[HOLDERS]
    for s, change in ((a, -size), (z, size)):
        held = q[o.layers + s]
        over += over_change(o, q, s, held, held + change)
        if replicas > 1:
            stage = o.stage + 3 * s
            share = f[o.gradient + kind_of(s, stages) * (o.total + 1) + held + change] / replicas
            seconds = exchange_from_ports(o, q, f, s, share)
            exchange = max(exchange, seconds)
            exchanges += fourth_power(seconds) - fourth_power(f[stage])
            holders += f[stage + 1] * (share - f[stage + 2])
    excess = over + f[POWER]
    idle, neighbours = f[IDLE], f[NEIGHBOURS]
    score_plan(o, q, f, slowest, exchange, pipelines, exchanges, idle, above, neighbours, holders, excess, result)


@inner
def do_shift(o, q, f, a, z, size):  # type: ignore[no-untyped-def]
    """Move `size` layers from stage a to stage z."""
    replicas, stages = q[REPLICAS], q[STAGES]
    for s, change in ((a, -size), (z, size)):
        held = q[o.layers + s]
        f[OVER] += over_change(o, q, s, held, held + change)
        q[o.layers + s] = held + change
        stage = o.stage + 3 * s
        share = f[o.gradient + kind_of(s, stages) * (o.total + 1) + held + change] / replicas
        f[stage + 2] = share
        f[stage] = exchange_from_ports(o, q, f, s, share)
    for r in range(replicas):
        renew_pipeline(o, q, f, r)
    update_totals(o, q, f)
