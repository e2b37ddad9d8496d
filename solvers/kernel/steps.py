"""The two largest steps of each pipeline: a shift needs the largest without the stage that loses layers.

The stage that gains layers only gets slower, so its old step can stay in. Steps are ranked when a shift asks for
them, since most moves are swaps, which evaluate their pipelines from scratch anyway.
"""

from __future__ import annotations

from solvers.core.compiled import inlined, inner
from solvers.kernel.evaluation import u
from solvers.kernel.packed import B_INDEX, STAGES


@inlined
def stage_seconds(f, row, held, heads):  # type: ignore[no-untyped-def]
    """Seconds forward and backward of `held` layers and of 0 or 1 heads, by the speeds in f[row:]."""
    i = u(row)
    return held * f[i] + heads * f[i + u(2)], held * f[i + u(1)] + heads * f[i + u(3)]


@inlined
def insert_step(f, row, seconds):  # type: ignore[no-untyped-def]
    """Put a step among the two largest in f[row:row + 2], largest first."""
    first = f[u(row)]
    f[u(row)] = max(first, seconds)
    f[u(row + 1)] = max(f[u(row + 1)], min(first, seconds))


@inner
def rank_steps(o, q, f, r):  # type: ignore[no-untyped-def]
    """Rank the forward steps of pipeline r, compute and send, and the backward ones."""
    stages = q[STAGES]
    start = o.group + r * stages
    message = o.message_bytes * q[o.sizes + q[B_INDEX]]
    speed = o.speed + 4 * o.groups * q[B_INDEX]
    row = o.steps + 4 * r
    for i in range(4):
        f[row + i] = 0.0
    c = -1
    for s in range(stages):
        k = q[u(start + s)]
        x, y = stage_seconds(f, speed + 4 * k, float(q[u(o.layers + s)]), 1.0 if s == stages - 1 else 0.0)
        insert_step(f, row, x)
        insert_step(f, row + 2, y)
        d = q[u(o.endpoint + k)]
        if s > 0:
            insert_step(f, row, message * f[u(o.link + 2 * (c * o.endpoints + d) + 1)])
            insert_step(f, row + 2, message * f[u(o.link + 2 * (d * o.endpoints + c) + 1)])
        c = d


@inlined
def largest_step_but(f, row, seconds):  # type: ignore[no-untyped-def]
    """Largest of the steps ranked in f[row:row + 2] without one that takes `seconds`; 0 if there is none.

    Steps of equal seconds are interchangeable, so it does not matter whose they are.
    """
    first = f[u(row)]
    return f[u(row + 1)] if first == seconds else first
