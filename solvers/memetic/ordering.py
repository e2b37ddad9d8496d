"""Sorting of small index arrays; NumPy's sort would double compilation time."""

from __future__ import annotations

from solvers.core.compiled import inner


@inner
def order_by(values, order, count):  # type: ignore[no-untyped-def]
    """Fill order[:count] with 0..count-1 by rising values: Shell sort with Knuth's gaps."""
    for i in range(count):
        order[i] = i
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            moved = order[i]
            j = i
            while j >= gap and values[order[j - gap]] > values[moved]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = moved
        gap //= 3
