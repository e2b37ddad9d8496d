"""What a placement's stages take and hold, column by column, so that every depth and direction reads one table."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled


@compiled
def price_columns(t, r_index, b, groups, shallowest):  # type: ignore[no-untyped-def]
    """Tables over the columns c of `groups`, of which the first S >= `shallowest` are to be stages.

    Returns
    -------
    seconds
        [last, c, layers] of the column's slowest holder, forward and backward, as an inner or the last stage.
    above
        [last, c, layers] energy above idle of all its holders, for a micro-batch each.
    idle
        [c] figure per second that its holders wait.
    most
        [first, last, c] most layers that fit all its holders.
    """
    replicas, columns = groups.shape
    total = t.forward.shape[3] - 1
    seconds = np.zeros((2, columns, total + 1))
    above = np.zeros((2, columns, total + 1))
    idle = np.zeros(columns)
    most = np.full((2, 2, columns), total)
    for c in range(columns):
        ends = c == 0 or c >= shallowest - 1  # some pipeline, or one turned round
        slowest = joules = 0.0
        r = 0
        while r < replicas:
            k = groups[r, c]
            alike = 0
            while r < replicas and groups[r, c] == k:  # neighbours often are
                alike += 1
                r += 1
            idle[c] += alike * t.idle[k]
            power = alike * (t.active[k] - t.idle[k])
            busy = t.forward[b, k, 0, 1] + t.backward[b, k, 0, 1]
            slowest = max(slowest, busy)
            joules += power * busy
            for first in range(2):
                for last in range(2):
                    most[first, last, c] = min(most[first, last, c], t.fits[r_index, b, k, first, last])
            for count in range(1, total + 1 if ends else 0):
                busy = t.forward[b, k, 1, count] + t.backward[b, k, 1, count]
                seconds[1, c, count] = max(seconds[1, c, count], busy)
                above[1, c, count] += power * busy
        for count in range(1, total + 1):  # without the head, seconds are in proportion to the layers
            seconds[0, c, count] = count * slowest
            above[0, c, count] = count * joules
    return seconds, above, idle, most


@compiled
def energy_at_least(above, idle, turned, layers, count, time):  # type: ignore[no-untyped-def]
    """Energy of a plan of the first S columns that takes `time` at least, its links left out."""
    stages = len(layers)
    busy = waiting = 0.0
    for s in range(stages):
        c = stages - 1 - s if turned else s
        busy += above[1 if s == stages - 1 else 0, c, layers[s]]
        waiting += idle[c]
    return count * busy + waiting * time


@compiled
def balance(seconds, most, turned, limit, layers):  # type: ignore[no-untyped-def]
    """Write the split of the first S columns to layers (S,) whose slowest stage is fastest, the head counted.

    One layer each to begin with; then each further one goes to the stage with room that will be least busy with
    it, the earlier one on ties. That is exact, since a layer more makes no stage faster. With `turned` the last
    column is the first stage. Returns the seconds of a micro-batch in the slowest stage; -1 if no split fits or
    one would take `limit` seconds or more.
    """
    stages = len(layers)
    total = seconds.shape[2] - 1
    room = 0
    slowest = 0.0
    for s in range(stages):
        c = stages - 1 - s if turned else s
        first, last = 1 if s == 0 else 0, 1 if s == stages - 1 else 0
        if most[first, last, c] < 1:
            return -1.0
        room += most[first, last, c]
        layers[s] = 1
        slowest = max(slowest, seconds[last, c, 1])
    if room < total or stages > total:
        return -1.0
    for _ in range(total - stages):
        if slowest >= limit:
            return -1.0
        chosen = -1
        least = np.inf
        for s in range(stages):
            c = stages - 1 - s if turned else s
            first, last = 1 if s == 0 else 0, 1 if s == stages - 1 else 0
            if layers[s] < most[first, last, c] and seconds[last, c, layers[s] + 1] < least:
                chosen, least = s, seconds[last, c, layers[s] + 1]
        layers[chosen] += 1
        slowest = max(slowest, least)
    return -1.0 if slowest >= limit else slowest
