"""One pipeline under 1F1B, by a recursion over what each GPU does next; the model of a schedule without closed form.

Compiled. Import this module only from modules that are themselves imported late. It shares nothing with the heap of
events (`pipelines.py`), which it is tested against. Messages do not contend and block nobody.
"""

from __future__ import annotations

import numpy as np

from bench.simulation.durations import BACKWARD, FORWARD, Floats, Ints
from solvers.core.compiled import compiled, inner

NEVER = np.inf


@compiled
def run_strict(compute: Floats, send: Floats, latency: Floats, count: int, kept: Ints) -> float:
    """Makespan, s, of `count` micro-batches under the strict order; `kept` gets how many each stage keeps at most.

    `compute`, `send` and `latency` are [stage, direction] s. Stage s does S - s forward passes, then a backward and a
    forward pass by turns, then the backward passes that are left: what it does next is known beforehand, so each
    stage goes on for as long as its inputs are there. O(S M).
    """
    stages = len(compute)
    there = np.full((stages, 2, count), NEVER)  # when a micro-batch can be computed
    there[0, FORWARD] = 0.0
    free, link = np.zeros(stages), np.zeros((stages, 2))
    done = np.zeros((stages, 2), np.int64)
    left = 2 * stages * count
    while left:
        for stage in range(stages):
            while done[stage, BACKWARD] < count:
                ahead = done[stage, FORWARD] - done[stage, BACKWARD]
                more = done[stage, FORWARD] < count and ahead < stages - stage
                direction = FORWARD if more else BACKWARD
                number = done[stage, direction]
                ready = there[stage, direction, number]
                if ready == NEVER:
                    break
                free[stage] = max(free[stage], ready) + compute[stage, direction]
                hand_on(there, link, send, latency, stage, direction, number, free[stage])
                done[stage, direction] += 1
                kept[stage] = max(kept[stage], done[stage, FORWARD] - done[stage, BACKWARD])
                left -= 1
    return float(free.max())


@compiled
def run_eager(compute: Floats, send: Floats, latency: Floats, count: int, kept: Ints) -> float:
    """As `run_strict`, under the order "backward if one is ready, else forward while fewer than S - s are kept".

    Of all that the stages could begin next, what begins first is final: nothing that is still unknown can begin
    earlier. O(S M) of these steps, each a look at all S stages.
    """
    stages = len(compute)
    there = np.full((stages, 2, count), NEVER)
    there[0, FORWARD] = 0.0
    free, link = np.zeros(stages), np.zeros((stages, 2))
    done = np.zeros((stages, 2), np.int64)
    begin, turn = np.full(stages, NEVER), np.zeros(stages, np.int64)
    begin[0] = 0.0
    for _ in range(2 * stages * count):
        stage = int(begin.argmin())
        direction = int(turn[stage])
        number = int(done[stage, direction])
        free[stage] = begin[stage] + compute[stage, direction]
        hand_on(there, link, send, latency, stage, direction, number, free[stage])
        done[stage, direction] += 1
        kept[stage] = max(kept[stage], done[stage, FORWARD] - done[stage, BACKWARD])
        for near in range(stage - 1 if stage else 0, min(stage + 2, stages)):
            forwards, backwards = done[near]
            forward = backward = NEVER
            if backwards < count:
                backward = max(free[near], there[near, BACKWARD, backwards])
            if forwards < count and forwards - backwards < stages - near:
                forward = max(free[near], there[near, FORWARD, forwards])
            turn[near] = BACKWARD if backward <= forward else FORWARD
            begin[near] = min(backward, forward)
    return float(free.max())


@inner
def hand_on(
    there: Floats, link: Floats, send: Floats, latency: Floats, stage: int, direction: int, number: int, now: float
) -> None:
    """Send the result of a pass to where it is needed next; the last stage keeps its own."""
    last = len(there) - 1
    if direction == FORWARD and stage == last:
        there[stage, BACKWARD, number] = now
    elif direction == FORWARD or stage > 0:
        link[stage, direction] = max(link[stage, direction], now) + send[stage, direction]
        there[stage + 1 if direction == FORWARD else stage - 1, direction, number] = (
            link[stage, direction] + latency[stage, direction]
        )
