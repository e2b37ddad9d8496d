"""Ways into the compiled kernel from Python, which the package itself does without, and loops for timing it."""

# The bodies are compiled: no types, as in the kernel.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba

from solvers.kernel import evaluation as full
from solvers.kernel import reevaluation as other_plan
from solvers.kernel import shift_move as shift
from solvers.kernel import state
from solvers.kernel import swap_move as exchange

_jit = numba.njit


@_jit
def load(o, q, f, r_index, b, stages):
    state.load(o, q, f, r_index, b, stages)


@_jit
def measure(o, q, f, r_index, b, stages, layers, group):
    return full.measure(o, q, f, r_index, b, stages, layers, group)


@_jit
def violation(o, q, f, r_index, b, stages, layers, group):
    return full.violation(o, q, f, r_index, b, stages, layers, group)


@_jit
def try_swap(o, q, f, i, j, result):
    exchange.try_swap(o, q, f, i, j, result)


@_jit
def exceeds_limit(o, q, f, i, j, limit):
    return exchange.exceeds_limit(o, q, f, i, j, limit)


@_jit
def try_plan(o, q, f, group, result):
    other_plan.try_plan(o, q, f, group, result)


@_jit
def do_swap(o, q, f, i, j):
    exchange.do_swap(o, q, f, i, j)


@_jit
def try_shift(o, q, f, a, z, size, result):
    shift.try_shift(o, q, f, a, z, size, result)


@_jit
def do_shift(o, q, f, a, z, size):
    shift.do_shift(o, q, f, a, z, size)


@_jit
def measure_many(o, q, f, r_index, b, stages, layers, placements, count):
    """Cost `count` plans in full, violation included; the sum keeps the work from being left out."""
    total = 0.0
    for i in range(count):
        group = placements[i % len(placements)]
        time, energy = full.measure(o, q, f, r_index, b, stages, layers, group)
        over, power = full.violation(o, q, f, r_index, b, stages, layers, group)
        total += time + energy + over + power
    return total


@_jit
def try_many(o, q, f, pairs, shifts, every, count, result):
    """Cost `count` moves: exchanges, and every `every`-th a shift of a layer."""
    total = 0.0
    for i in range(count):
        if i % every == 0:
            ends = shifts[i % len(shifts)]
            shift.try_shift(o, q, f, ends[0], ends[1], 1, result)
        else:
            pair = pairs[i % len(pairs)]
            exchange.try_swap(o, q, f, pair[0], pair[1], result)
        total += result[0]
    return total
