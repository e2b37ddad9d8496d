"""Compiled shortest paths of two pipelines at once, which hold the same layers in a stage. Import late: numba.

The state is (stage, group of the first, group of the second, layers); what a stage of a pair costs is as in
`solvers.exact.paths`, and `sync[s, k, j, l]` (s), the gradient exchange between the two, must stay within
`most_sync`.
"""

from __future__ import annotations

import numpy as np

from solvers.compiled import compiled


@compiled
def pair_from_the_end(node, price, hop, stay, move, counts, sync, most_sync, ending, onward):  # type: ignore[no-untyped-def]
    """Fill the costs to the end, [s, k, j, layers], and return the least cost of two whole paths."""
    _, stages, groups, width = stay.shape
    layers = ending.shape[3] - 1
    middle = np.empty((groups, groups, layers + 1))
    ending[:] = np.inf
    for s in range(stages - 1, -1, -1):
        last = 1 if s == stages - 1 else 0
        after = stages - 1 - s
        if last == 0:
            _hop_back(hop, move[0, s], move[1, s], ending[s + 1], middle, onward[s + 1], after)
        for k in range(groups):
            for j in range(groups):
                if k == j and counts[k] < 2:
                    continue
                row = ending[s, k, j]
                for held in range(1, width):
                    if stay[0, s, k, held] and stay[1, s, j, held] and sync[s, k, j, held] <= most_sync:
                        c = node[last, k, held] + price[k] + node[last, j, held] + price[j]
                        if last == 1:
                            row[held] = c
                        else:
                            for m in range(held + after, layers + 1):
                                row[m] = min(row[m], c + onward[s + 1, k, j, m - held])
    best = np.inf
    for k in range(groups):
        for j in range(groups):
            best = min(best, ending[0, k, j, layers])
    return best


@compiled
def _hop_back(hop, first, second, ending, middle, onward, least):  # type: ignore[no-untyped-def]
    """onward[k, j, m] = least of hop[k, k'] + hop[j, j'] + ending[k', j', m], one pipeline after the other."""
    groups, _, width = ending.shape
    middle[:] = np.inf
    onward[:] = np.inf
    for k in range(groups):
        for to in range(groups):
            if first[k, to]:
                c = hop[k, to]
                for j in range(groups):
                    for m in range(least, width):
                        middle[k, j, m] = min(middle[k, j, m], c + ending[to, j, m])
    for j in range(groups):
        for to in range(groups):
            if second[j, to]:
                c = hop[j, to]
                for k in range(groups):
                    for m in range(least, width):
                        onward[k, j, m] = min(onward[k, j, m], c + middle[k, to, m])


@compiled
def pair_from_the_start(node, price, hop, stay, move, counts, sync, most_sync, starting, arriving):  # type: ignore[no-untyped-def]
    """Fill the costs from the start: with stage s (`starting`) and with the hops to it (`arriving`)."""
    _, stages, groups, width = stay.shape
    layers = starting.shape[3] - 1
    middle = np.empty((groups, groups, layers + 1))
    starting[:] = np.inf
    arriving[:] = np.inf
    arriving[0, :, :, 0] = 0.0
    for s in range(stages):
        last = 1 if s == stages - 1 else 0
        for k in range(groups):
            for j in range(groups):
                if k == j and counts[k] < 2:
                    continue
                row = starting[s, k, j]
                for held in range(1, width):
                    if stay[0, s, k, held] and stay[1, s, j, held] and sync[s, k, j, held] <= most_sync:
                        c = node[last, k, held] + price[k] + node[last, j, held] + price[j]
                        for u in range(s, layers + 1 - held):
                            row[u + held] = min(row[u + held], c + arriving[s, k, j, u])
        if last == 0:
            _hop_back(hop.T, move[0, s].T, move[1, s].T, starting[s], middle, arriving[s + 1], s + 1)


@compiled
def read_pair(node, price, hop, stay, move, sync, most_sync, ending, onward, groups_of, layers_of):  # type: ignore[no-untyped-def]
    """Write two paths of least cost, which must exist, into `groups_of` [r, s] and `layers_of` [s]."""
    _, stages, groups, width = stay.shape
    left = ending.shape[3] - 1
    k = 0
    j = 0
    best = np.inf
    for a in range(groups):
        for b in range(groups):
            if ending[0, a, b, left] < best:
                best = ending[0, a, b, left]
                k = a
                j = b
    for s in range(stages):
        groups_of[0, s] = k
        groups_of[1, s] = j
        if s == stages - 1:
            layers_of[s] = left
            return
        best = np.inf
        chosen = 0
        for held in range(1, min(width, left + 1)):
            if stay[0, s, k, held] and stay[1, s, j, held] and sync[s, k, j, held] <= most_sync:
                c = node[0, k, held] + node[0, j, held] + onward[s + 1, k, j, left - held]
                if c < best:
                    best = c
                    chosen = held
        layers_of[s] = chosen
        left -= chosen
        best = np.inf
        to_k = 0
        to_j = 0
        for a in range(groups):
            if move[0, s, k, a]:
                for b in range(groups):
                    if move[1, s, j, b] and hop[k, a] + hop[j, b] + ending[s + 1, a, b, left] < best:
                        best = hop[k, a] + hop[j, b] + ending[s + 1, a, b, left]
                        to_k = a
                        to_j = b
        k = to_k
        j = to_j


@compiled
def drop_pairs_above(  # type: ignore[no-untyped-def]
    limit, node, price, hop, stay, move, counts, sync, most_sync, ending, onward, starting, arriving
):
    """Forbid every choice with which the cheapest pair of paths costs more than `limit`; how many went."""
    _, stages, groups, width = stay.shape
    layers = ending.shape[3] - 1
    dropped = 0
    best_stay = np.empty((2, groups, width))
    best_move = np.empty((2, groups, groups))
    for s in range(stages):
        last = 1 if s == stages - 1 else 0
        best_stay[:] = np.inf
        for k in range(groups):
            for j in range(groups):
                if k == j and counts[k] < 2:
                    continue
                for held in range(1, width):
                    if stay[0, s, k, held] and stay[1, s, j, held] and sync[s, k, j, held] <= most_sync:
                        best = np.inf
                        if last == 1:
                            best = arriving[s, k, j, layers - held]
                        else:
                            for u in range(s, layers + 1 - held):
                                best = min(best, arriving[s, k, j, u] + onward[s + 1, k, j, layers - u - held])
                        best += node[last, k, held] + price[k] + node[last, j, held] + price[j]
                        best_stay[0, k, held] = min(best_stay[0, k, held], best)
                        best_stay[1, j, held] = min(best_stay[1, j, held], best)
        if last == 0:
            _best_moves(hop, move[0, s], move[1, s], starting[s], ending[s + 1], best_move)
        for r in range(2):
            for k in range(groups):
                for held in range(1, width):
                    if stay[r, s, k, held] and best_stay[r, k, held] > limit:
                        stay[r, s, k, held] = False
                        dropped += 1
                if last == 0:
                    for j in range(groups):
                        if move[r, s, k, j] and best_move[r, k, j] > limit:
                            move[r, s, k, j] = False
                            dropped += 1
    return dropped


@compiled
def _best_moves(hop, first, second, starting, ending, best):  # type: ignore[no-untyped-def]
    """best[r, k, j]: least cost of a pair of paths in which pipeline r goes from k to j."""
    groups, _, width = starting.shape
    best[:] = np.inf
    ahead = np.full((groups, groups, width), np.inf)  # [a, j, m] the second goes from j, the first has arrived on a
    other = np.full((groups, groups, width), np.inf)  # [k, b, m] the same with the two exchanged
    for a in range(groups):
        for j in range(groups):
            for b in range(groups):
                if second[j, b]:
                    for m in range(width):
                        ahead[a, j, m] = min(ahead[a, j, m], hop[j, b] + ending[a, b, m])
                if first[j, b]:
                    for m in range(width):
                        other[j, a, m] = min(other[j, a, m], hop[j, b] + ending[b, a, m])
    for k in range(groups):
        for a in range(groups):
            if first[k, a] or second[k, a]:
                for j in range(groups):
                    for u in range(width):
                        if first[k, a]:
                            best[0, k, a] = min(
                                best[0, k, a], starting[k, j, u] + hop[k, a] + ahead[a, j, width - 1 - u]
                            )
                        if second[k, a]:
                            best[1, k, a] = min(
                                best[1, k, a], starting[j, k, u] + hop[k, a] + other[j, a, width - 1 - u]
                            )
