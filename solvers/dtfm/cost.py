"""DT-FM's communication cost of a partition of n = S*R devices into S groups of R.

    cost = DATAP + 2 * PIPELINEP
    DATAP = max over groups, over devices u in it, of max(sum_v exchange[u, v], sum_v exchange[v, u])
    PIPELINEP = length of the shortest open path over the groups, where two groups are as far apart
                as the slowest pair of their best (bottleneck) perfect matching under `hop`

Source: Yuan et al. 2022 (arXiv 2206.01288), section 3. A partition is an int array `groups` of shape
(S, R) that holds every device 0..n-1 once; neither the order of the groups nor that within a group
matters. `hop` and `exchange` are n x n in seconds (see message_times.py); `hop` is symmetric, `exchange` need
not be. Where it is, DATAP is the published scheduler's.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvers.core.compiled import compiled
from solvers.dtfm.matching import bottleneck_matching
from solvers.dtfm.message_times import Matrix
from solvers.dtfm.path import NOISE, path_length, shortest_path

Groups = NDArray[np.int64]


class PartitionCost(NamedTuple):
    """What a partition costs, s per iteration. `pipeline` is PIPELINEP, one direction only."""

    data_parallel: float
    pipeline: float

    @property
    def total(self) -> float:
        """The cost that DT-FM minimises, s."""
        return self.data_parallel + 2 * self.pipeline


@compiled
def data_parallel_seconds(exchange: Matrix, groups: Groups) -> float:
    """Return DATAP, the gradient exchange of the slowest group, s; 0 when R = 1."""
    worst = 0.0
    for group in groups:
        for device in group:
            sent = 0.0
            received = 0.0
            for other in group:
                if other != device:
                    sent += exchange[device, other]
                    received += exchange[other, device]
            worst = max(worst, sent, received)
    return worst


@compiled
def group_distances(hop: Matrix, groups: Groups) -> Matrix:
    """Return the bottleneck of the best matching for each pair of groups, (S, S), s."""
    stages = groups.shape[0]
    distances = np.zeros((stages, stages))
    for i in range(stages):
        rows = hop[groups[i]]
        for j in range(i + 1, stages):
            bottleneck, _ = bottleneck_matching(rows[:, groups[j]])
            distances[i, j] = distances[j, i] = bottleneck
    return distances


@compiled
def cost_parts(hop: Matrix, exchange: Matrix, groups: Groups, limit: float = np.inf) -> tuple[float, float]:
    """Return (DATAP, PIPELINEP) in s, unchecked: the searches' inner loop. PIPELINEP may be infinite beyond `limit`."""
    data_parallel = data_parallel_seconds(exchange, groups)
    if data_parallel > limit:
        return data_parallel, np.inf
    distances = group_distances(hop, groups)
    order = shortest_path(distances, (limit * (1 + NOISE) - data_parallel) / 2)
    return data_parallel, path_length(distances, order) if order.size else np.inf


def partition_cost(hop: Matrix, exchange: Matrix, groups: Groups) -> PartitionCost:
    """Return what a partition costs. ValueError if the matrices or the groups do not fit (`check_input`)."""
    check_input(hop, exchange, groups)
    return PartitionCost(*cost_parts(hop, exchange, groups))


def read_pipelines(hop: Matrix, groups: Groups) -> NDArray[np.int64]:
    """Read the R pipelines off the path over the groups and the matchings along it.

    Returns
    -------
    pipelines : (R, S), the device of replica r at stage s; column s is one of the groups. Which end
        of the path comes first is arbitrary: this cost does not tell them apart.
    """
    check_input(hop, hop, groups)
    order = shortest_path(group_distances(hop, groups), np.inf)
    pipelines = np.empty(groups.shape[::-1], dtype=np.int64)
    pipelines[:, 0] = groups[order[0]]
    for stage in range(1, order.size):
        group = groups[order[stage]]
        _, column_of = bottleneck_matching(hop[np.ix_(pipelines[:, stage - 1], group)])
        pipelines[:, stage] = group[column_of]
    return pipelines


def check_input(hop: Matrix, exchange: Matrix, groups: Groups | None = None) -> None:
    """Raise ValueError unless both matrices are n x n, finite and at least 0, `hop` is symmetric and `groups` fits."""
    for name, matrix in (("hop", hop), ("exchange", exchange)):
        if matrix.shape != (len(hop), len(hop)) or matrix.size == 0:
            raise ValueError(f"{name}: found shape {matrix.shape}, expected {(len(hop), len(hop))}, n >= 1")
        if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
            raise ValueError(f"{name}: found a time that is negative or not finite")
    if not np.array_equal(hop, hop.T):
        raise ValueError("hop: found an asymmetric matrix, expected the mean of both directions")
    devices = np.arange(len(hop))
    if groups is not None and (groups.ndim != 2 or not np.array_equal(np.sort(groups, axis=None), devices)):
        raise ValueError(f"groups: expected (S, R) with each of the devices 0..{devices[-1]} once")
