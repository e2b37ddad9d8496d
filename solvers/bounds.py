"""Cheap lower bounds on every legal grid, from the instance and the goal alone: they order and prune grids.

Each bound counts on the best GPUs that a grid could get, one property at a time. The same instance and goal
always give the same bounds, so a stored proof can be checked by making them again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.objective import CAP_SLACK, Goal
from instances.tables import Floats, Grid, Ints, Tables

SAFETY = 1e-9
"""Relative lowering of every bound: far above the rounding of the sums behind it, far below any gap claimed."""

BALANCE_WORK = 50_000
"""Entries that one balance may sort: with many GPUs, fewer limits are told apart."""


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
    for pair in dict.fromkeys((grid.replicas, grid.micro_batch) for grid in grids):
        family = [grid for grid in grids if (grid.replicas, grid.micro_batch) == pair]
        for bound in _Family(tables, goal, *pair, family[-1].stages).bounds(family):
            found[bound.grid] = bound
    return [found[grid] for grid in grids]


class _Family:
    """All grids of one replica count and one micro-batch size: they differ in their stages only."""

    def __init__(self, tables: Tables, goal: Goal, replicas: int, micro_batch: int, most_stages: int) -> None:
        self.tables, self.goal, self.replicas = tables, goal, replicas
        self.r, self.b = tables.indices(Grid(replicas, 1, micro_batch))
        self.count = tables.micro_batch_count(Grid(replicas, 1, micro_batch))
        self.most_stages = most_stages
        self.fits = tables.fits[self.r, self.b].max(axis=(1, 2))  # [k] at any position in a pipeline
        self.forward, self.backward = tables.forward[self.b], tables.backward[self.b]
        # Every GPU that could be needed, as the position of its group.
        self.gpus: Ints = np.repeat(np.arange(len(tables.counts)), np.minimum(tables.counts, replicas * most_stages))

    def bounds(self, grids: list[Grid]) -> list[GridBound]:
        """The bounds of the family's grids."""
        tables, goal, replicas = self.tables, self.goal, self.replicas
        both = self.forward + self.backward
        alone = [self._balance(table, 1) for table in (self.forward, self.backward)]
        worst = [self._balance(table, replicas) for table in (self.forward, self.backward, both)]
        hops = self._hop_seconds()
        found = []
        for grid in grids:
            s = grid.stages
            if not np.isfinite(worst[0][s]) or replicas * s > powered_gpus(tables):
                found.append(GridBound(grid, None, np.inf, np.inf, 0.0, (0.0, 0.0), (0.0, 0.0)))
                continue
            step_hops = [self._kth_hop(table, s) for table in (tables.send[self.b], tables.send[self.b].T)]
            steps = max(float(alone[0][s]), step_hops[0]), max(float(alone[1][s]), step_hops[1])
            worst_steps = max(float(worst[0][s]), steps[0]), max(float(worst[1][s]), steps[1])
            # The pipeline with the slowest step and the average pipeline are both no slower than the slowest.
            worst_both = max(float(worst[2][s]), worst_steps[0] + steps[1], steps[0] + worst_steps[1])
            sync = self._sync_seconds(s)
            pipeline = max(
                self._fill_seconds(s, 1, hops) + (self.count - 1) * worst_both,
                self._fill_seconds(s, replicas, hops) + (self.count - 1) * sum(steps),
            )
            time = (pipeline + sync) * (1 - SAFETY)
            energy = self._energy(s, time) * (1 - SAFETY)
            found.append(GridBound(grid, bound_value(goal, time, energy), time, energy, sync, steps, worst_steps))
        return found

    def _balance(self, table: Floats, replicas: int) -> Floats:
        """[stages] the least limit on a stage's seconds under which the stages can hold all layers.

        A stage holds what the weakest of its `replicas` GPUs can, and the stages share out the best GPUs.
        Infinite where memory alone forbids a grid.
        """
        limits = np.unique(table[self.gpus].ravel())
        # A limit is treated as if it were just below the next one listed, so leaving some out is safe.
        limits = limits[:: len(limits) // max(64, BALANCE_WORK // len(self.gpus)) + 1]
        enough = self._capacity(table, np.append(np.nextafter(limits[1:], 0), np.inf), replicas) >= self.tables.layers
        return np.where(enough.any(axis=0), limits[enough.argmax(axis=0)], np.inf)

    def _capacity(self, table: Floats, limits: Floats, replicas: int) -> Ints:
        """[limit, stages] most layers that so many stages can hold if none takes longer than the limit."""
        held, held_last = (np.minimum(_most_layers(table[:, last], limits), self.fits) for last in (0, 1))
        # The head takes the place of layers in the last stage, wherever that does least harm.
        harm = np.where(held_last >= 1, held - held_last, self.tables.layers + 1).min(axis=1)
        best = -np.sort(-held[:, self.gpus], axis=1)[:, replicas - 1 :: replicas][:, : self.most_stages]
        # A stage without a layer is none: it takes all that the others hold.
        total = np.cumsum(np.where(best > 0, best, -self.tables.layers * self.most_stages), axis=1) - harm[:, None]
        return np.concatenate([np.full((len(limits), 1), -1), total], axis=1)

    def _fill_seconds(self, stages: int, replicas: int, hops: Floats) -> float:
        """One micro-batch through `replicas` pipelines, on average: compute and hops."""
        head = (self.forward + self.backward)[:, 1, 1] - self._rates()
        compute = self._cheapest_layers(self._rates(), stages, replicas) + _least(head[self.gpus], replicas)
        return (compute + _least(hops, replicas * (stages - 1))) / replicas

    def _rates(self) -> Floats:
        """[k] seconds of one layer, forward and backward."""
        return (self.forward + self.backward)[:, 0, 1]

    def _cheapest_layers(self, rates: Floats, stages: int, replicas: int) -> float:
        """Least total of `rates` over all layers of `replicas` pipelines, each slot holding one at least."""
        order = self.gpus[np.argsort(rates[self.gpus], kind="stable")]
        order = order[self.fits[order] >= 1]
        slots, more = replicas * stages, replicas * (self.tables.layers - stages)
        room = np.minimum(np.cumsum(self.fits[order] - 1), more)
        taken = np.diff(room, prepend=0)
        # Layers that only GPUs beyond the listed ones could hold cost at least as much as the last listed.
        rest = (more - room[-1]) * rates[order[-1]]
        return float(rates[order[:slots]].sum() + (taken * rates[order]).sum() + rest)

    def _hop_seconds(self) -> Floats:
        """Every GPU's quickest hop to another one and back, one micro-batch, latency included."""
        send, latency = self.tables.send[self.b], self.tables.latency
        return self._best_partner(send + send.T + latency + latency.T)[self.gpus]

    def _kth_hop(self, seconds: Floats, stages: int) -> float:
        """A pipeline leaves stages - 1 different GPUs; the slowest of its sends is no faster than this."""
        if stages == 1:
            return 0.0
        return float(np.partition(self._best_partner(seconds)[self.gpus], stages - 2)[stages - 2])

    def _best_partner(self, matrix: Floats) -> Floats:
        """[k] least entry of each row; the diagonal counts only in groups of several GPUs."""
        matrix = matrix.copy()
        matrix[np.diag_indices_from(matrix)] = np.where(self.tables.counts > 1, matrix.diagonal(), np.inf)
        best: Floats = matrix.min(axis=1)
        return best

    def _sync_seconds(self, stages: int) -> float:
        """Some stage holds the average number of layers, and the end stages hold the embeddings."""
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
        """Least seconds to average a gradient of so many bytes over any holders."""
        cost = self.tables.latency + gradient / self.replicas / self.tables.bandwidth
        return float(2 * cheapest_partners(np.minimum(cost, np.inf), self.tables.counts, self.replicas).min())

    def _energy(self, stages: int, time: float) -> float:
        """Busy GPUs above idle, all used GPUs idle for the whole time, and links."""
        tables, replicas = self.tables, self.replicas
        above = tables.active - tables.idle
        rates = above * self._rates()
        head = above * ((self.forward + self.backward)[:, 1, 1] - self._rates())
        busy = self._cheapest_layers(rates, stages, replicas) + _least(head[self.gpus], replicas)
        idle = _least(tables.idle[self.gpus], replicas * stages)
        per_byte = tables.per_byte
        hops = self._best_partner(per_byte + per_byte.T)[self.gpus]
        moved = self.count * tables.micro_batches[self.b] * tables.message_bytes
        links = moved * _least(hops, replicas * (stages - 1))
        if replicas > 1:
            pairs = (replicas - 1) * 2 * float(tables.gradient[0, 0, tables.layers])
            links += pairs * float(self._best_partner(per_byte).min())
        return self.count * busy + idle * time + links


def bound_value(goal: Goal, time: float, energy: float) -> float | None:
    """The least objective value at such a time and energy or more; None if a cap forbids them."""
    for bound, cap in ((time, goal.time_cap), (energy, goal.energy_cap)):
        if cap is not None and bound > cap * (1 + 2 * CAP_SLACK):
            return None
    return goal.time_weight * time + goal.energy_weight * energy


def cheapest_partners(cost: Floats, counts: Ints, replicas: int) -> Floats:
    """[k] least sum of `cost[k, j]` over replicas - 1 other GPUs; infinite where there are too few."""
    found = np.full(len(counts), np.inf)
    for k in range(len(counts)):
        others = np.minimum(counts, replicas)
        others[k] = min(counts[k] - 1, replicas)
        row = np.sort(np.repeat(cost[k], others))
        if len(row) >= replicas - 1:
            found[k] = row[: replicas - 1].sum()
    return found


def powered_gpus(tables: Tables) -> int:
    """Most GPUs that the power caps of the sites let run at once."""
    total = int(tables.counts[tables.site < 0].sum())
    for site, cap in enumerate(tables.power_caps):
        left = float(cap)
        here = np.flatnonzero(tables.site == site)
        for k in here[np.argsort(tables.power[here], kind="stable")]:
            running = min(int(tables.counts[k]), int(left / tables.power[k] * (1 + SAFETY)))
            left -= running * float(tables.power[k])
            total += running
    return total


def _most_layers(table: Floats, limits: Floats) -> Ints:
    """[limit, k] most layers whose seconds (in row k of the table, rising) are within the limit."""
    return np.stack([np.searchsorted(row[1:], limits, side="right") for row in table], axis=1)


def _least(values: Floats, count: int) -> float:
    """Sum of the `count` least values."""
    if count <= 0:
        return 0.0
    return float(np.sort(values)[:count].sum())
