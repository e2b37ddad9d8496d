"""Ways into the compiled kernel from Python, which the package itself does without, and loops for timing it."""

# The bodies are compiled: no types, as in the kernel.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba

from solvers.core.numba_pipeline import EntryCompiler
from solvers.kernel import evaluation, reevaluation, sampling, shift_move, state, swap_move
from solvers.placements import columns

_jit: Any = numba.njit(pipeline_class=EntryCompiler)


@functools.cache  # compiled once for all tests
def callable_from_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function that calls an inner one with all its arguments."""

    @_jit
    def call(*arguments):
        return function(*arguments)

    result: Callable[..., Any] = call
    return result


load = callable_from_python(state.load)
measure = callable_from_python(evaluation.measure)
violation = callable_from_python(evaluation.violation)
try_swap = callable_from_python(swap_move.try_swap)
do_swap = callable_from_python(swap_move.do_swap)
exceeds_limit = callable_from_python(swap_move.exceeds_limit)
try_shift = callable_from_python(shift_move.try_shift)
do_shift = callable_from_python(shift_move.do_shift)
try_plan = callable_from_python(reevaluation.try_plan)
draw_groups = callable_from_python(sampling.draw_groups)
draw_split = callable_from_python(sampling.draw_split)
repair_split = callable_from_python(sampling.repair_split)
fill_columns = callable_from_python(columns.fill_columns)
balance = callable_from_python(columns.balance)


@_jit
def measure_many(o, q, f, r_index, b, stages, layers, placements, count):
    """Cost `count` plans in full, violation included; the sum keeps the work from being left out."""
    total = 0.0
    for i in range(count):
        group = placements[i % len(placements)]
        time, energy = evaluation.measure(o, q, f, r_index, b, stages, layers, group)
        over, power = evaluation.violation(o, q, f, r_index, b, stages, layers, group)
        total += time + energy + over + power
    return total


@_jit
def try_many(o, q, f, pairs, shifts, every, count, result):
    """Cost `count` moves: swaps, and every `every`-th a shift of a layer."""
    total = 0.0
    for i in range(count):
        if i % every == 0:
            ends = shifts[i % len(shifts)]
            shift_move.try_shift(o, q, f, ends[0], ends[1], 1, result)
        else:
            pair = pairs[i % len(pairs)]
            swap_move.try_swap(o, q, f, pair[0], pair[1], result)
        total += result[0]
    return total
