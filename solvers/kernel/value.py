"""What a plan given as arrays is worth to the goal; infinite where memory, power or a cap forbids it."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled
from solvers.kernel.cost import measure, violation


@compiled
def plan_value(t, r_index, b, layers, groups):  # type: ignore[no-untyped-def]
    """The goal's value of the plan with these groups (R x S), infinite if it is infeasible."""
    if violation(t, r_index, b, layers, groups) > 0:
        return np.inf
    time, energy = measure(t, b, layers, groups)
    if time > t.time_cap or energy > t.energy_cap:
        return np.inf
    return t.time_weight * time + t.energy_weight * energy
