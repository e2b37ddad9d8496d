"""The pipelines of an iteration, GPU by GPU and message by message, on a heap of events.

Compiled. Import this module only from modules that are themselves imported late.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from bench.simulation.durations import BACKWARD, FORWARD, Floats, Ints
from bench.simulation.traffic import ARRIVED, COMPUTED, Event, Traffic, end_transfer, start_transfer
from solvers.core.compiled import compiled, inner, inner_allocating

FILL_DRAIN, STRICT, EAGER = 0, 1, 2
NOTHING = -1


class Setup(NamedTuple):
    """The constants of a simulation: shape, rules and seconds (`Durations` has the units)."""

    stages: int
    micro_batches: int
    order: int  # FILL_DRAIN, STRICT or EAGER
    blocking: bool  # a GPU computes nothing while it sends
    compute: Floats  # [slot, direction]
    message: float
    bandwidth: Floats  # [slot, direction]
    latency: Floats  # [slot, direction]
    site: Ints  # [slot, direction]


class Progress(NamedTuple):
    """The state. Everything is done in the order of micro-batches, so numbers say which are done."""

    there: Ints  # [slot, direction] micro-batches that can be computed, done ones included
    begun: Ints  # [slot, direction] micro-batches that were begun
    ended: Ints  # [slot, direction]
    busy: Ints  # [slot] the direction it computes or sends in, or NOTHING
    sent: Ints  # [slot, direction] messages that have begun to leave


class Times(NamedTuple):
    """When each thing began and ended, s; the last axis is these two."""

    compute: Floats  # [slot, direction, micro-batch, 2]
    send: Floats  # [slot, direction, micro-batch, 2]


@compiled
def run_pipelines(setup: Setup, traffic: Traffic, times: Times) -> None:
    """Fill in `times` from 0 on."""
    slots = len(setup.compute)
    there, begun, ended, sent = np.zeros((4, slots, 2), np.int64)
    progress = Progress(there, begun, ended, np.full(slots, NOTHING), sent)
    there[:: setup.stages, FORWARD] = setup.micro_batches
    events = [(0.0, ARRIVED, slot, 0) for slot in range(0, slots, setup.stages)]
    awake = [0 for _ in range(0)]
    while len(events):
        now, kind, place, change = heappop(events)
        # A channel is 2 slot + direction.
        slot, direction = place // 2, place % 2
        if kind == COMPUTED:
            computed(setup, traffic, progress, times, events, place, now)
            awake.append(place)
        elif kind == ARRIVED:
            awake.append(place)
            if change:
                there[place, change - 1] += 1
        elif change == traffic.change[place]:
            left_sender(setup, traffic, progress, times, events, slot, direction, now)
            awake.append(slot)
        # What happens at the same moment has happened before anyone chooses.
        if not len(events) or events[0][0] > now:
            while len(awake):
                compute_next(setup, progress, times, events, awake.pop(), now)


@inner_allocating
def compute_next(setup: Setup, progress: Progress, times: Times, events: list[Event], slot: int, now: float) -> None:
    """Begin what the order of the schedule says, if the GPU is free and it can be."""
    if progress.busy[slot] != NOTHING:
        return
    direction = choose(setup, progress, slot)
    if direction == NOTHING:
        return
    number = progress.begun[slot, direction]
    progress.begun[slot, direction] += 1
    progress.busy[slot] = direction
    times.compute[slot, direction, number, 0] = now
    heappush(events, (now + setup.compute[slot, direction], COMPUTED, slot, 0))


@inner
def choose(setup: Setup, progress: Progress, slot: int) -> int:
    """What a free GPU does next: a direction, or NOTHING."""
    forwards, backwards = progress.begun[slot]
    forward = progress.there[slot, FORWARD] > forwards
    backward = progress.there[slot, BACKWARD] > backwards
    flying = forwards - backwards
    room = setup.stages - slot % setup.stages
    if setup.order == EAGER:
        if backward:
            return BACKWARD
        return FORWARD if forward and flying < room else NOTHING
    if setup.order == STRICT:
        turn = FORWARD if forwards < setup.micro_batches and flying < room else BACKWARD
    else:
        turn = FORWARD if forwards < setup.micro_batches else BACKWARD
    if turn == FORWARD:
        return FORWARD if forward else NOTHING
    return BACKWARD if backward else NOTHING


@inner_allocating
def computed(
    setup: Setup, traffic: Traffic, progress: Progress, times: Times, events: list[Event], slot: int, now: float
) -> None:
    """A GPU has computed: its result goes on, or turns round at the last stage."""
    direction = progress.busy[slot]
    number = progress.ended[slot, direction]
    progress.ended[slot, direction] += 1
    times.compute[slot, direction, number, 1] = now
    goes_on = setup.bandwidth[slot, direction] > 0
    if not (setup.blocking and goes_on):
        progress.busy[slot] = NOTHING
    if goes_on:
        send_next(setup, traffic, progress, times, events, slot, direction, now)
    elif direction == FORWARD:
        progress.there[slot, BACKWARD] += 1


@inner_allocating
def send_next(
    setup: Setup,
    traffic: Traffic,
    progress: Progress,
    times: Times,
    events: list[Event],
    slot: int,
    direction: int,
    now: float,
) -> None:
    """Send the oldest message that waits, if there is one and the link is free."""
    channel, number = 2 * slot + direction, progress.sent[slot, direction]
    if traffic.speed[channel] > 0 or number == progress.ended[slot, direction]:
        return
    progress.sent[slot, direction] += 1
    times.send[slot, direction, number, 0] = now
    start_transfer(
        events, traffic, channel, now, setup.message, setup.bandwidth[slot, direction], setup.site[slot, direction]
    )


@inner_allocating
def left_sender(
    setup: Setup,
    traffic: Traffic,
    progress: Progress,
    times: Times,
    events: list[Event],
    slot: int,
    direction: int,
    now: float,
) -> None:
    """A message has left: it arrives after the latency of the link, which is free at once."""
    end_transfer(events, traffic, 2 * slot + direction, now)
    times.send[slot, direction, progress.sent[slot, direction] - 1, 1] = now
    receiver = slot + 1 if direction == FORWARD else slot - 1
    heappush(events, (now + setup.latency[slot, direction], ARRIVED, receiver, direction + 1))
    if setup.blocking:
        progress.busy[slot] = NOTHING
    else:
        send_next(setup, traffic, progress, times, events, slot, direction, now)
