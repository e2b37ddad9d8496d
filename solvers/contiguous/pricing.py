"""The best plan of one placement: layers by speed, every micro-batch, either end of the pipelines first."""

from __future__ import annotations

import numpy as np

from solvers.compiled import compiled
from solvers.kernel.balanced_layers import balanced_layers
from solvers.kernel.cost import pipeline_seconds
from solvers.kernel.value import plan_value


@compiled
def equal_layers(total, layers):  # type: ignore[no-untyped-def]
    """Share the layers as the usual launch does: as equal as possible, earlier stages get the remainder."""
    stages = len(layers)
    for s in range(stages):
        layers[s] = total // stages + (1 if s < total % stages else 0)


@compiled
def slowest_pipeline(t, b, layers, groups):  # type: ignore[no-untyped-def]
    """Seconds of the slowest pipeline, which a plan takes at least; rows like the one before are not repeated."""
    replicas = len(groups)
    count = t.batch // (replicas * t.micro_batches[b])
    slowest = 0.0
    for r in range(replicas):
        if r == 0 or (groups[r] != groups[r - 1]).any():
            slowest = max(slowest, pipeline_seconds(t, b, layers, groups[r], count)[0])
    return slowest


@compiled
def best_of_placement(t, r_index, groups, equal, known, layers):  # type: ignore[no-untyped-def]
    """Price the placement (R x S groups) and keep its best plan if it is below `known`.

    Parameters
    ----------
    equal
        Share the layers equally and keep the direction, as the usual launch does.
    known
        Value of the best plan so far, or infinite.
    layers
        (S,), receives the split of the best plan.

    Returns
    -------
    value, position of the micro-batch size (-1 if nothing is below `known`), reversed, plans priced
    """
    replicas, stages = groups.shape
    best, best_b, best_turned = known, -1, False
    priced = 0
    trial = np.zeros(stages, dtype=np.int64)
    turned = groups[:, ::-1].copy()
    for b in range(len(t.micro_batches)):
        if t.batch % (replicas * t.micro_batches[b]) != 0:
            continue
        count = t.batch // (replicas * t.micro_batches[b])
        for backwards in range(1 if equal or stages == 1 else 2):
            placed = turned if backwards else groups
            if equal:
                equal_layers(t.forward.shape[3] - 1, trial)
            else:
                slowest = balanced_layers(t, r_index, b, placed, trial)
                # The slowest stage works on all micro-batches in turn, so a plan takes at least that long.
                if slowest < 0 or (t.energy_weight == 0 and t.time_weight * count * slowest >= best):
                    continue
                if t.energy_weight == 0 and t.time_weight * slowest_pipeline(t, b, trial, placed) >= best:
                    continue  # the exchange, which takes longest to price, need not be known
            priced += 1
            value = plan_value(t, r_index, b, trial, placed)
            if value < best:
                best, best_b, best_turned = value, b, backwards == 1
                layers[:] = trial
    return best, best_b, best_turned, priced
