"""Compiled shortest paths of all pipelines at once, which hold the same layers in a stage. Import late: numba.

A team is one group for each pipeline, numbered by its digits: `digits[t, r]` is the group in pipeline r, worth
`digits[t, r] * powers[r]`. The state is (stage, team, layers). `fine[s, t, l]` says which teams may hold how
many layers in a stage, `cost[last, t, l]` what that costs, prices included; `hops[r, k, j]` is the cost of a hop
in pipeline r, and `move[r, s, k, j]` allows it.
"""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled


@compiled
def hop_back(hops, move, digits, powers, skipped, costs, room, least):  # type: ignore[no-untyped-def]
    """Put the hops of all pipelines but `skipped` before `costs` [t, m], in place, one pipeline after the other.

    `room` is as large as `costs`; layer counts below `least` cannot occur. `move[r, k, j]` allows a hop.
    """
    teams, pipelines = digits.shape
    groups, width = hops.shape[1], costs.shape[1]
    for r in range(pipelines):
        if r == skipped:
            continue
        room[:] = np.inf
        for t in range(teams):
            k = digits[t, r]
            for j in range(groups):
                if move[r, k, j]:
                    c = hops[r, k, j]
                    to = t + (j - k) * powers[r]
                    for m in range(least, width):
                        room[t, m] = min(room[t, m], c + costs[to, m])
        costs[:] = room


@compiled
def team_from_the_end(cost, fine, hops, move, digits, powers, ending, onward, room):  # type: ignore[no-untyped-def]
    """Fill `ending` (from stage s on) and `onward` (the same with the hops before), [s, t, m]; the least cost."""
    stages, teams, width = fine.shape
    layers = ending.shape[2] - 1
    ending[:] = np.inf
    for s in range(stages - 1, -1, -1):
        last = 1 if s == stages - 1 else 0
        after = stages - 1 - s
        if last == 0:
            onward[s + 1] = ending[s + 1]
            hop_back(hops, move[:, s], digits, powers, -1, onward[s + 1], room, after)
        for t in range(teams):
            row = ending[s, t]
            for held in range(1, width):
                if fine[s, t, held]:
                    c = cost[last, t, held]
                    if last == 1:
                        row[held] = c
                    else:
                        for m in range(held + after, layers + 1):
                            row[m] = min(row[m], c + onward[s + 1, t, m - held])
    best = np.inf
    for t in range(teams):
        best = min(best, ending[0, t, layers])
    return best


@compiled
def team_from_the_start(cost, fine, hops_to, move_to, digits, powers, starting, arriving, room):  # type: ignore[no-untyped-def]
    """Fill `arriving` (before stage s, hops included) and `starting` (stage s included), [s, t, u].

    `hops_to[r, j, k]` and `move_to[r, s, j, k]` are the hops from k to j: transposed.
    """
    stages, teams, width = fine.shape
    layers = starting.shape[2] - 1
    starting[:] = np.inf
    arriving[:] = np.inf
    arriving[0, :, 0] = 0.0
    for s in range(stages):
        last = 1 if s == stages - 1 else 0
        for t in range(teams):
            row = starting[s, t]
            for held in range(1, width):
                if fine[s, t, held]:
                    c = cost[last, t, held]
                    for u in range(s, layers + 1 - held):
                        row[u + held] = min(row[u + held], c + arriving[s, t, u])
        if last == 0:
            arriving[s + 1] = starting[s]
            hop_back(hops_to, move_to[:, s], digits, powers, -1, arriving[s + 1], room, s + 1)


@compiled
def read_team(cost, fine, hops, move, digits, ending, onward, groups_of, layers_of):  # type: ignore[no-untyped-def]
    """Write paths of least cost, which must exist, into `groups_of` [r, s] and `layers_of` [s]."""
    stages, teams, width = fine.shape
    pipelines = digits.shape[1]
    left = ending.shape[2] - 1
    team = int(np.argmin(ending[0, :, left]))
    for s in range(stages):
        groups_of[:, s] = digits[team]
        if s == stages - 1:
            layers_of[s] = left
            return
        best = np.inf
        chosen = 0
        for held in range(1, min(width, left + 1)):
            if fine[s, team, held] and cost[0, team, held] + onward[s + 1, team, left - held] < best:
                best = cost[0, team, held] + onward[s + 1, team, left - held]
                chosen = held
        layers_of[s] = chosen
        left -= chosen
        best = np.inf
        following = 0
        for t in range(teams):
            c = ending[s + 1, t, left]
            for r in range(pipelines):
                if c < best:
                    c += hops[r, digits[team, r], digits[t, r]] if move[r, s, digits[team, r], digits[t, r]] else np.inf
            if c < best:
                best = c
                following = t
        team = following


@compiled
def drop_teams_above(  # type: ignore[no-untyped-def]
    limit, cost, fine, hops, stay, move, digits, powers, ending, onward, starting, arriving, room
):
    """Forbid every choice with which the cheapest paths cost more than `limit`; how many went."""
    pipelines, stages, groups, width = stay.shape
    teams = len(digits)
    layers = ending.shape[2] - 1
    dropped = 0
    best_stay = np.empty((pipelines, groups, width))
    best_move = np.empty((pipelines, groups, groups))
    beyond = np.empty((teams, layers + 1))
    for s in range(stages):
        last = 1 if s == stages - 1 else 0
        best_stay[:] = np.inf
        best_move[:] = np.inf
        for t in range(teams):
            for held in range(1, width):
                if fine[s, t, held]:
                    best = np.inf
                    if last == 1:
                        best = arriving[s, t, layers - held]
                    else:
                        for u in range(s, layers + 1 - held):
                            best = min(best, arriving[s, t, u] + onward[s + 1, t, layers - u - held])
                    best += cost[last, t, held]
                    for r in range(pipelines):
                        k = digits[t, r]
                        best_stay[r, k, held] = min(best_stay[r, k, held], best)
        if last == 0:
            for r in range(pipelines):
                beyond[:] = ending[s + 1]
                hop_back(hops, move[:, s], digits, powers, r, beyond, room, stages - 1 - s)
                for t in range(teams):
                    k = digits[t, r]
                    for j in range(groups):
                        if move[r, s, k, j]:
                            to = t + (j - k) * powers[r]
                            best = np.inf
                            for u in range(s + 1, layers + 1):
                                best = min(best, starting[s, t, u] + beyond[to, layers - u])
                            best_move[r, k, j] = min(best_move[r, k, j], best + hops[r, k, j])
        for r in range(pipelines):
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
