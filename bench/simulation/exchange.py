"""The gradient exchange, transfer by transfer: every GPU's outgoing and incoming port has a queue of its own.

Compiled. Import this module only from modules that are themselves imported late.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from bench.simulation.durations import Floats, Ints
from bench.simulation.traffic import STARTED, Event, Traffic, end_transfer, start_transfer
from solvers.core.compiled import compiled, inner, inner_allocating

OUT, IN = 0, 1
ROUNDS = 2
"""Collect and return: a stage returns once it has collected everything."""


@compiled
def run_exchange(
    begin: float,
    share: Floats,
    bandwidth: Floats,
    latency: Floats,
    site: Ints,
    traffic: Traffic,
    times: Floats,
) -> None:
    """Fill in `times` [stage, holder, port, round, transfer, 2] from `begin` on.

    A port is a channel of the traffic, numbered (stage R + holder) 2 + port. It is taken by the latency of a transfer
    and by its bytes. Only outgoing ports take part in the sharing of uplinks.
    """
    stages, replicas = latency.shape[0], latency.shape[1]
    turn, others = np.zeros(stages, np.int64), replicas - 1
    done = np.zeros((stages, replicas, 2), np.int64)
    waiting = np.full(stages, 2 * replicas)  # ports with transfers left in this round
    events = [(0.0, 0, 0, 0) for _ in range(0)]
    if others:
        for port in range(stages * replicas * 2):
            begin_transfer(events, latency, times, port, 0, 0, begin)
    while len(events):
        now, kind, port, change = heappop(events)
        stage, holder, way = port // 2 // replicas, port // 2 % replicas, port % 2
        number = done[stage, holder, way]
        if kind == STARTED:
            sender, receiver = ends(holder, way, number, replicas)
            link = site[stage, sender, receiver] if way == OUT else -1
            start_transfer(events, traffic, port, now, share[stage], bandwidth[stage, sender, receiver], link)
        elif change == traffic.change[port]:
            end_transfer(events, traffic, port, now)
            times[stage, holder, way, turn[stage], number, 1] = now
            done[stage, holder, way] += 1
            if number + 1 < others:
                begin_transfer(events, latency, times, port, turn[stage], number + 1, now)
            else:
                waiting[stage] -= 1
                if waiting[stage] == 0 and turn[stage] + 1 < ROUNDS:
                    turn[stage] += 1
                    waiting[stage] = 2 * replicas
                    done[stage] = 0
                    for other in range(2 * replicas):
                        begin_transfer(events, latency, times, 2 * replicas * stage + other, turn[stage], 0, now)


@inner_allocating
def begin_transfer(
    events: list[Event], latency: Floats, times: Floats, port: int, turn: int, number: int, now: float
) -> None:
    """A port turns to a transfer, which begins with its latency."""
    replicas = latency.shape[1]
    stage, holder, way = port // 2 // replicas, port // 2 % replicas, port % 2
    times[stage, holder, way, turn, number, 0] = now
    sender, receiver = ends(holder, way, number, replicas)
    heappush(events, (now + latency[stage, sender, receiver], STARTED, port, 0))


@inner
def ends(holder: int, way: int, number: int, replicas: int) -> tuple[int, int]:
    """Sender and receiver of a port's transfer: with the next holder first, then with the one after it."""
    other = (holder + 1 + number) % replicas
    return (holder, other) if way == OUT else (other, holder)
