"""The best plans of a placement at every depth: layers by speed, every micro-batch, either end first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.tables import Floats, Ints, Tables
from solvers.core.compiled import compiled, inner
from solvers.kernel.evaluation import kind_of, pipeline_cost
from solvers.kernel.packed import CHOSEN, ENERGY_WEIGHT, LEFT, TIME_CAP, TIME_WEIGHT, TRIAL
from solvers.kernel.value import plan_value
from solvers.placements.columns import balance, energy_at_least, price_columns

ALMOST = 1 - 1e-12
"""Takes off more than rounding adds."""


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
def exchange_of_places(p, share, group, s, replicas, stages):  # type: ignore[no-untyped-def]
    """D_s as `exchange_cost` has it, up to rounding, place by place: far less work where many holders are near."""
    holders, known = p.whole[LEFT], p.whole[CHOSEN]
    for c in range(p.o.places):
        holders[c] = 0
    distinct = 0
    for r in range(replicas):
        c = p.place[group[r * stages + s]]
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
    """What a plan costs without the energy of its links, less rounding: its value is no lower."""
    replicas = p.replicas[r_index]
    count = p.o.batch // (replicas * p.sizes[b])
    first = np.int64(0)  # numba would compile `pipeline_cost` again for a literal
    slowest = busy = idle = 0.0
    seconds = above = waiting = 0.0
    for r in range(replicas):
        start = r * stages
        alike = r > 0  # neighbours often are
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
            exchange = max(exchange, exchange_of_places(p, share, group, s, replicas, stages))
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


# Loops over four dimensions; most lines are the description.
@compiled
def price_placement(p, r_index, groups, equal, shallowest, least, slack, columns, best):  # type: ignore[no-untyped-def]  # noqa: C901
    """Price the first S columns of a placement for every S and micro-batch size and keep the best plan of each.

    Parameters
    ----------
    p
        `Packed`.
    groups
        [R, C] the placement.
    equal
        Share the layers equally and keep the direction, as the usual launch does.
    shallowest
        Least S.
    least, slack
        Value of the best plan so far, or infinite; what is not below `slack` times the best is left out.
    columns
        `Columns`, scratch.
    best
        `BestByGrid`, lowered where the placement gives less.

    Returns
    -------
    plans priced
    """
    replicas, width = groups.shape
    priced = 0
    split, placed = p.whole[TRIAL], p.group
    for b in range(p.o.choices):
        if p.o.batch % (replicas * p.sizes[b]) != 0:
            continue
        count = p.o.batch // (replicas * p.sizes[b])
        if not equal:
            price_columns(p, r_index, b, groups, shallowest, columns)
        for stages in range(shallowest, width + 1):
            for way in range(1 if equal or stages == 1 else 2):
                known = min(best.values[stages, b], slack * least)
                if not split_layers(p, columns, way == 1, equal, stages, count, known, split):
                    continue
                for r in range(replicas):
                    for s in range(stages):
                        placed[r * stages + s] = groups[r, stages - 1 - s if way == 1 else s]
                if value_without_links(p, r_index, b, stages, split, placed) >= known:
                    continue
                priced += 1
                value = plan_value(p.o, p.q, p.f, r_index, b, stages, split, placed)
                if value < known:
                    best.values[stages, b] = value
                    least = min(least, value)
                    best.turned[stages, b] = way == 1
                    for s in range(stages):
                        best.layers[stages, b, s] = split[s]
    return priced
