"""Compiled shortest paths through (stage, group, layers): one pipeline that may use a GPU more than once.

`node[last, k, l]` is the cost of a stage of l layers on group k, `price[k]` is added for every use of k,
`hop[k, j]` is the cost from one stage to the next. `stay[s, k, l]` and `move[s, k, j]` say what is allowed.
Import late: numba.
"""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled


@compiled
def from_the_end(node, price, hop, stay, move, ending, onward):  # type: ignore[no-untyped-def]
    """Fill the costs to the end and return the least cost of a whole path; infinite if there is none.

    `ending[s, k, m]` is the least cost of stages s.. with stage s on k and m layers from there on;
    `onward[s, k, m]` the same with the hop from k, which holds stage s - 1, to stage s.
    """
    stages, groups, width = stay.shape
    layers = ending.shape[2] - 1
    ending[:] = np.inf
    for s in range(stages - 1, -1, -1):
        last = 1 if s == stages - 1 else 0
        after = stages - 1 - s
        if last == 0:
            onward[s + 1] = np.inf
            for k in range(groups):
                row = onward[s + 1, k]
                for j in range(groups):
                    if move[s, k, j]:
                        c = hop[k, j]
                        for m in range(after, layers + 1):
                            row[m] = min(row[m], c + ending[s + 1, j, m])
        for k in range(groups):
            row = ending[s, k]
            for held in range(1, width):
                if stay[s, k, held]:
                    c = node[last, k, held] + price[k]
                    if last == 1:
                        row[held] = c
                    else:
                        for m in range(held + after, layers + 1):
                            row[m] = min(row[m], c + onward[s + 1, k, m - held])
    best = np.inf
    for k in range(groups):
        best = min(best, ending[0, k, layers])
    return best


@compiled
def from_the_start(node, price, hop, stay, move, starting, arriving):  # type: ignore[no-untyped-def]
    """Fill the costs from the start.

    `arriving[s, k, u]` is the least cost of stages ..s-1 with u layers and the hop to k, which holds stage s;
    `starting[s, k, u]` the least cost of stages ..s with stage s on k and u layers in all.
    """
    stages, groups, width = stay.shape
    layers = starting.shape[2] - 1
    starting[:] = np.inf
    arriving[:] = np.inf
    arriving[0, :, 0] = 0.0
    for s in range(stages):
        last = 1 if s == stages - 1 else 0
        for k in range(groups):
            row = starting[s, k]
            for held in range(1, width):
                if stay[s, k, held]:
                    c = node[last, k, held] + price[k]
                    for u in range(s, layers + 1 - held):
                        row[u + held] = min(row[u + held], c + arriving[s, k, u])
        if last == 0:
            for k in range(groups):
                for j in range(groups):
                    if move[s, k, j]:
                        c = hop[k, j]
                        row = arriving[s + 1, j]
                        for u in range(s + 1, layers + 1):
                            row[u] = min(row[u], c + starting[s, k, u])


@compiled
def read_path(node, price, hop, stay, move, ending, onward, groups_of, layers_of):  # type: ignore[no-untyped-def]
    """Write a path of least cost, which must exist, into `groups_of` and `layers_of` (one entry a stage)."""
    stages, groups, width = stay.shape
    left = ending.shape[2] - 1
    k = int(np.argmin(ending[0, :, left]))
    for s in range(stages):
        groups_of[s] = k
        if s == stages - 1:
            layers_of[s] = left
            return
        best = np.inf
        chosen = 0
        for held in range(1, min(width, left + 1)):
            if stay[s, k, held]:
                c = node[0, k, held] + price[k] + onward[s + 1, k, left - held]
                if c < best:
                    best = c
                    chosen = held
        layers_of[s] = chosen
        left -= chosen
        best = np.inf
        following = 0
        for j in range(groups):
            if move[s, k, j]:
                c = hop[k, j] + ending[s + 1, j, left]
                if c < best:
                    best = c
                    following = j
        k = following


@compiled
def drop_above(limit, node, price, hop, stay, move, ending, onward, starting, arriving):  # type: ignore[no-untyped-def]
    """Forbid every choice whose cheapest path costs more than `limit`; the number of choices dropped."""
    stages, groups, width = stay.shape
    layers = ending.shape[2] - 1
    dropped = 0
    for s in range(stages):
        last = 1 if s == stages - 1 else 0
        for k in range(groups):
            for held in range(1, width):
                if stay[s, k, held]:
                    best = np.inf
                    if last == 1:
                        best = arriving[s, k, layers - held]
                    else:
                        for u in range(s, layers + 1 - held):
                            best = min(best, arriving[s, k, u] + onward[s + 1, k, layers - u - held])
                    if best + node[last, k, held] + price[k] > limit:
                        stay[s, k, held] = False
                        dropped += 1
        if last == 0:
            for k in range(groups):
                for j in range(groups):
                    if move[s, k, j]:
                        best = np.inf
                        for u in range(s + 1, layers + 1):
                            best = min(best, starting[s, k, u] + ending[s + 1, j, layers - u])
                        if best + hop[k, j] > limit:
                            move[s, k, j] = False
                            dropped += 1
    return dropped
