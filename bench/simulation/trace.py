"""A time line as the trace format of Chrome (chrome://tracing, Perfetto): pipelines as processes, GPUs as rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

from bench.simulation.durations import BACKWARD, FORWARD, Floats
from bench.simulation.timeline import TimeLine
from instances.plan import gpu_name

MICROSECONDS = 1e6
WORDS = {FORWARD: "forward", BACKWARD: "backward"}
PORTS = ("gradients out", "gradients in")
ROWS = ("", "sends forward", "sends backward", *PORTS)
"""Of each GPU: what it computes, its two links, its two ports."""


def chrome_trace(line: TimeLine) -> str:
    """The text of the trace file: complete events in microseconds, with micro-batch numbers from 0."""
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": [*_names(line), *_passes(line), *_exchange(line)]})


def _names(line: TimeLine) -> Iterator[dict[str, Any]]:
    for r, row in enumerate(line.plan.pipelines):
        yield {"ph": "M", "name": "process_name", "pid": r, "args": {"name": f"pipeline {r}"}}
        for (s, gpu), (part, words) in product(enumerate(row), enumerate(ROWS)):
            name = f"{gpu_name(line.instance, gpu)} {words}".rstrip()
            thread = {"ph": "M", "pid": r, "tid": s * len(ROWS) + part}
            yield {**thread, "name": "thread_name", "args": {"name": name}}
            yield {**thread, "name": "thread_sort_index", "args": {"sort_index": s * len(ROWS) + part}}


def _passes(line: TimeLine) -> Iterator[dict[str, Any]]:
    stages = line.plan.stages
    for slot, direction in product(range(len(line.compute)), (FORWARD, BACKWARD)):
        r, row = slot // stages, slot % stages * len(ROWS)
        for number, span in enumerate(line.compute[slot, direction]):
            yield _event(f"{WORDS[direction]} {number}", WORDS[direction], r, row, span)
        for number, span in enumerate(line.send[slot, direction]):
            if span[1] == span[1]:  # not nan: there is a next stage
                yield _event(f"send {number}", f"send {WORDS[direction]}", r, row + 1 + direction, span)


def _exchange(line: TimeLine) -> Iterator[dict[str, Any]]:
    stages, replicas, ports, rounds, others, _ = line.exchange.shape
    for s, r, port, turn, number in product(*map(range, (stages, replicas, ports, rounds, others))):
        name = f"{('collect', 'return')[turn]} {number}"
        yield _event(name, "exchange", r, s * len(ROWS) + 3 + port, line.exchange[s, r, port, turn, number])


def _event(name: str, category: str, pipeline: int, row: int, span: Floats) -> dict[str, Any]:
    begin, length = float(span[0]) * MICROSECONDS, float(span[1] - span[0]) * MICROSECONDS
    return {"ph": "X", "name": name, "cat": category, "pid": pipeline, "tid": row, "ts": begin, "dur": length}
