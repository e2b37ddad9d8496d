"""Bottleneck perfect matching: pair two stages so that the slowest pair is as fast as possible."""

import numpy as np
from numpy.typing import NDArray

from solvers.core.compiled import compiled


@compiled
def bottleneck_matching(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]]:
    """Find a perfect matching whose largest weight is least; exact, O(R^3).

    Rows enter one at a time, each by the augmenting path whose largest weight is least. The threshold
    rises only when the rows of a tree have too few columns at or below it (Hall's condition), so
    it never passes the optimum, and every pair kept lies at or below it.

    Parameters
    ----------
    weights : (R, R), finite

    Returns
    -------
    bottleneck : the largest weight in the matching
    column_of : (R,), the column paired with each row
    """
    size = weights.shape[0]
    bottleneck = -np.inf
    column_of = np.full(size, -1)
    row_of = np.full(size, -1)
    reach = np.empty(size)  # least weight from the tree's rows to each column outside the tree
    parent = np.empty(size, np.int64)  # the tree's row that attains it
    in_tree = np.empty(size, np.bool_)
    for root in range(size):
        reach[:] = np.inf
        in_tree[:] = False
        row = root
        column = -1
        while row >= 0:
            column = -1
            for other in range(size):
                if in_tree[other]:
                    continue
                if weights[row, other] < reach[other]:
                    reach[other] = weights[row, other]
                    parent[other] = row
                if column < 0 or reach[other] < reach[column]:
                    column = other
            bottleneck = max(bottleneck, reach[column])
            in_tree[column] = True
            row = row_of[column]
        while column >= 0:  # augment: every row on the path takes the column that it reached
            row = parent[column]
            row_of[column] = row
            column_of[row], column = column, column_of[row]
    return bottleneck, column_of
