"""Many plans priced fast on the way to one that the referee prices: the compiled cost model behind one door."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from instances.objective import Goal
from instances.tables import Ints, Tables

if TYPE_CHECKING:
    from solvers.kernel.packed import Packed


class Price(NamedTuple):
    """Time (s) and energy (in the goal's figure) of a feasible plan."""

    time_s: float
    energy: float


def packed_problem(tables: Tables, goal: Goal) -> Packed:
    """The arrays that compiled code reads; loads numba, so only while solving."""
    from solvers.kernel.packed import pack

    return pack(tables, goal)


def price(packed: Packed, tables: Tables, micro_batch: int, layers: Ints, groups: Ints) -> Price | None:
    """The cost of the plan with these groups in its slots (R x S); None if memory or power forbids it."""
    from solvers.kernel.full import measure, violation

    replicas, stages = groups.shape
    where = tables.replicas.index(replicas), tables.micro_batches.index(micro_batch), stages
    flat = groups.ravel()
    over, power = violation(packed, *where, layers, flat)
    if over or power:
        return None
    time_s, energy = measure(packed, *where, layers, flat)
    return Price(float(time_s), float(energy))
