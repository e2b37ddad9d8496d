"""Spread GPUs over places, evenly, or at random from a stream that is the same on every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from instances.catalogue.gpus import gpu_type
from instances.generator.assembly import WAN_JOULES_PER_BYTE, Placed
from instances.generator.family import AUTO, LARGEST, Option, Options

T = TypeVar("T")
Uniform = Callable[[], float]
"""Numbers in [0, 1), such as `instances.seeds.stream(...).random`."""


@dataclass(frozen=True)
class Places:
    """The regions (sites, cities) that a pool is spread over; `kind` is their name and that of the option.

    Left to the family, there is one for every `gpus_each` GPUs, within `fewest` and `most`.
    """

    kind: str
    gpus_each: int
    fewest: int = 2
    most: int = LARGEST

    def option(self) -> dict[str, Option]:
        """The number of places."""
        limits = f"{self.fewest} {'or more' if self.most == LARGEST else f'to {self.most}'}"
        text = f"number of {self.kind}; auto: one for every {self.gpus_each} GPUs, {limits}"
        return {self.kind: Option(AUTO, text, kind="integer")}

    def energy_option(self) -> dict[str, Option]:
        """The energy of what is sent from one place to another."""
        return {"link-energy": Option(f"{WAN_JOULES_PER_BYTE:g}", f"J per byte between {self.kind}", kind="number")}

    def draw(self, uniform: Uniform, options: Options, gpus: int, known: Sequence[str]) -> list[str]:
        """As many of the known places as were asked for, but never more than there are GPUs."""
        count = options[self.kind] or min(self.most, max(self.fewest, gpus // self.gpus_each))
        return pick_some(uniform, known, min(count, gpus, len(known)))


def place_evenly(gpus: int, places: Sequence[str], types_of: Callable[[int], Sequence[str]]) -> list[Placed]:
    """The GPUs spread evenly over places, and in each over the types that `types_of` gives for so many GPUs."""
    return [
        Placed(place, place, gpu_type(name), size)
        for place, share in spread(gpus, places).items()
        for name, size in spread(share, types_of(share)).items()
    ]


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


def pick_types(uniform: Uniform, types: Sequence[T], gpus: int, most: int) -> list[T]:
    """Up to `most` types for a place with so many GPUs: two or more GPUs of each, where there is more than one."""
    return pick_some(uniform, types, min(max(1, min(most, gpus // 2)), len(types)))
