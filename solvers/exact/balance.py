"""Lower bounds on the slowest stage, from how evenly a pool can share the layers of a pipeline."""

from __future__ import annotations

import numpy as np

from instances.tables import Floats, Ints

BALANCE_WORK = 50_000
"""Entries that one balance may sort: with many GPUs, fewer limits are distinguished."""


class Balance:
    """Thresholds on a stage's seconds and how many layers each group holds within each.

    Parameters
    ----------
    table
        [k, last, layers] seconds, rising with the layers.
    gpus
        The group of every GPU.
    """

    def __init__(self, table: Floats, gpus: Ints) -> None:
        self._gpus = gpus
        self._layers = table.shape[2] - 1
        limits = np.unique(table[gpus].ravel())
        self._limits = limits[:: len(limits) // max(64, BALANCE_WORK // len(gpus)) + 1]
        # A limit is treated as if it were just below the next one listed, so leaving some out is safe.
        within = np.append(np.nextafter(self._limits[1:], 0), np.inf)
        self._held, self._held_last = (_most_layers(table[:, last], within) for last in (0, 1))

    def least_limits(self, fits: Ints, replicas: int, most_stages: int) -> Floats:
        """[stages] a lower bound on the slowest stage of any plan with so many pipelines.

        A stage holds what the weakest of its `replicas` GPUs can; the stages are given the best GPUs.
        Infinite where memory (`fits`, [k] most layers) forbids the grid.
        """
        held, held_last = np.minimum(self._held, fits), np.minimum(self._held_last, fits)
        # The head displaces layers in the last stage: where it displaces fewest.
        harm = np.where(held_last >= 1, held - held_last, self._layers + 1).min(axis=1)
        best = -np.sort(-held[:, self._gpus], axis=1)[:, replicas - 1 :: replicas][:, :most_stages]
        # A stage without a layer is not allowed: it outweighs all that the others hold.
        total = np.cumsum(np.where(best > 0, best, -self._layers * most_stages), axis=1) - harm[:, None]
        found = np.full(most_stages + 1, np.inf)
        enough = total >= self._layers
        reach = enough.shape[1]
        found[1 : reach + 1] = np.where(enough.any(axis=0), self._limits[enough.argmax(axis=0)], np.inf)
        return found


def _most_layers(table: Floats, limits: Floats) -> Ints:
    """[limit, k] most layers whose seconds (in row k of the table, rising) are within the limit."""
    return np.stack([np.searchsorted(row[1:], limits, side="right") for row in table], axis=1)
