"""The Lagrangian bound: multipliers on GPUs and weights on pipelines, by subgradient steps. Import late: numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.tables import Flags, Floats, Ints
from solvers.core.compiled import compiled, inner
from solvers.exact.joint_paths import Labels, PathGraph, find_paths, forbid_hops, forbid_slots, read_paths
from solvers.exact.subgradient import count_excess, step_gap, step_multipliers, step_weights

PATIENCE = 4
"""Steps without a better bound before the step is halved."""
SHORTEST = 0.05
"""Scale of a step at which the multipliers count as converged."""
ULP = 2.0**-52
"""Twice the unit roundoff: the factor 2 covers second-order terms and the rounding of the error term itself."""


class Relaxation(NamedTuple):
    """The relaxed problem: the choices of R pipelines, their costs, and the limit on the total.

    The pipelines form blocks, as large as the joint states. The time of the slowest pipeline is at least any convex
    combination of the pipelines' times; all other costs count in full.

    Attributes
    ----------
    seconds, hop_seconds, steady
        [last, k, layers] and [k, j] seconds of a pipeline's choices; [r] its fixed seconds.
    rest, rest_hop
        [last, k, layers] and [k, j] other costs of a choice.
    joint
        [last, t, layers] additional cost of a joint state.
    constant, limit
        Fixed cost; limit on the total cost.
    digits, powers
        The joint states, as in `JointStates`.
    allowed
        [b, s, t, layers] whether block b may be in a state.
    last
        [s] 1 for the last stage, else 0.
    can_serve, can_flow
        As in `Subproblem`; choices that no plan within the limit can make are removed.
    counts
        [k] GPUs of a group.
    like_before
        [r] whether pipeline r may choose the same as the one before.
    layers
        Layers of the model.
    """

    seconds: Floats
    hop_seconds: Floats
    steady: Floats
    rest: Floats
    rest_hop: Floats
    joint: Floats
    constant: float
    limit: float
    digits: Ints
    powers: Ints
    allowed: Flags
    last: Ints
    can_serve: Flags
    can_flow: Flags
    counts: Ints
    like_before: Flags
    layers: int

    def reversed(self) -> Relaxation:
        """The same problem from the last stage to the first."""
        return self._replace(
            hop_seconds=np.ascontiguousarray(self.hop_seconds.T),
            rest_hop=np.ascontiguousarray(self.rest_hop.T),
            allowed=np.ascontiguousarray(self.allowed[:, ::-1]),
            last=np.ascontiguousarray(self.last[::-1]),
            can_flow=np.ascontiguousarray(self.can_flow[:, ::-1].transpose(0, 1, 3, 2)),
        )


class Multipliers(NamedTuple):
    """[k] on the GPUs of each group, and [r] weights of the pipelines."""

    gpus: Floats
    weights: Floats


# One long loop: every compiled function adds a third of a second to a cold start, and every level of calls more.
@compiled
def tighten(  # noqa: C901 - see above
    relaxation: Relaxation, multipliers: Multipliers, steps: int
) -> tuple[float, float, Floats, float, Ints, Ints]:
    """Raise the bound by Polyak's subgradient steps, and overwrite the multipliers with the best found.

    A block costs at least its shortest path, less the multipliers times the GPUs available. Every bound is lowered by
    an upper bound on its own rounding error, so the best of many is valid, too (docs/bounds.md, B12).

    Returns
    -------
    The bound (infinite if there is no path), its allowance for rounding, the least cost of each block behind it, and
    the cost (infinite: none), groups [r, s] and layers [s] of the cheapest path found of a single block that uses no
    group too often.
    """
    _, stages, states, _ = relaxation.allowed.shape
    pipelines, limit, digits = len(relaxation.steady), relaxation.limit, relaxation.digits
    size = (stages, states, relaxation.layers + 1)
    labels = Labels(np.empty(size), np.empty((stages + 1, size[1], size[2])), np.empty((size[1], size[2])))
    cost, groups = np.empty(relaxation.joint.shape), len(relaxation.counts)
    hops = np.empty((relaxation.digits.shape[1], groups, groups))
    least, best_least = np.zeros(len(relaxation.allowed)), np.zeros(len(relaxation.allowed))
    groups_of, met_groups = np.zeros((pipelines, stages), np.int64), np.zeros((pipelines, stages), np.int64)
    layers_of, met_layers = np.zeros(stages, np.int64), np.zeros(stages, np.int64)
    now = Multipliers(multipliers.gpus.copy(), multipliers.weights.copy())
    excess, seconds = np.zeros(len(relaxation.counts)), np.zeros(pipelines)
    best, best_rounding, met, scale, waited = -np.inf, 0.0, np.inf, 1.0, 0
    for _ in range(steps):
        if not np.isfinite(now.gpus.sum() + now.weights.sum()):
            break  # a cost that is no number would look like a missing path
        for b in range(len(least)):
            first = b * relaxation.digits.shape[1]
            if relaxation.like_before[first]:
                least[b] = least[b - 1]
                for s in range(stages):
                    groups_of[first, s] = groups_of[first - 1, s]
            else:
                set_costs(relaxation, now, first, cost, hops)
                allowed, can_flow = relaxation.allowed[b], relaxation.can_flow
                graph = PathGraph(first, allowed, relaxation.last, cost, hops, can_flow, digits, relaxation.powers)
                least[b] = find_paths(graph, labels)
                if least[b] == np.inf:
                    return np.inf, 0.0, least, met, met_groups, met_layers
                read_paths(graph, labels, groups_of, layers_of)
        bound, rounding = total_cost(relaxation, now, least)
        if best == -np.inf or bound > best + 1e-9 * abs(best):
            best, best_rounding, waited = bound, rounding, 0
            keep(now, least, multipliers, best_least)
        else:
            waited += 1
            if waited >= PATIENCE:
                scale, waited = scale / 2, 0
        if best > limit or scale < SHORTEST:
            break
        fits = count_excess(relaxation.counts, groups_of, excess)
        spread = 0.0
        if len(least) == 1:
            spread, met_cost = path_cost(relaxation, now, least[0], groups_of, layers_of, seconds)
            if fits and met_cost < met:
                met = met_cost
                for s in range(stages):
                    met_layers[s] = layers_of[s]
                    for r in range(pipelines):
                        met_groups[r, s] = groups_of[r, s]
            step_weights(now.weights, seconds, scale * step_gap(limit, bound, best))
        if not step_multipliers(now.gpus, excess, scale * step_gap(limit, bound, best)) and spread <= 1e-9 * abs(bound):
            break
    return best, best_rounding, best_least, met, met_groups, met_layers


@compiled
def forbid(relaxation: Relaxation, reverse: Relaxation, multipliers: Multipliers, b: int, limit: float) -> int:
    """Forbid all choices with which block b costs more than `limit`; returns how many.

    `reverse` is the relaxation from the last stage to the first.
    """
    _, stages, states, _ = relaxation.allowed.shape
    size, groups = (stages, states, relaxation.layers + 1), len(relaxation.counts)
    members, width = relaxation.digits.shape[1], relaxation.seconds.shape[2]
    beyond = np.empty((states, relaxation.layers + 1))
    on_slots, on_hops = np.empty((members, groups, width)), np.empty((groups, groups))
    ahead = Labels(np.empty(size), np.empty((stages + 1, size[1], size[2])), beyond.copy())
    behind = Labels(np.empty(size), np.empty((stages + 1, size[1], size[2])), beyond.copy())
    cost, there = np.empty((2, states, width)), np.empty((members, groups, groups))
    back = there.copy()
    first, digits, powers = b * members, relaxation.digits, relaxation.powers
    set_costs(relaxation, multipliers, first, cost, there)
    set_costs(reverse, multipliers, first, cost, back)
    graph = PathGraph(first, relaxation.allowed[b], relaxation.last, cost, there, relaxation.can_flow, digits, powers)
    reverse_graph = PathGraph(first, reverse.allowed[b], reverse.last, cost, back, reverse.can_flow, digits, powers)
    find_paths(graph, ahead)
    find_paths(reverse_graph, behind)
    dropped = 0
    for s in range(stages):
        dropped += forbid_slots(limit, graph, ahead, behind, s, relaxation.can_serve, on_slots)
        if s < stages - 1:
            for r in range(relaxation.digits.shape[1]):
                dropped += forbid_hops(limit, graph, ahead, behind, s, r, beyond, on_hops)
    return dropped


@inner
def set_costs(relaxation: Relaxation, now: Multipliers, first: int, cost: Floats, hops: Floats) -> None:
    """Write the costs of the block that begins with pipeline `first` at these multipliers to `cost` and `hops`."""
    digits, seconds, rest, joint = relaxation.digits, relaxation.seconds, relaxation.rest, relaxation.joint
    weights, gpus = now.weights, now.gpus
    states, members = digits.shape
    groups, width = seconds.shape[1], seconds.shape[2]
    for last in range(2):
        for t in range(states):
            for held in range(width):
                cost[last, t, held] = joint[last, t, held]
            for r in range(members):
                k = digits[t, r]
                for held in range(width):
                    cost[last, t, held] += weights[first + r] * seconds[last, k, held] + rest[last, k, held] + gpus[k]
    for r in range(members):
        for k in range(groups):
            for j in range(groups):
                hops[r, k, j] = weights[first + r] * relaxation.hop_seconds[k, j] + relaxation.rest_hop[k, j]


@inner
def total_cost(relaxation: Relaxation, now: Multipliers, least: Floats) -> tuple[float, float]:
    """The Lagrangian bound at these multipliers, lowered by an upper bound on its rounding error.

    Returns
    -------
    The bound, and the allowance for rounding: all terms but the last difference are sums of nonnegative numbers, so
    the relative error of each is at most its number of operations times the roundoff (docs/bounds.md, B12).
    """
    cost, paid_back = relaxation.constant, 0.0
    for r in range(len(now.weights)):
        cost += now.weights[r] * relaxation.steady[r]
    for b in range(len(least)):
        cost += least[b]
    for k in range(len(now.gpus)):
        paid_back += now.gpus[k] * relaxation.counts[k]
    stages, members = relaxation.allowed.shape[1], relaxation.digits.shape[1]
    operations = stages * (members + 1) + members + 2 * len(now.weights) + len(least) + len(now.gpus) + 16
    rounding = operations * ULP * (cost + paid_back)
    return cost - paid_back - rounding, rounding


@inner
def keep(now: Multipliers, least: Floats, multipliers: Multipliers, best_least: Floats) -> None:
    """Save the multipliers and the least costs of the blocks."""
    for k in range(len(now.gpus)):
        multipliers.gpus[k] = now.gpus[k]
    for r in range(len(now.weights)):
        multipliers.weights[r] = now.weights[r]
    for b in range(len(least)):
        best_least[b] = least[b]


@inner
def path_cost(
    relaxation: Relaxation, now: Multipliers, least: float, groups_of: Ints, layers_of: Ints, seconds: Floats
) -> tuple[float, float]:
    """Fill in the seconds of each pipeline of a block.

    Returns
    -------
    The spread of these seconds, and the cost of the paths without multipliers, with the slowest pipeline's time.
    """
    pipelines, stages = groups_of.shape
    cost, slowest, fastest = relaxation.constant + least, -np.inf, np.inf
    for r in range(pipelines):
        taken = 0.0
        for s in range(stages):
            k = groups_of[r, s]
            cost -= now.gpus[k]
            taken += relaxation.seconds[1 if s == stages - 1 else 0, k, layers_of[s]]
            if s < stages - 1:
                taken += relaxation.hop_seconds[k, groups_of[r, s + 1]]
        cost -= now.weights[r] * taken
        seconds[r] = taken + relaxation.steady[r]
        slowest, fastest = max(slowest, seconds[r]), min(fastest, seconds[r])
    return slowest - fastest, cost + slowest
