"""Seconds, energy and memory limits of a placement, column by column: one table serves every depth and direction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.tables import Floats, Ints, Tables
from solvers.core.compiled import inner
from solvers.kernel.evaluation import kind_of


class Columns(NamedTuple):
    """Properties of the columns c of a placement, each a stage at some depth."""

    seconds: Floats  # [last, c, layers] of the slowest holder, forward and backward, as an inner or the last stage
    above: Floats  # [last, c, layers] energy above idle of all holders, for a micro-batch each
    idle: Floats  # [c] energy per second that the holders wait
    most: Ints  # [kind, c] most layers that fit all holders, `kind` = 2*first + last


def new_columns(tables: Tables) -> Columns:
    """Empty tables for the widest placement."""
    width = min(tables.layers, tables.gpus)
    shape = 2, width, tables.layers + 1
    return Columns(np.zeros(shape), np.zeros(shape), np.zeros(width), np.zeros((4, width), dtype=np.int64))


@inner
def fill_columns(p, r_index, b, groups, shallowest, into):  # type: ignore[no-untyped-def]
    """Fill the `Columns` for all columns of `groups`, of which the first S >= `shallowest` are to be stages."""
    replicas, columns = groups.shape
    total = p.o.total
    seconds, above, idle, most = into.seconds, into.above, into.idle, into.most
    for c in range(columns):
        idle[c] = 0.0
        for kind in range(4):
            most[kind, c] = total
        for count in range(total + 1):
            seconds[1, c, count] = above[1, c, count] = 0.0
        ends = c == 0 or c >= shallowest - 1  # of a pipeline in either direction
        slowest = joules = 0.0
        r = 0
        while r < replicas:
            k = groups[r, c]
            alike = 0
            while r < replicas and groups[r, c] == k:  # neighbours often are alike
                alike += 1
                r += 1
            idle[c] += alike * p.rates[k, 1]
            power = alike * p.rates[k, 0]
            busy = p.speed[b, k, 0] + p.speed[b, k, 1]
            slowest = max(slowest, busy)
            joules += power * busy
            for kind in range(4):
                most[kind, c] = min(most[kind, c], p.fits[r_index, b, k, kind])
            head = p.speed[b, k, 2] + p.speed[b, k, 3]
            for count in range(1, total + 1 if ends else 0):
                seconds[1, c, count] = max(seconds[1, c, count], count * busy + head)
                above[1, c, count] += power * (count * busy + head)
        for count in range(1, total + 1):  # without the head, seconds are in proportion to the layers
            seconds[0, c, count] = count * slowest
            above[0, c, count] = count * joules


@inner
def energy_at_least(columns, turned, stages, layers, count, time):  # type: ignore[no-untyped-def]
    """Lower bound on the energy of a plan of the first S columns that takes at least `time`, without its links."""
    busy = waiting = 0.0
    for s in range(stages):
        c = stages - 1 - s if turned else s
        busy += columns.above[1 if s == stages - 1 else 0, c, layers[s]]
        waiting += columns.idle[c]
    return count * busy + waiting * time


@inner
def balance(columns, turned, limit, stages, layers):  # type: ignore[no-untyped-def]
    """Write the split of the first S columns to layers[:S] whose slowest stage is fastest, the head counted.

    Every stage starts with one layer; each further one goes to the stage with memory left that is fastest with it, the
    earlier one on ties. This greedy rule is exact, since a further layer makes no stage faster. With `turned` the last
    column is the first stage. Returns the seconds of a micro-batch in the slowest stage; -1 if no split fits or
    the slowest stage would take `limit` seconds or more.
    """
    seconds, most = columns.seconds, columns.most
    total = seconds.shape[2] - 1
    allowed = 0
    slowest = 0.0
    for s in range(stages):
        c = stages - 1 - s if turned else s
        last, most_here = 1 if s == stages - 1 else 0, most[kind_of(s, stages), c]
        if most_here < 1:
            return -1.0
        allowed += most_here
        layers[s] = 1
        slowest = max(slowest, seconds[last, c, 1])
    if allowed < total or stages > total:
        return -1.0
    for _ in range(total - stages):
        if slowest >= limit:
            return -1.0
        chosen = -1
        least = np.inf
        for s in range(stages):
            c = stages - 1 - s if turned else s
            last = 1 if s == stages - 1 else 0
            if layers[s] < most[kind_of(s, stages), c] and seconds[last, c, layers[s] + 1] < least:
                chosen, least = s, seconds[last, c, layers[s] + 1]
        layers[chosen] += 1
        slowest = max(slowest, least)
    return -1.0 if slowest >= limit else slowest
