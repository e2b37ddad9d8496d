"""Costs of leaf models, for both back ends: time and energy of choices above the base that every plan pays."""

from __future__ import annotations

from math import inf
from typing import Generic

import numpy as np

from instances.tables import Floats
from solvers.exact.leaf_assignment import LeafAssignment, V

ROUNDING = 1e-9
"""Relative widening of computed limits: rounding must not lose a plan."""

Terms = list[tuple[float, V]]


def choices(assignment: LeafAssignment[V], r: int, slot: Floats, hop: Floats) -> list[Terms[V]]:
    """The costs of pipeline r by stage and hop, of each of which exactly one is chosen.

    `slot` [last, k, layers] is what a stage costs, `hop` [k, j] what a hop does.
    """
    found: list[Terms[V]] = []
    for s in range(assignment.stages):
        last = int(s == assignment.stages - 1)
        found.append([(float(slot[last, k, held]), x) for (k, held), x in assignment.serve[r, s].items()])
        if not last:
            found.append([(float(hop[k, j]), x) for (k, j), x in assignment.flow[r, s].items()])
    return found


def above_least(terms: Terms[V]) -> tuple[float, Terms[V]]:
    """The least cost, and the costs above it."""
    least = min((cost for cost, _ in terms), default=inf)
    return least, [(cost - least, x) for cost, x in terms]


class TimeTerms(Generic[V]):
    """The iteration time (docs/model.md, Iteration time) but for the gradient exchange.

    Attributes
    ----------
    bases, base
        [r] least s of pipeline r and the exchange, whatever is chosen; the largest of them.
    fills
        [r] s of the first micro-batch above the least, by stage and hop.
    steps
        [r][direction] s of the slowest forward and backward step above the least, over its M - 1 repetitions, by
        stage and hop.
    worst
        More seconds than any plan takes.
    """

    def __init__(self, assignment: LeafAssignment[V]) -> None:
        sub, costs = assignment.subproblem, assignment.subproblem.costs
        self.bases: list[float] = []
        self.fills: list[list[Terms[V]]] = []
        self.steps: list[list[list[Terms[V]]]] = []
        for r in range(assignment.replicas):
            parts = [above_least(terms) for terms in choices(assignment, r, costs.forward + costs.backward, costs.hop)]
            steady = costs.repeats * float(sub.low[r].sum())
            self.bases.append(sum(least for least, _ in parts) + steady + sub.sync_low)
            self.fills.append([terms for _, terms in parts])
            self.steps.append([])
            for way, (slot, send) in enumerate(((costs.forward, costs.send), (costs.backward, costs.send.T))):
                least = float(sub.low[r, way])
                rows = [
                    [(costs.repeats * (step - least), x) for step, x in terms if step > least]
                    for terms in choices(assignment, r, slot, send)
                ]
                self.steps[r].append([row for row in rows if row and costs.repeats])
        self.base = max(self.bases)
        worst = [
            sum(max((cost for cost, _ in terms), default=0.0) for terms in fill)
            + sum(max((cost for row in rows for cost, _ in row), default=0.0) for rows in self.steps[r])
            for r, fill in enumerate(self.fills)
        ]
        longest = max(base + above for base, above in zip(self.bases, worst, strict=True)) - sub.sync_low
        self.worst = (longest + max(sub.sync_low, min(sub.sync_high, _longest_exchange(assignment)))) * (1 + ROUNDING)


def _longest_exchange(assignment: LeafAssignment[V]) -> float:
    """More seconds than any gradient exchange takes."""
    tables, replicas = assignment.tables, assignment.replicas
    if replicas == 1:
        return 0.0
    used = np.flatnonzero(assignment.subproblem.can_serve.any(axis=(0, 1, 3)))
    share = float(tables.gradient[..., : assignment.subproblem.costs.width].max()) / replicas
    return 2 * replicas * float((tables.latency + share / tables.bandwidth)[np.ix_(used, used)].max())


class EnergyTerms(Generic[V]):
    """The energy (docs/model.md, Energy) but for the gradient exchange, and for waiting longer than the base time.

    Attributes
    ----------
    base
        Least energy of any plan that takes the base time.
    choices
        Energy of a choice above the least, by pipeline, stage and hop; idle power over the base time included.
    least_idle, most_idle
        Least idle power of all slots together; most of one GPU.
    """

    def __init__(self, assignment: LeafAssignment[V], time: TimeTerms[V]) -> None:
        costs = assignment.subproblem.costs
        slot = costs.above_idle + (assignment.tables.idle * time.base)[None, :, None]
        parts = [
            above_least(terms)
            for r in range(assignment.replicas)
            for terms in choices(assignment, r, slot, costs.hop_energy)
        ]
        self.base = sum(least for least, _ in parts)
        self.choices = [terms for _, terms in parts]
        used, idle = assignment.subproblem.can_serve.any(axis=3), assignment.tables.idle
        self.least_idle = float(np.where(used, idle, np.inf).min(axis=2).sum())
        self.most_idle = float(idle[used.any(axis=0).any(axis=0)].max())
        self._time, self._slots = time, assignment.replicas * assignment.stages

    def time_limit(self, most: float) -> float:
        """Upper bound on the time of a plan whose energy is at most `most`, as its GPUs draw at least idle power."""
        room = (most - self.base) / self.least_idle if self.least_idle > 0 else inf
        return (self._time.base + room) * (1 + 1e-12)

    def worst(self, most_s: float, exchange: float) -> float:
        """More energy than any plan needs that takes at most `most_s`, with so much for the gradient exchange."""
        dearest = sum(max((cost for cost, _ in terms), default=0.0) for terms in self.choices)
        waiting = self.most_idle * self._slots * max(0.0, most_s - self._time.base)
        # Widened for rounding: all these together may be less than the last digit of the base.
        return (self.base + dearest + exchange + waiting) * (1 + ROUNDING)
