"""Cheap lower bounds on every legal grid, from the instance and the goal alone: they order and prune grids.

Each bound assumes the best GPUs that a grid could get, one property at a time. The same instance and goal always
give the same bounds, so `verify` can recompute those of a stored proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.objective import CAP_SLACK, Goal
from instances.tables import Floats, Grid, Ints, Tables
from solvers.exact.balance import Balance

SAFETY = 1e-9
"""Relative lowering of every bound: far above the rounding of the sums behind it, far below any gap claimed."""


@dataclass(frozen=True)
class GridBound:
    """Lower bounds that hold for every feasible plan on a grid.

    `value` is on the objective and None if no plan on the grid can be feasible. `steps` are on the slowest
    forward and backward steps (s) of a single pipeline, `worst_steps` on the slowest over all pipelines.
    """

    grid: Grid
    value: float | None
    time_s: float
    energy: float
    sync_s: float
    steps: tuple[float, float]
    worst_steps: tuple[float, float]


def grid_bounds(tables: Tables, goal: Goal) -> list[GridBound]:
    """The bounds of all legal grids, in the order of `Tables.grids`."""
    found: dict[Grid, GridBound] = {}
    grids = tables.grids()
    for size in tables.micro_batches:
        speeds = _Speeds(tables, size)
        for replicas in tables.replicas:
            family = [grid for grid in grids if grid.replicas == replicas and grid.micro_batch == size]
            if family:
                found |= {bound.grid: bound for bound in _Family(tables, goal, speeds, family).bounds()}
    return [found[grid] for grid in grids]


def instant_bound(tables: Tables, goal: Goal) -> float | None:
    """An immediate bound over all grids: all work shared perfectly, or done by the GPUs that need least energy.

    None if it already proves that there is no plan.
    """
    times, energies = [], []
    for b, size in enumerate(tables.micro_batches):
        rates = (tables.forward + tables.backward)[b, :, 0, 1]  # [k] s of one layer and micro-batch
        layers = tables.batch // size * tables.layers
        times.append(layers / float((tables.counts / rates).sum()))
        energies.append(layers * float((tables.active * rates).min()))
    if not times:
        return None
    return bound_value(goal, min(times) * (1 - SAFETY), min(energies) * (1 - SAFETY))


class _Speeds:
    """Every GPU's speed and fastest hops at one micro-batch size."""

    def __init__(self, tables: Tables, micro_batch: int) -> None:
        self.tables = tables
        self.b = tables.micro_batches.index(micro_batch)
        self.gpus: Ints = np.repeat(np.arange(len(tables.counts)), tables.counts)
        forward, backward = tables.forward[self.b], tables.backward[self.b]
        both = forward + backward
        self.balances = [Balance(table, self.gpus) for table in (forward, backward, both)]
        self.rates: Floats = both[:, 0, 1]  # [k] of one layer, forward and backward
        self.head: Floats = both[:, 1, 1] - both[:, 0, 1]  # [k]
        send, latency = tables.send[self.b], tables.latency
        self.hops = self.best_partner(send + send.T + latency + latency.T)
        self.sends = [np.sort(self.best_partner(table)) for table in (send, send.T)]

    def best_partner(self, matrix: Floats) -> Floats:
        """Every GPU's least entry in its row; the diagonal counts only in groups of several GPUs."""
        matrix = matrix.copy()
        matrix[np.diag_indices_from(matrix)] = np.where(self.tables.counts > 1, matrix.diagonal(), np.inf)
        best: Floats = matrix.min(axis=1)[self.gpus]
        return best


class _Family:
    """All grids with one replica count and micro-batch size: they differ in their number of stages only."""

    def __init__(self, tables: Tables, goal: Goal, speeds: _Speeds, grids: list[Grid]) -> None:
        self.tables, self.goal, self.speeds, self.grids = tables, goal, speeds, grids
        self.replicas = grids[0].replicas
        self.count = tables.micro_batch_count(grids[0])
        r, b = tables.indices(grids[0])
        self.fits: Ints = tables.fits[r, b].max(axis=(1, 2))  # [k] at any position in a pipeline
        self.powered = powered_gpus(tables)
        most = max(grid.stages for grid in grids)
        # [stages] of a single pipeline, and of the slowest of all
        self.alone = [balance.least_limits(self.fits, 1, most) for balance in speeds.balances]
        self.worst = [balance.least_limits(self.fits, self.replicas, most) for balance in speeds.balances]

    def bounds(self) -> list[GridBound]:
        """The bounds of the family's grids."""
        return [self._bound(grid) for grid in self.grids]

    def _bound(self, grid: Grid) -> GridBound:
        s, replicas = grid.stages, self.replicas
        if not np.isfinite(self.worst[0][s]) or replicas * s > self.powered:
            return GridBound(grid, None, np.inf, np.inf, 0.0, (0.0, 0.0), (0.0, 0.0))
        # A pipeline has sends from s - 1 different GPUs, so its slowest is at least the (s - 1)-th fastest.
        hops = [float(sends[s - 2]) if s > 1 else 0.0 for sends in self.speeds.sends]
        forward, backward = (max(float(self.alone[i][s]), hops[i]) for i in (0, 1))
        worst_forward, worst_backward = (max(float(self.worst[i][s]), (forward, backward)[i]) for i in (0, 1))
        # The slowest pipeline is at least as slow as the one with the slowest step, and as the average.
        worst_both = max(float(self.worst[2][s]), worst_forward + backward, forward + worst_backward)
        pipeline = max(
            self._fill_seconds(s, 1) + (self.count - 1) * worst_both,
            self._fill_seconds(s, replicas) + (self.count - 1) * (forward + backward),
        )
        sync = self._sync_seconds(s)
        time = (pipeline + sync) * (1 - SAFETY)
        energy = self._energy(s, time) * (1 - SAFETY)
        value = bound_value(self.goal, time, energy)
        steps, worst_steps = (forward, backward), (worst_forward, worst_backward)
        return GridBound(grid, value, time, energy, sync, steps, worst_steps)

    def _fill_seconds(self, stages: int, replicas: int) -> float:
        """One micro-batch through `replicas` pipelines, on average: compute and hops."""
        speeds, gpus = self.speeds, self.speeds.gpus
        compute = self._cheapest_layers(speeds.rates, stages, replicas) + _least(speeds.head[gpus], replicas)
        return (compute + _least(speeds.hops, replicas * (stages - 1))) / replicas

    def _cheapest_layers(self, rates: Floats, stages: int, replicas: int) -> float:
        """Least total of `rates` over all layers of `replicas` pipelines, each slot holding one at least."""
        gpus = self.speeds.gpus
        order = gpus[np.argsort(rates[gpus], kind="stable")]
        order = order[self.fits[order] >= 1]
        slots, more = replicas * stages, replicas * (self.tables.layers - stages)
        room = np.minimum(np.cumsum(self.fits[order] - 1), more)
        taken = np.diff(room, prepend=0)
        # Layers that only GPUs beyond the listed ones could hold cost at least as much as the last listed.
        rest = (more - room[-1]) * rates[order[-1]]
        return float(rates[order[:slots]].sum() + (taken * rates[order]).sum() + rest)

    def _sync_seconds(self, stages: int) -> float:
        """Some stage holds at least the average number of layers, and the end stages hold the embeddings."""
        replicas, layers = self.replicas, self.tables.layers
        if replicas == 1:
            return 0.0
        gradient = self.tables.gradient
        average = -(-layers // stages)
        if stages == 1:
            return self.exchange(float(gradient[1, 1, layers]))
        return max(
            self.exchange(float(gradient[0, 0, average])),
            self.exchange(float(max(gradient[1, 0, 1], gradient[0, 1, 1]))),
        )

    def exchange(self, gradient: float) -> float:
        """Least seconds to exchange a gradient of so many bytes among any holders."""
        cost = self.tables.latency + gradient / self.replicas / self.tables.bandwidth
        return float(2 * cheapest_partners(np.minimum(cost, np.inf), self.tables.counts, self.replicas).min())

    def _energy(self, stages: int, time: float) -> float:
        """Energy of busy GPUs above idle, of all used GPUs idling for the whole time, and of links."""
        tables, replicas, speeds, gpus = self.tables, self.replicas, self.speeds, self.speeds.gpus
        above = tables.active - tables.idle
        busy = self._cheapest_layers(above * speeds.rates, stages, replicas)
        busy += _least((above * speeds.head)[gpus], replicas)
        idle = _least(tables.idle[gpus], replicas * stages)
        per_byte = tables.per_byte
        hops = speeds.best_partner(per_byte + per_byte.T)
        moved = tables.batch // replicas * tables.message_bytes
        links = moved * _least(hops, replicas * (stages - 1))
        if replicas > 1:
            pairs = (replicas - 1) * 2 * float(tables.gradient[0, 0, tables.layers])
            links += pairs * float(speeds.best_partner(per_byte).min())
        return self.count * busy + idle * time + links


def bound_value(goal: Goal, time: float, energy: float) -> float | None:
    """The objective value of lower bounds on time and energy; None if they break a cap."""
    for bound, cap in ((time, goal.time_cap), (energy, goal.energy_cap)):
        if cap is not None and bound > cap * (1 + 2 * CAP_SLACK):
            return None
    return goal.time_weight * time + goal.energy_weight * energy


def cheapest_partners(cost: Floats, counts: Ints, replicas: int) -> Floats:
    """[k] least sum of `cost[k, j]` over replicas - 1 other GPUs; infinite where there are too few."""
    columns = np.repeat(np.arange(len(counts)), np.minimum(counts, replicas))
    if len(columns) < replicas:
        return np.full(len(counts), np.inf)
    row = cost[:, columns]
    # A GPU is not its own partner; a group with GPUs to spare still has `replicas` - 1 others listed.
    own = np.searchsorted(columns, np.arange(len(counts)))
    row[np.arange(len(counts)), own] = np.inf
    found: Floats = np.sort(row, axis=1)[:, : replicas - 1].sum(axis=1)
    return found


def powered_gpus(tables: Tables) -> int:
    """Most GPUs that the power caps of the sites let run at once."""
    total = int(tables.counts[tables.site < 0].sum())
    for site, cap in enumerate(tables.power_caps):
        left = float(cap)
        here = np.flatnonzero(tables.site == site)
        lost = (
            float(np.finfo(float).eps) * len(here) * float(tables.counts[here].sum())
        )  # GPUs that the rounding of `left` may cost
        for k in here[np.argsort(tables.power[here], kind="stable")]:
            running = min(int(tables.counts[k]), int(left / tables.power[k] * (1 + SAFETY) + lost))
            left -= running * float(tables.power[k])
            total += running
    return total


def _least(values: Floats, count: int) -> float:
    """Sum of the `count` least values."""
    if count <= 0:
        return 0.0
    return float(np.sort(values)[:count].sum())
