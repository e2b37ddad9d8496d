"""Times of single messages between devices: the two matrices that DT-FM's cost is made of.

Source: Yuan et al. 2022 (arXiv 2206.01288), section 3. Every function takes n x n matrices whose rows
are senders; the diagonal is never used and comes out as 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]


def link_units(delay_ms: ArrayLike, bandwidth_gbps: ArrayLike) -> tuple[Matrix, Matrix]:
    """Convert DT-FM's units to latency in s and bandwidth in bytes/s (1 Gbit/s = 1.25e8 bytes/s)."""
    return np.asarray(delay_ms, dtype=float) / 1e3, np.asarray(bandwidth_gbps, dtype=float) * 1.25e8


def message_seconds(latency_s: Matrix, bandwidth_bytes_per_s: Matrix, message_bytes: float) -> Matrix:
    """Return the time of one message on each link, s: latency plus size over bandwidth."""
    seconds = latency_s + message_bytes / bandwidth_bytes_per_s
    np.fill_diagonal(seconds, 0.0)
    return seconds


def hop_seconds(latency_s: Matrix, bandwidth_bytes_per_s: Matrix, activation_bytes: float) -> Matrix:
    """Return `hop`, the time (s) to hand the activations on; symmetric, the mean of both directions.

    Activations go forward and their gradients come back, so DT-FM's cost counts each hop twice, and
    the mean loses nothing. `activation_bytes` is all that one pipeline sends over the hop in one
    direction and iteration: send_activation_size in the published scheduler, A*B/R in ours.
    """
    seconds = message_seconds(latency_s, bandwidth_bytes_per_s, activation_bytes)
    mean: Matrix = (seconds + seconds.T) / 2
    return mean


def exchange_seconds(latency_s: Matrix, bandwidth_bytes_per_s: Matrix, gradient_bytes: float, replicas: int) -> Matrix:
    """Return `exchange`, the time (s) of one sharded gradient transfer, collect and return together.

    `gradient_bytes` is a whole stage's gradient; each of the `replicas` devices of a stage serves an
    equal share of it. May be asymmetric: the sum over a row is what a device sends, over a column
    what it receives.
    """
    return 2 * message_seconds(latency_s, bandwidth_bytes_per_s, gradient_bytes / replicas)
