"""Parts of the current plan that swaps and shifts both need."""

from __future__ import annotations

from solvers.core.compiled import inlined, inner
from solvers.kernel.evaluation import kind_of, pipeline_cost, u
from solvers.kernel.packed import (
    B_INDEX,
    COUNT,
    FITS,
    STAGES,
)


@inlined
def largest_but(q, f, table, start, a, b):  # type: ignore[no-untyped-def]
    """Largest first entry of f[table:], rows of three, excluding rows a and b, by the ranks in q[start:start + 3]."""
    for i in range(start, start + 3):
        row = q[i]
        if row != a and row != b:
            return f[table + 3 * row] if row >= 0 else 0.0
    return 0.0


@inlined
def over_in(o, q, slot, k, held):  # type: ignore[no-untyped-def]
    """How many of `held` layers in a slot would not fit a GPU of group k."""
    stages = q[STAGES]
    return max(0, held - q[u(q[FITS] + 4 * k + kind_of(slot % stages, stages))])


@inner
def renew_pipeline(o, q, f, r):  # type: ignore[no-untyped-def]
    """Recompute the entries of one pipeline."""
    stages = q[STAGES]
    start = o.group + r * stages
    seconds, above, per_byte = pipeline_cost(o, q, f, q[B_INDEX], q[COUNT], q, o.layers, q, start, stages)
    i = o.pipeline + 3 * r
    f[i], f[i + 1], f[i + 2] = seconds, above, per_byte
    f[o.steps + 4 * r] = -1.0
