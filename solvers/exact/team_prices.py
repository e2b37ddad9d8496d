"""Prices on GPUs for all pipelines at once: the Lagrangian bound of `prices` on the paths of `teams`. Import late."""

from __future__ import annotations

import numpy as np

from solvers.compiled import compiled
from solvers.exact.prices import PATIENCE, next_prices
from solvers.exact.teams import drop_teams_above, read_team, team_from_the_end, team_from_the_start


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
def team_costs(node, extra, price, digits):  # type: ignore[no-untyped-def]
    """[last, t, l] cost of a team with prices; `extra` is what the team costs as such."""
    cost = extra.copy()
    for t in range(len(digits)):
        for r in range(digits.shape[1]):
            for last in range(2):
                cost[last, t] += node[last, digits[t, r]] + price[digits[t, r]]
    return cost


@compiled
def tighten_team(  # type: ignore[no-untyped-def]
    node,
    hop,
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
    steps,
    groups_of,
    layers_of,
):
    """As `solvers.exact.prices.tighten`, for all pipelines, which hold the same layers.

    Returns
    -------
    The bound, the number of choices dropped, and the cost without prices of the cheapest paths met that use
    no group too often, written to `groups_of` [r, s] and `layers_of` [s].
    """
    pipelines, stages = stay.shape[:2]
    teams = len(digits)
    fine = fine_teams(stay, sync, most_sync, digits, counts)
    ending = np.empty((stages, teams, layers + 1))
    onward = np.empty((stages, teams, layers + 1))
    room = np.empty((teams, layers + 1))
    best = -np.inf
    best_price = price.copy()
    best_path = np.inf
    path_groups = np.zeros((pipelines, stages), dtype=np.int64)
    path_layers = np.zeros(stages, dtype=np.int64)
    scale = 1.0
    waited = 0
    for _ in range(steps):
        cost = team_costs(node, extra, price, digits)
        least = team_from_the_end(cost, fine, hop, move, digits, powers, ending, onward, room)
        if least == np.inf:
            return np.inf, 0, best_path
        read_team(cost, fine, hop, move, digits, ending, onward, path_groups, path_layers)
        excess = -counts.astype(np.float64)
        paid = 0.0
        for r in range(pipelines):
            for s in range(stages):
                excess[path_groups[r, s]] += 1
                paid += price[path_groups[r, s]]
        bound = constant + least - (price * counts).sum()
        if best == -np.inf or bound > best + 1e-9 * abs(best):
            best = bound
            best_price[:] = price
            waited = 0
        else:
            waited += 1
            if waited >= PATIENCE:
                scale /= 2
                waited = 0
        if best > target or scale < 0.05:
            break
        if excess.max() <= 0 and least - paid < best_path:
            best_path = least - paid
            groups_of[:] = path_groups
            layers_of[:] = path_layers
        if not next_prices(price, excess, scale, target, bound):
            break
    price[:] = best_price
    if best > target or target == np.inf:
        return best, 0, best_path
    cost = team_costs(node, extra, price, digits)
    team_from_the_end(cost, fine, hop, move, digits, powers, ending, onward, room)
    starting = np.empty((stages, teams, layers + 1))
    arriving = np.empty((stages, teams, layers + 1))
    hop_to = np.ascontiguousarray(hop.T)
    move_to = np.ascontiguousarray(move.transpose(0, 1, 3, 2))
    team_from_the_start(cost, fine, hop_to, move_to, digits, powers, starting, arriving, room)
    limit = target - constant + (price * counts).sum()
    dropped = drop_teams_above(
        limit, cost, fine, hop, stay, move, digits, powers, ending, onward, starting, arriving, room
    )
    return best, dropped, best_path
