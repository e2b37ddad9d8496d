"""Distribute GPUs: evenly, or at random from a stream that is the same on every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
Uniform = Callable[[], float]
"""Numbers in [0, 1), such as `instances.seeds.stream(...).random`."""


def spread(count: int, names: Sequence[str]) -> dict[str, int]:
    """`count` things over `names` as evenly as possible, the first getting the remainder; none gets 0."""
    each, more = divmod(count, len(names))
    found = {name: each + (position < more) for position, name in enumerate(names)}
    return {name: share for name, share in found.items() if share}


def pick(uniform: Uniform, things: Sequence[T]) -> T:
    """One of `things`, all equally likely."""
    return things[int(uniform() * len(things))]


def pick_weighted(uniform: Uniform, weights: Mapping[str, float]) -> str:
    """One name, with a chance in proportion to its weight."""
    left = uniform() * sum(weights.values())
    for name, weight in weights.items():
        if left < weight:
            return name
        left -= weight
    return name  # rounding can leave a remainder after the last weight


def pick_some(uniform: Uniform, things: Sequence[T], count: int) -> list[T]:
    """`count` different things in their listed order, all sets equally likely."""
    left = list(range(len(things)))
    taken = sorted(left.pop(int(uniform() * len(left))) for _ in range(count))
    return [things[position] for position in taken]


def between(uniform: Uniform, low: float, high: float) -> float:
    """A number in [low, high), evenly."""
    return low + (high - low) * uniform()
