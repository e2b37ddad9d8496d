"""Compiled shortest paths of pipelines through (stage, joint state, layers held). Import late: numba.

The pipelines of a block go through the stages together and hold the same layers; a block of one pipeline is an
ordinary path. A path may use more GPUs of a group than there are: `lagrangian` penalises that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.tables import Flags, Floats, Ints
from solvers.core.compiled import inner


class PathGraph(NamedTuple):
    """The layered graph of one block of pipelines, with costs that include the multipliers.

    Attributes
    ----------
    first
        The block's first pipeline.
    allowed
        [s, t, l]: stage s may be in state t with l layers.
    last
        [s] 1 for the last stage of a pipeline, else 0.
    cost
        [last, t, l] of a stage in a state.
    hops
        [m, k, j] of a hop in the m-th pipeline of the block.
    can_flow
        [r, s, k, j]: pipeline r may go from group k in stage s to group j in the next.
    digits, powers
        The states, as in `JointStates`.
    """

    first: int
    allowed: Flags
    last: Ints
    cost: Floats
    hops: Floats
    can_flow: Flags
    digits: Ints
    powers: Ints


class Labels(NamedTuple):
    """Least costs to the end with m layers, by [s, t, m].

    `ending` is of stages s.. with stage s in state t; `onward` is of the hops to stage s, from state t, and all
    beyond, so its last row, s = S, is 0 for no layers. `spare` [t, m] is scratch.
    """

    ending: Floats
    onward: Floats
    spare: Floats


@inner
def add_hops(  # noqa: C901 - nested loops; slice assignment would double compilation time
    graph: PathGraph, labels: Labels, s: int, skipped: int, found: Floats
) -> None:
    """Write to `found` [t, m] the costs from stage s + 1 on plus the hops from stage s, pipeline by pipeline.

    The pipeline `skipped` of the block does not move: its group is that of stage s + 1.
    """
    digits, powers, hops, can_flow, spare = graph.digits, graph.powers, graph.hops, graph.can_flow, labels.spare
    states, beyond = spare.shape
    fewest = graph.allowed.shape[0] - 1 - s  # each stage holds at least one layer
    for t in range(states):
        for m in range(beyond):
            found[t, m] = labels.ending[s + 1, t, m]
    for r in range(digits.shape[1]):
        if r == skipped:
            continue
        for t in range(states):
            for m in range(beyond):
                spare[t, m] = found[t, m]
                found[t, m] = np.inf
        for t in range(states):
            k = digits[t, r]
            for j in range(hops.shape[1]):
                if can_flow[graph.first + r, s, k, j]:
                    hop = hops[r, k, j]
                    to = t + (j - k) * powers[r]
                    for m in range(fewest, beyond):
                        found[t, m] = min(found[t, m], hop + spare[to, m])


@inner
def find_paths(graph: PathGraph, labels: Labels) -> float:  # noqa: C901 - nested loops
    """Fill in the labels; the least cost of a whole path, infinite if there is none."""
    allowed, ending, onward = graph.allowed, labels.ending, labels.onward
    stages, states, width = allowed.shape
    beyond = ending.shape[2]
    for t in range(states):
        for m in range(beyond):
            onward[stages, t, m] = 0.0 if m == 0 else np.inf
    for s in range(stages - 1, -1, -1):
        after = stages - 1 - s
        if after > 0:
            add_hops(graph, labels, s, graph.digits.shape[1], onward[s + 1])
        for t in range(states):
            for m in range(beyond):
                ending[s, t, m] = np.inf
            for held in range(1, width):
                if allowed[s, t, held]:
                    c = graph.cost[graph.last[s], t, held]
                    for m in range(held + after, beyond):
                        ending[s, t, m] = min(ending[s, t, m], c + onward[s + 1, t, m - held])
    best = np.inf
    for t in range(states):
        best = min(best, ending[0, t, beyond - 1])
    return best


@inner
def read_paths(graph: PathGraph, labels: Labels, groups_of: Ints, layers_of: Ints) -> None:
    """Write a path of least cost, which must exist, into `groups_of` [r, s] (the block's rows) and `layers_of`."""
    digits = graph.digits
    stages, states, width = graph.allowed.shape
    left = labels.spare.shape[1] - 1
    state = -1
    for s in range(stages):
        best, following = np.inf, 0
        for t in range(states):
            c = labels.ending[s, t, left]
            for r in range(digits.shape[1]):
                if s > 0 and c < best:
                    k, j = digits[state, r], digits[t, r]
                    c += graph.hops[r, k, j] if graph.can_flow[graph.first + r, s - 1, k, j] else np.inf
            if c < best:
                best, following = c, t
        state = following
        best, held = np.inf, 0
        for count in range(1, min(width, left + 1)):
            if graph.allowed[s, state, count]:
                c = graph.cost[graph.last[s], state, count] + labels.onward[s + 1, state, left - count]
                if c < best:
                    best, held = c, count
        for r in range(digits.shape[1]):
            groups_of[graph.first + r, s] = digits[state, r]
        layers_of[s] = held
        left -= held


@inner
def forbid_slots(  # noqa: C901 - nested loops
    limit: float, graph: PathGraph, ahead: Labels, behind: Labels, s: int, can_serve: Flags, least: Floats
) -> int:
    """Forbid every choice of group and layers in stage s whose cheapest path exceeds the limit; returns how many.

    `behind` are the labels of the reversed graph: its stage S - 1 - s is stage s. `least` [m, k, layers] is scratch.
    """
    stages, states, width = graph.allowed.shape
    members, groups = graph.hops.shape[0], graph.hops.shape[1]
    layers = ahead.spare.shape[1] - 1
    for r in range(members):
        for k in range(groups):
            for held in range(width):
                least[r, k, held] = np.inf
    for t in range(states):
        for held in range(1, width):
            if graph.allowed[s, t, held]:
                best = np.inf
                for m in range(s, layers + 1 - held):
                    best = min(best, behind.onward[stages - s, t, m] + ahead.onward[s + 1, t, layers - m - held])
                best += graph.cost[graph.last[s], t, held]
                for r in range(members):
                    k = graph.digits[t, r]
                    least[r, k, held] = min(least[r, k, held], best)
    dropped = 0
    for r in range(members):
        for k in range(groups):
            for held in range(1, width):
                if can_serve[graph.first + r, s, k, held] and least[r, k, held] > limit:
                    can_serve[graph.first + r, s, k, held] = False
                    dropped += 1
    return dropped


@inner
def forbid_hops(
    limit: float, graph: PathGraph, ahead: Labels, behind: Labels, s: int, r: int, beyond: Floats, least: Floats
) -> int:
    """Forbid every hop of the block's pipeline r from stage s whose cheapest path exceeds the limit; returns how many.

    `beyond` [t, m] and `least` [k, j] are scratch.
    """
    digits, can_flow, row = graph.digits, graph.can_flow, graph.first + r
    groups, stages = graph.hops.shape[1], graph.allowed.shape[0]
    add_hops(graph, ahead, s, r, beyond)
    layers = beyond.shape[1] - 1
    for k in range(groups):
        for j in range(groups):
            least[k, j] = np.inf
    for t in range(digits.shape[0]):
        k = digits[t, r]
        for j in range(groups):
            if can_flow[row, s, k, j]:
                to = t + (j - k) * graph.powers[r]
                best = np.inf
                for m in range(s + 1, layers + 1):
                    best = min(best, behind.ending[stages - 1 - s, t, m] + beyond[to, layers - m])
                least[k, j] = min(least[k, j], best + graph.hops[r, k, j])
    dropped = 0
    for k in range(groups):
        for j in range(groups):
            if can_flow[row, s, k, j] and least[k, j] > limit:
                can_flow[row, s, k, j] = False
                dropped += 1
    return dropped
