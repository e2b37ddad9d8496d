"""Copies between rows of arrays; slice assignment would double compilation time."""

from __future__ import annotations

from solvers.core.compiled import inner


@inner
def copy(source, i, target, j, count):  # type: ignore[no-untyped-def]
    """Write source[i : i + count] to target[j : j + count]."""
    for step in range(count):
        target[j + step] = source[i + step]
