"""Times of single messages between GPUs: the matrices that DT-FM's cost is made of, for one grid of an instance.

Source: Yuan et al. 2022 (arXiv 2206.01288), section 3. Matrices are n x n, rows send; the diagonal is never used and
is 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.instance import Instance
from instances.tables import Tables
from instances.workload import Workload

Matrix = NDArray[np.float64]
NO_LINK = 1e6
"""How many times slower than the slowest link a missing one is, in DT-FM's own cost only: the referee decides."""


class MessageTimes(NamedTuple):
    """Seconds between GPUs, each (n, n).

    Attributes
    ----------
    hop
        To hand the activations on, the mean of both directions: activations go forward and their gradients come
        back, so DT-FM's cost counts each hop twice, and the mean loses nothing.
    exchange
        Of one sharded gradient transfer, collect and return together: each of the R holders of a stage serves an
        equal share of its gradient. The sum over a row is what a GPU sends, over a column what it receives.
    whole_gradient
        Of a stage's whole gradient.
    """

    hop: Matrix
    exchange: Matrix
    whole_gradient: Matrix

    @classmethod
    def of(
        cls, latency_s: Matrix, bandwidth_bytes_per_s: Matrix, activation: float, gradient: float, replicas: int
    ) -> "MessageTimes":
        """The matrices for bytes that one pipeline hands on in one direction and iteration, and of a stage's gradient.

        `activation` is send_activation_size in the published scheduler, A*B/R in ours.
        """

        def seconds(size: float) -> Matrix:
            times = latency_s + size / bandwidth_bytes_per_s
            np.fill_diagonal(times, 0.0)
            return times

        hop = seconds(activation)
        return cls((hop + hop.T) / 2, 2 * seconds(gradient / replicas), seconds(gradient))


def message_times_of(
    instance: Instance, tables: Tables, groups: NDArray[np.int64], replicas: int, stages: int
) -> MessageTimes:
    """The three matrices for R x S over GPUs whose groups are given.

    The gradient of a stage is taken as an equal share of the model with both embeddings, whatever its layers.
    """
    work = Workload.of(instance.model, instance.training)
    parameters = instance.model.layers * work.block_parameters + 2 * work.embedding_parameters
    pairs = np.ix_(groups, groups)
    return MessageTimes.of(
        tables.latency[pairs],
        np.where(tables.linked, tables.bandwidth, tables.bandwidth.min() / NO_LINK)[pairs],
        tables.message_bytes * tables.batch / replicas,
        instance.training.gradient_bytes * parameters / stages,
        replicas,
    )
