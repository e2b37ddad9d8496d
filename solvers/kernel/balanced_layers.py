"""Layers by speed: the split of a placement whose slowest stage is fastest, the head counted, within memory."""

from __future__ import annotations

import numpy as np

from solvers.compiled import compiled


@compiled
def stage_limits(t, r_index, b, groups):  # type: ignore[no-untyped-def]
    """[layers, s] seconds of each stage's slowest holder, forward and backward; [s] most layers that fit all."""
    replicas, stages = groups.shape
    total = t.forward.shape[3] - 1
    seconds = np.zeros((total + 1, stages))
    most = np.full(stages, total)
    for s in range(stages):
        first, last = 1 if s == 0 else 0, 1 if s == stages - 1 else 0
        before = -1
        for r in range(replicas):
            k = groups[r, s]
            if k == before:  # neighbours are often alike
                continue
            before = k
            most[s] = min(most[s], t.fits[r_index, b, k, first, last])
            for count in range(1, total + 1):
                busy = t.forward[b, k, last, count] + t.backward[b, k, last, count]
                seconds[count, s] = max(seconds[count, s], busy)
    return seconds, most


@compiled
def balanced_layers(t, r_index, b, groups, layers):  # type: ignore[no-untyped-def]
    """Write the split of R x S slots to layers (S,); seconds of a micro-batch in the slowest stage, -1 if none fits.

    One layer each to begin with; then each further one goes to the stage with room that will be least
    busy with it, the earlier one on ties. That is exact, since a layer more makes no stage faster.
    """
    stages = groups.shape[1]
    seconds, most = stage_limits(t, r_index, b, groups)
    total = len(seconds) - 1
    if total < stages or most.min() < 1 or most.sum() < total:
        return -1.0
    layers[:] = 1
    slowest = seconds[1].max()
    for _ in range(total - stages):
        chosen = -1
        for s in range(stages):
            if layers[s] < most[s] and (chosen < 0 or seconds[layers[s] + 1, s] < seconds[layers[chosen] + 1, chosen]):
                chosen = s
        layers[chosen] += 1
        slowest = max(slowest, seconds[layers[chosen], chosen])
    return slowest
