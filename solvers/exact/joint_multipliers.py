"""Prices on GPUs for all pipelines at once: the Lagrangian bound of `prices` on the paths of `teams`. Import late."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled
from solvers.exact.joint_paths import drop_teams_above, read_team, team_from_the_end, team_from_the_start
from solvers.exact.multipliers import PATIENCE, next_prices


@compiled
def fine_teams(stay, sync, most_sync, digits, counts):  # type: ignore[no-untyped-def]
    """[s, t, l]: every member may hold the layers, its group has the GPUs, and the exchange is short enough."""
    pipelines, stages, groups, width = stay.shape
    fine = np.zeros((stages, len(digits), width), dtype=np.bool_)
    used = np.zeros(groups, dtype=np.int64)
    for t in range(len(digits)):
        used[:] = 0
        enough = True
        for r in range(pipelines):
            used[digits[t, r]] += 1
            enough = enough and used[digits[t, r]] <= counts[digits[t, r]]
        if not enough:
            continue
        for s in range(stages):
            first = 1 if s == 0 else 0
            last = 1 if s == stages - 1 else 0
            for held in range(1, width):
                ok = sync[first, last, t, held] <= most_sync
                for r in range(pipelines):
                    ok = ok and stay[r, s, digits[t, r], held]
                fine[s, t, held] = ok
    return fine


@compiled
def team_costs(timed, rest, extra, price, weights, digits):  # type: ignore[no-untyped-def]
    """[last, t, l] cost of a team: its members' weighted seconds, other costs and prices, and what a team adds."""
    cost = extra.copy()
    for t in range(len(digits)):
        for r in range(digits.shape[1]):
            k = digits[t, r]
            for last in range(2):
                cost[last, t] += weights[r] * timed[last, k] + rest[last, k] + price[k]
    return cost


@compiled
def member_seconds(timed, timed_hop, steady, groups_of, layers_of):  # type: ignore[no-untyped-def]
    """[r] what each pipeline of some paths takes."""
    pipelines, stages = groups_of.shape
    found = steady.copy()
    for r in range(pipelines):
        for s in range(stages):
            k = groups_of[r, s]
            found[r] += timed[1 if s == stages - 1 else 0, k, layers_of[s]]
            if s < stages - 1:
                found[r] += timed_hop[k, groups_of[r, s + 1]]
    return found


@compiled
def next_weights(weights, seconds, scale, target, bound):  # type: ignore[no-untyped-def]
    """Shift weight to the pipelines that are slower than the average: the slowest is what counts."""
    deviation = seconds - seconds.mean()
    square = (deviation**2).sum()
    if square > 0:
        gap = target - bound if target < np.inf else 0.05 * abs(bound)
        weights += scale * max(gap, 1e-4 * abs(bound)) / square * deviation
        for r in range(len(weights)):
            weights[r] = max(0.0, weights[r])
        weights /= weights.sum()


@compiled
def tighten_team(  # type: ignore[no-untyped-def]
    timed,
    timed_hop,
    steady,
    rest,
    rest_hop,
    stay,
    move,
    sync,
    most_sync,
    extra,
    digits,
    powers,
    counts,
    layers,
    constant,
    target,
    price,
    weights,
    steps,
    groups_of,
    layers_of,
):
    """As `solvers.exact.multipliers.tighten`, for all pipelines, which hold the same layers.

    The slowest pipeline takes no less than the pipelines' seconds (`timed`, `timed_hop`, and `steady` by
    pipeline) with any weights that add up to 1; `weights` is replaced by the best found, as `price` is. What
    is in `rest` and `rest_hop` counts in full.

    Returns
    -------
    The bound, the number of choices dropped, and whether paths were met that use no group too often: the
    cheapest of them is written to `groups_of` [r, s] and `layers_of` [s].
    """
    pipelines, stages, groups, _ = stay.shape
    teams = len(digits)
    fine = fine_teams(stay, sync, most_sync, digits, counts)
    hops = np.empty((pipelines, groups, groups))
    ending = np.empty((stages, teams, layers + 1))
    onward = np.empty((stages, teams, layers + 1))
    room = np.empty((teams, layers + 1))
    best = -np.inf
    best_price = price.copy()
    best_weights = weights.copy()
    best_path = np.inf
    path_groups = np.zeros((pipelines, stages), dtype=np.int64)
    path_layers = np.zeros(stages, dtype=np.int64)
    scale = 1.0
    waited = 0
    for _ in range(steps):
        cost = team_costs(timed, rest, extra, price, weights, digits)
        for r in range(pipelines):
            hops[r] = weights[r] * timed_hop + rest_hop
        least = team_from_the_end(cost, fine, hops, move, digits, powers, ending, onward, room)
        if least == np.inf:
            return np.inf, 0, False
        read_team(cost, fine, hops, move, digits, ending, onward, path_groups, path_layers)
        excess = -counts.astype(np.float64)
        for r in range(pipelines):
            for s in range(stages):
                excess[path_groups[r, s]] += 1
        bound = constant + (weights * steady).sum() + least - (price * counts).sum()
        if best == -np.inf or bound > best + 1e-9 * abs(best):
            best = bound
            best_price[:] = price
            best_weights[:] = weights
            waited = 0
        else:
            waited += 1
            if waited >= PATIENCE:
                scale /= 2
                waited = 0
        if best > target or scale < 0.05:
            break
        seconds = member_seconds(timed, timed_hop, steady, path_groups, path_layers)
        if excess.max() <= 0 and seconds.max() < best_path:
            best_path = seconds.max()
            groups_of[:] = path_groups
            layers_of[:] = path_layers
        next_weights(weights, seconds, scale, target, bound)
        if not next_prices(price, excess, scale, target, bound) and seconds.max() - seconds.min() <= 1e-9 * abs(bound):
            break
    price[:] = best_price
    weights[:] = best_weights
    if best > target or target == np.inf:
        return best, 0, best_path < np.inf
    cost = team_costs(timed, rest, extra, price, weights, digits)
    for r in range(pipelines):
        hops[r] = weights[r] * timed_hop + rest_hop
    team_from_the_end(cost, fine, hops, move, digits, powers, ending, onward, room)
    starting = np.empty((stages, teams, layers + 1))
    arriving = np.empty((stages, teams, layers + 1))
    hops_to = np.ascontiguousarray(hops.transpose(0, 2, 1))
    move_to = np.ascontiguousarray(move.transpose(0, 1, 3, 2))
    team_from_the_start(cost, fine, hops_to, move_to, digits, powers, starting, arriving, room)
    limit = target - constant - (weights * steady).sum() + (price * counts).sum()
    dropped = drop_teams_above(
        limit, cost, fine, hops, stay, move, digits, powers, ending, onward, starting, arriving, room
    )
    return best, dropped, best_path < np.inf
