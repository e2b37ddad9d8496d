"""The best plans of a placement at every depth: layers by speed, every micro-batch, either end first."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled
from solvers.kernel.cost import pipeline_seconds, stage_gradient
from solvers.kernel.value import plan_value
from solvers.placements.columns import balance, energy_at_least, price_columns

ALMOST = 1 - 1e-12
"""Takes off more than rounding adds."""


@compiled
def equal_layers(total, layers):  # type: ignore[no-untyped-def]
    """Share the layers as the usual launch does: as equal as possible, earlier stages get the remainder."""
    stages = len(layers)
    for s in range(stages):
        layers[s] = total // stages + (1 if s < total % stages else 0)


@compiled
def exchange_of_groups(t, gradient, groups, s, holders):  # type: ignore[no-untyped-def]
    """D_s as `exchange_seconds` has it, up to rounding, group by group: far less work where many holders are alike.

    `holders` is scratch, zero for every group.
    """
    replicas = groups.shape[0]
    share = gradient / replicas
    distinct = 0
    known = np.empty(replicas, dtype=np.int64)
    for r in range(replicas):
        k = groups[r, s]
        if holders[k] == 0:
            known[distinct] = k
            distinct += 1
        holders[k] += 1
    slowest = 0.0
    for k in known[:distinct]:
        out = into = 0.0
        for j in known[:distinct]:
            others = holders[j] - (1 if j == k else 0)
            out += others * (t.latency[k, j] + share / t.bandwidth[k, j])
            into += others * (t.latency[j, k] + share / t.bandwidth[j, k])
        slowest = max(slowest, max(out, into))
    for k in known[:distinct]:
        holders[k] = 0
    return 2 * slowest


@compiled
def value_without_links(t, b, layers, groups):  # type: ignore[no-untyped-def]
    """What a plan costs without the energy of its links, less rounding: its value is no lower."""
    replicas, stages = groups.shape
    count = t.batch // (replicas * t.micro_batches[b])
    slowest = busy = idle = 0.0
    seconds = above = waiting = 0.0
    for r in range(replicas):
        alike = r > 0  # neighbours often are
        for s in range(stages):
            alike = alike and groups[r, s] == groups[r - 1, s]
        if not alike:
            seconds, above = pipeline_seconds(t, b, layers, groups[r], count)
            waiting = 0.0
            for s in range(stages):
                waiting += t.idle[groups[r, s]]
        slowest = max(slowest, seconds)
        busy += above
        idle += waiting
    exchange = 0.0
    if replicas > 1:
        holders = np.zeros(len(t.counts), dtype=np.int64)
        for s in range(stages):
            exchange = max(exchange, exchange_of_groups(t, stage_gradient(t, layers, s), groups, s, holders))
    time = slowest + exchange
    if time * ALMOST > t.time_cap:
        return np.inf
    return ALMOST * (t.time_weight * time + t.energy_weight * (count * busy + idle * time))


@compiled
def price_placement(t, r_index, groups, equal, shallowest, least, slack, values, layers, turned):  # type: ignore[no-untyped-def]
    """Price the first S columns of a placement for every S and micro-batch size and keep the best plan of each.

    Parameters
    ----------
    equal
        Share the layers equally and keep the direction, as the usual launch does.
    shallowest
        Least S.
    least, slack
        Value of the best plan so far, or infinite; what is not below `slack` times the best is left out.
    values
        [S, b] best values known with R pipelines, lowered where the placement gives less.
    layers, turned
        [S, b, L] and [S, b], receive split and direction where a value was lowered.

    Returns
    -------
    plans priced
    """
    replicas, columns = groups.shape
    priced = 0
    trial = np.zeros(columns, dtype=np.int64)
    for b in range(len(t.micro_batches)):
        if t.batch % (replicas * t.micro_batches[b]) != 0:
            continue
        count = t.batch // (replicas * t.micro_batches[b])
        seconds, above, idle, most = price_columns(t, r_index, b, groups[:, : 0 if equal else columns], shallowest)
        for stages in range(shallowest, columns + 1):
            for way in range(1 if equal or stages == 1 else 2):
                known = min(values[stages, b], slack * least)
                split = trial[:stages]
                if equal:
                    equal_layers(t.forward.shape[3] - 1, split)
                else:
                    # The slowest stage works on all micro-batches in turn, so a plan takes at least that long.
                    limit = t.time_cap / count
                    if t.time_weight > 0:
                        limit = min(limit, known / (t.time_weight * count))
                    slowest = balance(seconds, most, way == 1, limit, split)
                    if slowest < 0:
                        continue
                    energy = energy_at_least(above, idle, way == 1, split, count, count * slowest)
                    if ALMOST * (t.time_weight * count * slowest + t.energy_weight * energy) >= known:
                        continue
                placed = groups[:, :stages][:, ::-1].copy() if way else groups[:, :stages].copy()
                if value_without_links(t, b, split, placed) >= known:
                    continue
                priced += 1
                value = plan_value(t, r_index, b, split, placed)
                if value < known:
                    values[stages, b] = value
                    least = min(least, value)
                    turned[stages, b] = way == 1
                    layers[stages, b, :stages] = split
    return priced
