"""Copies between rows of arrays; NumPy's assignment of slices would double the time of compilation."""

from __future__ import annotations

from solvers.core.compiled import inner


@inner
def copy(source, i, target, j, count):  # type: ignore[no-untyped-def]
    """Write source[i : i + count] to target[j : j + count]."""
    for step in range(count):
        target[j + step] = source[i + step]
