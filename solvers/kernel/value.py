"""The objective value of a plan given as arrays; infinite where memory, power or a cap forbids it."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled, inner
from solvers.kernel.evaluation import cap_excess, goal_value, measure, violation


@inner
def plan_value(o, q, f, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """The goal's value of a plan, infinite if it is infeasible; arguments as of `evaluation.measure`."""
    over, power = violation(o, q, f, r_index, b, stages, layers, group)
    if over > 0 or power > 0.0:
        return np.inf
    time, energy = measure(o, q, f, r_index, b, stages, layers, group)
    return np.inf if cap_excess(f, time, energy) > 0.0 else goal_value(f, time, energy)


@compiled
def value_of_arrays(o, q, f, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """`plan_value`, for callers in Python."""
    return plan_value(o, q, f, r_index, b, stages, layers, group)
