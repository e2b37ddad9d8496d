"""The best plans of a placement at every depth, micro-batch size and direction, layers balanced by speed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.tables import Floats, Ints, Tables
from solvers.core.compiled import compiled, inner
from solvers.kernel.evaluation import kind_of, pipeline_cost
from solvers.kernel.packed import CHOSEN, ENERGY_WEIGHT, LEFT, TIME_CAP, TIME_WEIGHT, TRIAL
from solvers.kernel.value import plan_value
from solvers.placements.columns import balance, energy_at_least, fill_columns

ALMOST = 1 - 1e-12
"""Lowers a bound by more than rounding adds."""


class BestByGrid(NamedTuple):
    """The best plans of R pipelines, one for each depth S and micro-batch size b."""

    values: Floats  # [S, b], infinite without a plan
    layers: Ints  # [S, b, L]
    turned: NDArray[np.bool_]  # [S, b] whether the placement's last column is the first stage


def no_plans(tables: Tables) -> BestByGrid:
    """No plan at any depth."""
    shape = tables.layers + 1, len(tables.micro_batches)
    layers = np.zeros((*shape, tables.layers), dtype=np.int64)
    return BestByGrid(np.full(shape, np.inf), layers, np.zeros(shape, dtype=np.bool_))


@inner
def exchange_by_endpoint(p, share, group, s, replicas, stages):  # type: ignore[no-untyped-def]
    """D_s as in `exchange_cost`, up to rounding, but summed by endpoint: far less work where many holders share one."""
    holders, known = p.whole[LEFT], p.whole[CHOSEN]
    for c in range(p.o.endpoints):
        holders[c] = 0
    distinct = 0
    for r in range(replicas):
        c = p.endpoint[group[r * stages + s]]
        if holders[c] == 0:
            known[distinct] = c
            distinct += 1
        holders[c] += 1
    slowest = 0.0
    for i in range(distinct):
        c = known[i]
        out = into = 0.0
        for j in range(distinct):
            d = known[j]
            others = holders[d] - (1 if i == j else 0)
            out += others * (p.link[c, d, 0] + share * p.link[c, d, 1])
            into += others * (p.link[d, c, 0] + share * p.link[d, c, 1])
        slowest = max(slowest, max(out, into))
    return 2 * slowest


@inner
def value_without_links(p, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """Lower bound on the value of a plan: without the energy of its links, less rounding."""
    replicas = p.replicas[r_index]
    count = p.o.batch // (replicas * p.sizes[b])
    first = np.int64(0)  # numba would compile `pipeline_cost` again for a literal
    slowest = busy = idle = 0.0
    seconds = above = waiting = 0.0
    for r in range(replicas):
        start = r * stages
        alike = r > 0  # as neighbouring pipelines often are
        for slot in range(start, start + stages):
            alike = alike and group[slot] == group[slot - stages]
        if not alike:
            seconds, above, _ = pipeline_cost(p.o, p.q, p.f, b, count, layers, first, group, start, stages)
            waiting = 0.0
            for slot in range(start, start + stages):
                waiting += p.rates[group[slot], 1]
        slowest = max(slowest, seconds)
        busy += above
        idle += waiting
    exchange = 0.0
    if replicas > 1:
        for s in range(stages):
            share = p.gradient[kind_of(s, stages), layers[s]] / replicas
            exchange = max(exchange, exchange_by_endpoint(p, share, group, s, replicas, stages))
    time = slowest + exchange
    if time * ALMOST > p.goal[TIME_CAP]:
        return np.inf
    return ALMOST * (p.goal[TIME_WEIGHT] * time + p.goal[ENERGY_WEIGHT] * (count * busy + idle * time))


@inner
def split_layers(p, columns, turned, equal, stages, count, known, split):  # type: ignore[no-untyped-def]
    """Write the split of the first S columns; False if its plan cannot be below `known`."""
    if equal:
        for s in range(stages):
            split[s] = p.o.total // stages + (1 if s < p.o.total % stages else 0)
        return True
    time_weight, energy_weight = p.goal[TIME_WEIGHT], p.goal[ENERGY_WEIGHT]
    # The slowest stage works on all micro-batches in turn, so a plan takes at least that long.
    limit = p.goal[TIME_CAP] / count
    if time_weight > 0:
        limit = min(limit, known / (time_weight * count))
    slowest = balance(columns, turned, limit, stages, split)
    if slowest < 0:
        return False
    energy = energy_at_least(columns, turned, stages, split, count, count * slowest)
    return ALMOST * (time_weight * count * slowest + energy_weight * energy) < known


# Nested loops; most lines are the description.
@compiled
def evaluate_placement(p, r_index, groups, equal, shallowest, least, slack, columns, best):  # type: ignore[no-untyped-def]  # noqa: C901
    """Evaluate the first S columns of a placement for every S and micro-batch size and keep the best plan of each.

    Parameters
    ----------
    p
        `Packed`.
    groups
        [R, C] the placement.
    equal
        Equal layers and this direction only, as in the usual launch.
    shallowest
        Least S.
    least, slack
        Value of the best plan so far, or infinite; plans not below `slack` times the best are dropped.
    columns
        `Columns`, scratch.
    best
        `BestByGrid`, updated where the placement is better.

    Returns
    -------
    plans evaluated
    """
    replicas, width = groups.shape
    evaluated = 0
    split, placed = p.whole[TRIAL], p.group
    for b in range(p.o.choices):
        if p.o.batch % (replicas * p.sizes[b]) != 0:
            continue
        count = p.o.batch // (replicas * p.sizes[b])
        if not equal:
            fill_columns(p, r_index, b, groups, shallowest, columns)
        for stages in range(shallowest, width + 1):
            for way in range(1 if equal or stages == 1 else 2):
                turned = way == 1
                known = min(best.values[stages, b], slack * least)
                if not split_layers(p, columns, turned, equal, stages, count, known, split):
                    continue
                for r in range(replicas):
                    for s in range(stages):
                        placed[r * stages + s] = groups[r, stages - 1 - s if turned else s]
                if value_without_links(p, r_index, b, stages, split, placed) >= known:
                    continue
                evaluated += 1
                value = plan_value(p.o, p.q, p.f, r_index, b, stages, split, placed)
                if value < known:
                    best.values[stages, b] = value
                    least = min(least, value)
                    best.turned[stages, b] = turned
                    for s in range(stages):
                        best.layers[stages, b, s] = split[s]
    return evaluated
