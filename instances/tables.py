"""The instance as arrays for solvers: seconds, limits and rates, made here and nowhere else.

A measured profile, a carbon objective or a power cap is worked in once, so it costs a solver nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.instance import Instance
from instances.rates import Metric, Rates
from instances.referee.evaluate import stage_seconds
from instances.referee.violations import BYTE_SLACK, POWER_SLACK
from instances.workload import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Grid(NamedTuple):
    """A legal shape of a plan: R pipelines of S stages with micro-batches of mb sequences."""

    replicas: int
    stages: int
    micro_batch: int


@dataclass(frozen=True)
class Tables:
    """Arrays over usable micro-batch choices b, usable replica counts r, groups k, j and layers 0..L.

    `first` and `last` index 0 or 1: whether the stage is the first, the last of its pipeline. Energies
    are in the unit of the metric that the tables were made for.
    """

    layers: int  # L
    batch: int  # B
    counts: Ints  # [k] GPUs of a group
    micro_batches: tuple[int, ...]  # [b] the choices that divide B
    replicas: tuple[int, ...]  # [r] the divisors of B up to n
    forward: Floats  # [b, k, last, layers] s of one micro-batch
    backward: Floats  # [b, k, last, layers] s
    send: Floats  # [b, k, j] s of one activation message, without latency
    latency: Floats  # [k, j] s
    bandwidth: Floats  # [k, j] bytes/s
    linked: Flags  # [k, j] whether plans may use the pair, symmetric; others have finite figures that mean nothing
    gradient: Floats  # [first, last, layers] bytes of a stage's gradient, G_s
    fits: Ints  # [r, b, k, first, last] most layers that fit; 0 if not even one does
    message_bytes: float  # of one sequence, A
    active: Floats  # [k] energy per busy second, P_k
    idle: Floats  # [k] energy per waiting second, Q_k
    per_byte: Floats  # [k, j] energy per byte, e_kj
    power: Floats  # [k] W while computing, for the caps
    site: Ints  # [k] index into power_caps, -1 without a cap
    power_caps: Floats  # [site] W, slack included

    @classmethod
    def of(cls, instance: Instance, metric: Metric = "energy") -> Tables:
        """The tables of one instance; InputError where a site lacks the metric."""
        training, groups = instance.training, instance.groups
        batch, layers = training.global_batch, instance.model.layers
        work = Workload.of(instance.model, training)
        sizes = tuple(sorted(mb for mb in training.micro_batches if batch % mb == 0))
        replicas = tuple(r for r in range(1, min(instance.gpus, batch) + 1) if batch % r == 0)

        forward = np.zeros((len(sizes), len(groups), 2, layers + 1))
        backward = np.zeros_like(forward)
        for (b, size), (k, group), last, count in product(
            enumerate(sizes), enumerate(groups), (0, 1), range(1, layers + 1)
        ):
            seconds = stage_seconds(work, group, size, count, bool(last))
            forward[b, k, last, count], backward[b, k, last, count] = seconds
        gradient = np.zeros((2, 2, layers + 1))
        for first, last, count in product((0, 1), (0, 1), range(1, layers + 1)):
            parameters = work.stage_parameters(count, bool(first), bool(last))
            gradient[first, last, count] = training.gradient_bytes * parameters

        latency, bandwidth = instance.link_arrays.latency, instance.link_arrays.bandwidth
        rates = Rates.of(instance, metric)
        caps = {region: site.power_cap for region, site in (instance.sites or {}).items() if site.power_cap}
        positions = {region: position for position, region in enumerate(caps)}
        return cls(
            layers=layers,
            batch=batch,
            counts=np.array([group.count for group in groups], dtype=np.int64),
            micro_batches=sizes,
            replicas=replicas,
            forward=forward,
            backward=backward,
            send=np.array([work.message_bytes * size / bandwidth for size in sizes]).reshape(-1, *bandwidth.shape),
            latency=latency.copy(),
            bandwidth=bandwidth.copy(),
            linked=np.array(instance.links.linked),
            gradient=gradient,
            fits=_fits(instance, work, replicas, sizes),
            message_bytes=float(work.message_bytes),
            active=np.array(rates.active),
            idle=np.array(rates.idle),
            per_byte=np.array(rates.per_byte),
            power=np.array([group.power_active for group in groups]),
            site=np.array([positions.get(group.region, -1) for group in groups], dtype=np.int64),
            power_caps=np.array(list(caps.values()), dtype=np.float64) * (1 + POWER_SLACK),
        )

    @property
    def gpus(self) -> int:
        """Number of GPUs, n."""
        return int(self.counts.sum())

    def grids(self) -> list[Grid]:
        """All legal grids: R*S <= n, S <= L and R*mb divides B; whether a plan fits one is another question."""
        return [
            Grid(r, s, mb)
            for r in self.replicas
            for s in range(1, min(self.layers, self.gpus // r) + 1)
            for mb in self.micro_batches
            if self.batch % (r * mb) == 0
        ]

    def micro_batch_count(self, grid: Grid) -> int:
        """Micro-batches through each pipeline, M."""
        return self.batch // (grid.replicas * grid.micro_batch)

    def most_layers(self, grid: Grid) -> int:
        """No placement of a grid holds more layers; 0 if some stage holds none.

        A stage holds what the smallest of its R GPUs can, so S stages hold most if GPUs are assigned to them by falling
        memory. Embeddings and head are ignored, so a grid that could hold the model may still have no plan.
        """
        r, b = self.indices(grid)
        whole = int(grid.stages == 1)  # one stage is first and last
        most = -np.sort(-np.repeat(self.fits[r, b, :, whole, whole], self.counts))
        worst = most[grid.replicas - 1 :: grid.replicas][: grid.stages]
        return int(worst.sum()) if worst[-1] >= 1 else 0

    def indices(self, grid: Grid) -> tuple[int, int]:
        """Positions (r, b) of a grid in the arrays."""
        return self.replicas.index(grid.replicas), self.micro_batches.index(grid.micro_batch)


def _fits(instance: Instance, work: Workload, replicas: tuple[int, ...], sizes: tuple[int, ...]) -> Ints:
    """Most layers by slot kind. The need grows with the layers, so one number says which counts fit."""
    memory = np.array([group.memory for group in instance.groups]) + BYTE_SLACK
    table = np.zeros((len(replicas), len(sizes), len(memory), 2, 2), dtype=np.int64)
    counts = range(1, instance.model.layers + 1)
    for (r, pipelines), (b, size), first, last in product(enumerate(replicas), enumerate(sizes), (0, 1), (0, 1)):
        needs = [work.stage_bytes(count, bool(first), bool(last), pipelines, size) for count in counts]
        table[r, b, :, first, last] = np.searchsorted(needs, memory, side="right")
    return table
