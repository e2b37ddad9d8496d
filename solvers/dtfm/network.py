"""The instance as DT-FM's cost sees it: single GPUs, and what they would send to each other on one grid."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.instance import Instance
from instances.tables import Tables
from instances.workload import Workload
from solvers.dtfm.links import Matrix, exchange_seconds, hop_seconds, message_seconds


class Network(NamedTuple):
    """Seconds between GPUs, each (n, n); see links.py."""

    hop: Matrix
    exchange: Matrix
    whole_gradient: Matrix


def network_of(instance: Instance, tables: Tables, groups: NDArray[np.int64], replicas: int, stages: int) -> Network:
    """The three matrices for R x S over GPUs whose groups are given.

    A pipeline hands on A*B/R bytes in an iteration; the gradient of a stage is taken as an equal share of
    the model with both embeddings, whatever its layers.
    """
    work = Workload.of(instance.model, instance.training)
    parameters = instance.model.layers * work.block_parameters + 2 * work.embedding_parameters
    gradient = instance.training.gradient_bytes * parameters / stages
    latency = tables.latency[np.ix_(groups, groups)]
    bandwidth = tables.bandwidth[np.ix_(groups, groups)]
    return Network(
        hop_seconds(latency, bandwidth, tables.message_bytes * tables.batch / replicas),
        exchange_seconds(latency, bandwidth, gradient, replicas),
        message_seconds(latency, bandwidth, gradient),
    )
