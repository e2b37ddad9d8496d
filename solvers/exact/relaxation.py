"""Bounds a node by shortest paths with Lagrangian multipliers, and excludes choices that no better plan has."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from instances.plan import Plan
from instances.tables import Floats
from solvers.core.tiny_problem import tiny_problem
from solvers.exact.bounded_costs import BoundedCosts
from solvers.exact.grid_bounds import SAFETY, grid_bounds
from solvers.exact.node import Node
from solvers.exact.propagation import limit_steps, limit_sync, share_layers


class PathCosts(NamedTuple):
    """One relaxation: pipelines first..beyond-1, each a path, whose total cost must stay below the limit.

    The seconds of the pipelines enter as a weighted mean: `timed` and `timed_hop` are a pipeline's choices, `steady`
    its fixed seconds. The other costs enter in full for every pipeline.
    """

    name: str
    first: int
    beyond: int
    timed: Floats  # [last, k, layers]
    timed_hop: Floats  # [k, j]
    steady: Floats  # [r]
    rest: Floats  # [last, k, layers]
    rest_hop: Floats  # [k, j]
    constant: float
    limit: float
    exchange: float = 0.0  # weight of the exchange's energy


def tighten_node(node: Node, target: float, steps: int, offer: Callable[[Plan], object]) -> bool:
    """Raise the bounds of a node and shrink its choices; False if no plan in it can be below the target.

    Feasible paths found on the way are offered as plans. The node's bounds hold for every plan in it below the
    target.
    """
    goal = node.costs.goal
    # Two rounds: exclusions by one relaxation strengthen the next, and the bound on time that on energy.
    for _ in range(2):
        if not (limit_steps(node) and limit_sync(node, target) and share_layers(node)):
            return False
        dropped = 0
        for paths in _time_paths(node, target):
            bound, gone = _bound_paths(node, paths, steps, offer)
            dropped += gone
            if bound > paths.limit:
                return False
            node.time_s = max(node.time_s, bound)
            node.pipeline_s = max(node.pipeline_s, (bound - node.sync_low) * (1 - SAFETY))
        node.value = max(node.value, goal.time_weight * node.time_s)
        for paths in _energy_paths(node, target):
            bound, gone = _bound_paths(node, paths, steps, offer)
            dropped += gone
            if bound > paths.limit:
                return False
            if paths.name == "value":
                node.value = max(node.value, bound)
        if node.value > target:
            return False
        if not dropped:
            break
    return limit_steps(node) and share_layers(node)


def _bound_paths(node: Node, paths: PathCosts, steps: int, offer: Callable[[Plan], object]) -> tuple[float, int]:
    """Bound the node by one relaxation; the bound, and how many choices were excluded."""
    from solvers.exact.lagrangian import Multipliers, Relaxation, forbid, tighten  # numba loads late

    costs, tables = node.costs, node.costs.tables
    rows, count = slice(paths.first, paths.beyond), paths.beyond - paths.first
    states = costs.joint if costs.joint is not None and count == costs.replicas else costs.alone
    can_serve, can_flow = node.can_serve[rows], node.can_flow[rows]
    relaxation = Relaxation(
        seconds=paths.timed,
        hop_seconds=paths.timed_hop,
        steady=paths.steady,
        rest=paths.rest,
        rest_hop=paths.rest_hop,
        joint=paths.exchange * states.exchange_energy.min(axis=0),
        constant=paths.constant,
        limit=paths.limit,
        digits=states.digits,
        powers=states.powers,
        # The exchange must be short enough; only its energy adds up.
        allowed=states.allowed(can_serve, tables.counts, node.sync_high),
        last=(np.arange(costs.stages) == costs.stages - 1).astype(np.int64),
        can_serve=can_serve,
        can_flow=can_flow,
        counts=tables.counts,
        like_before=np.array([r > paths.first and node.alike(r, r - 1) for r in range(paths.first, paths.beyond)]),
        layers=tables.layers,
    )
    kept = node.multipliers.setdefault(paths.name, (np.zeros(len(tables.counts)), np.full(count, 1 / count)))
    multipliers = Multipliers(*kept)
    bound, rounding, least, cost, groups, layers = tighten(relaxation, multipliers, steps)
    dropped = 0
    if bound <= paths.limit < np.inf:
        # A block may cost what is left of the limit when all others cost their least. That is widened by what the
        # paths of a block may be rounded up by: the rounding of the bound, and a share of the limit itself.
        blocks = [(b, (paths.limit - bound + cost) * (1 + SAFETY) + 2 * rounding) for b, cost in enumerate(least)]
        reverse = relaxation.reversed()
        dropped = sum(forbid(relaxation, reverse, multipliers, b, limit) for b, limit in blocks)
    if cost < paths.limit and count == costs.replicas:
        offer(Plan.from_groups(costs.grid.micro_batch, layers, groups))
    return float(bound - SAFETY * abs(bound)) if np.isfinite(bound) else float(bound), dropped


def _time_paths(node: Node, target: float) -> list[PathCosts]:
    """The slowest pipeline is no faster than any one, nor than the average."""
    costs, limit, sync = node.costs, node.costs.time_limit(target), node.sync_low
    compute, hop, replicas = costs.forward + costs.backward, costs.hop, costs.replicas
    steady = costs.repeats * node.low.sum(axis=1)
    none, no_hop = np.zeros_like(compute), np.zeros_like(hop)
    # Pipelines with equal choices have equal bounds, but the choices of each must be excluded.
    found = [
        PathCosts(f"time {r}", r, r + 1, compute, hop, steady[r : r + 1], none, no_hop, sync, limit)
        for r in range(replicas)
    ]
    if replicas > 1:
        found.append(PathCosts("all times", 0, replicas, compute, hop, steady, none, no_hop, sync, limit))
    return found


def _energy_paths(node: Node, target: float) -> list[PathCosts]:
    """Energy with every GPU idle for the least time; for the objective and for a cap."""
    costs, goal, replicas = node.costs, node.costs.goal, node.costs.replicas
    energy = costs.above_idle + (costs.tables.idle * node.time_s)[None, :, None]
    compute, hop = goal.time_weight * (costs.forward + costs.backward), goal.time_weight * costs.hop
    steady = goal.time_weight * costs.repeats * node.low.sum(axis=1)
    found = []
    if goal.energy_weight:
        rest, rest_hop = goal.energy_weight * energy, goal.energy_weight * costs.hop_energy
        sync = goal.time_weight * node.sync_low
        found.append(
            PathCosts("value", 0, replicas, compute, hop, steady, rest, rest_hop, sync, target, goal.energy_weight)
        )
    if goal.energy_cap is not None:
        none, no_hop, still = np.zeros_like(compute), np.zeros_like(hop), np.zeros(replicas)
        limit = costs.energy_limit()
        found.append(PathCosts("energy", 0, replicas, none, no_hop, still, energy, costs.hop_energy, 0.0, limit, 1.0))
    return found


def warm_up() -> None:
    """Compile the bounds of one pipeline and of several together, or load what was compiled."""
    problem = tiny_problem()
    for cheap in grid_bounds(problem.tables, problem.goal):
        if cheap.value is not None and cheap.grid.stages == 2:
            tighten_node(
                Node.root(BoundedCosts(problem.tables, problem.goal, cheap.grid, cheap)),
                2 * cheap.value,
                2,
                lambda _: None,
            )
