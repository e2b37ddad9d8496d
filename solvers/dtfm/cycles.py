"""Cyclic partitioning: DT-FM's local search, which moves devices around cycles of groups.

Source: Yuan et al. 2022 (arXiv 2206.01288), section 3, after Kang and Moon 2000. A cycle begins at the
group with the most promising move. Its device goes to another group, from there another device goes
on, and so forth until the chain is back; the best place to close it early is looked for afterwards.
A device moves once in a search. A search ends when every group has received a device, or after S cycles.

The gain of moving device v to group t, by the time w between devices:

    paper      mean of w[v, u] over u in t  -  least w[v, u] over v's own group
    baseline   sum of w[v, u] over u in t   -  sum of w[v, u] over v's own group    (Kernighan-Lin like)

The paper's w is `hop`: links inside a group shall be the slow ones, so that fast links are left
between groups. Only the device with the fastest link inside its group may leave it. The baseline's w is
`hop` less the time of a whole gradient, and every device may leave.
"""

import numpy as np
from numpy.typing import NDArray

from solvers.core.compiled import compiled
from solvers.dtfm.message_times import Matrix

Labels = NDArray[np.int64]
Flags = NDArray[np.bool_]
Gains = NDArray[np.float64]


@compiled
def fastest_link_inside(device: int, labels: Labels, times: Matrix) -> float:
    """Return the least time from `device` to another member of its group; infinite if it is alone."""
    least = np.inf
    for other in range(labels.size):
        if labels[other] == labels[device] and other != device:
            least = min(least, times[device, other])
    return least


@compiled
def fill_gains(device: int, labels: Labels, times: Matrix, baseline: bool, gains: Gains) -> None:
    """Write the gain of moving `device` to each group, -inf for its own, into `gains` (S,)."""
    own = labels[device]
    gains[:] = 0.0
    members = np.zeros(gains.size)
    for other in range(labels.size):
        if other != device:
            gains[labels[other]] += times[device, other]
            members[labels[other]] += 1
    inside = gains[own] if baseline else fastest_link_inside(device, labels, times)
    for group in range(gains.size):
        if not baseline and members[group] > 0:
            gains[group] /= members[group]
        gains[group] -= inside
    gains[own] = -np.inf


@compiled
def choose_move(
    group: int, labels: Labels, times: Matrix, baseline: bool, locked: Flags, gains: Gains
) -> tuple[int, int, float]:
    """Find the best move out of `group`: (device, target, gain), device -1 if all are locked.

    `gains` is left with the chosen device's gains, so that closing the cycle with it is judged by its
    own gain. Ties go to the lowest device and the lowest group.
    """
    chosen = -1
    target = -1
    best = -np.inf
    key = np.inf  # the smaller, the better: the link inside, or for the baseline the gain reversed
    for device in range(labels.size):
        if labels[device] != group or locked[device]:
            continue
        if baseline:
            fill_gains(device, labels, times, True, gains)
            device_key = -gains.max()
        else:
            device_key = fastest_link_inside(device, labels, times)
        if chosen < 0 or device_key < key:
            chosen = device
            key = device_key
    if chosen >= 0:
        fill_gains(chosen, labels, times, baseline, gains)
        target = int(gains.argmax())
        best = gains[target]
    return chosen, target, best


@compiled
def choose_start(labels: Labels, times: Matrix, baseline: bool, locked: Flags, gains: Gains) -> int:
    """Return the group whose best move gains most, -1 if every device is locked."""
    start = -1
    most = -np.inf
    for group in range(gains.size):
        device, _, gain = choose_move(group, labels, times, baseline, locked, gains)
        if device >= 0 and (start < 0 or gain > most):
            start = group
            most = gain
    return start


@compiled
def run_cycle(start: int, labels: Labels, times: Matrix, baseline: bool, locked: Flags, reached: Flags) -> None:
    """Move devices along one cycle from `start`, in place; undone if no way to close it gains.

    Moves that are undone keep their locks and their marks in `reached`: else the next cycle would
    be the same.
    """
    gains = np.empty(reached.size)
    movers = np.empty(labels.size, np.int64)
    sources = np.empty(labels.size, np.int64)
    moves = 0
    gained = 0.0  # by the moves so far, each to its best group
    best = 0.0
    closing = 0  # the move that goes to `start` instead; 0: none, for the first one comes from there
    group = start
    while moves < labels.size:
        device, target, gain = choose_move(group, labels, times, baseline, locked, gains)
        if device < 0:
            break  # nothing left to send on: the chain cannot close beyond this point
        if moves > 0 and gained + gains[start] > best:
            best = gained + gains[start]
            closing = moves
        movers[moves] = device
        sources[moves] = group
        moves += 1
        gained += gain
        labels[device] = target
        locked[device] = True
        reached[target] = True
        group = target
        if group == start:
            break
    kept = closing + 1 if closing > 0 else 0
    for move in range(moves - 1, kept - 1, -1):
        labels[movers[move]] = sources[move]
    if closing > 0:
        labels[movers[closing]] = start


@compiled
def cyclic_partitioning(labels: Labels, stages: int, times: Matrix, baseline: bool) -> Labels:
    """Improve a partition; every group keeps its size.

    A cycle never lowers the sum of gains, so the best prefix of the cycles is all of them.

    Parameters
    ----------
    labels : (n,), the group of each device, R devices in each of the `stages` groups, R >= 2
    times : (n, n), w above; symmetric
    """
    labels = labels.copy()
    locked = np.zeros(labels.size, np.bool_)
    reached = np.zeros(stages, np.bool_)
    gains = np.empty(stages)
    for _ in range(stages):
        start = choose_start(labels, times, baseline, locked, gains)
        if start < 0 or reached.all():
            break
        run_cycle(start, labels, times, baseline, locked, reached)
    return labels
