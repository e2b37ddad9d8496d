"""A plan: micro-batch size, layer split and the GPU of every slot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from instances.errors import InputError
from instances.instance import Instance


class Gpu(NamedTuple):
    """One GPU: its group's position in the instance and its number within the group, both from 0."""

    group: int
    number: int


@dataclass(frozen=True)
class Plan:
    """R pipelines of depth S over the GPUs of one instance; well formed, not necessarily feasible.

    Attributes
    ----------
    micro_batch
        Sequences in a micro-batch, mb.
    layers
        Blocks in each stage, l_1..l_S; the same split in every pipeline.
    pipelines
        R rows of S GPUs.
    """

    micro_batch: int
    layers: tuple[int, ...]
    pipelines: tuple[tuple[Gpu, ...], ...]

    def __post_init__(self) -> None:
        if not self.layers or not self.pipelines:
            raise ValueError("a plan needs at least one stage and one pipeline")
        ragged = [r for r, row in enumerate(self.pipelines) if len(row) != len(self.layers)]
        if ragged:
            raise ValueError(
                f"pipelines: row {ragged[0]} has {len(self.pipelines[ragged[0]])} GPUs for {len(self.layers)} stages"
            )

    @property
    def stages(self) -> int:
        """Depth, S."""
        return len(self.layers)

    @property
    def replicas(self) -> int:
        """Number of pipelines, R."""
        return len(self.pipelines)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Group of each slot, R x S."""
        return tuple(tuple(gpu.group for gpu in row) for row in self.pipelines)

    @cached_property
    def holders(self) -> tuple[Mapping[int, int], ...]:
        """For each stage how many of its holders are of which group."""
        return tuple(Counter(column) for column in zip(*self.groups, strict=True))

    def unknown_gpus(self, instance: Instance) -> list[str]:
        """GPUs that the instance does not have, a sentence each; a negative number never counts from the end."""
        groups, found = instance.groups, []
        for gpu in dict.fromkeys(gpu for row in self.pipelines for gpu in row):
            if not 0 <= gpu.group < len(groups):
                found.append(f"there is no group number {gpu.group}, the instance has {len(groups)} groups")
            elif not 0 <= gpu.number < groups[gpu.group].count:
                found.append(f"there is no GPU {gpu_name(instance, gpu)}, the group has {groups[gpu.group].count}")
        return found

    def names(self, instance: Instance) -> list[list[str]]:
        """GPU of each slot as the plan file writes it, `group/number`. InputError if there is no such GPU."""
        if unknown := self.unknown_gpus(instance):
            raise InputError(f"{instance.name}: {unknown[0]}")
        return [[gpu_name(instance, gpu) for gpu in row] for row in self.pipelines]

    @classmethod
    def from_groups(cls, micro_batch: int, layers: Iterable[int], groups: Iterable[Iterable[int]]) -> Plan:
        """The canonical plan with these groups in its slots (R x S): pipelines sorted, GPUs numbered in order.

        Pipelines are interchangeable, and so are the GPUs of a group, so every plan has exactly one such form.
        """
        used: dict[int, int] = {}
        rows = []
        for row in sorted(tuple(int(group) for group in row) for row in groups):
            gpus = []
            for group in row:
                gpus.append(Gpu(group, used.get(group, 0)))
                used[group] = used.get(group, 0) + 1
            rows.append(tuple(gpus))
        return cls(int(micro_batch), tuple(int(count) for count in layers), tuple(rows))


def gpu_name(instance: Instance, gpu: Gpu) -> str:
    """`group/number`, as in a plan file."""
    return f"{instance.groups[gpu.group].name}/{gpu.number}"


def gpu_called(instance: Instance, name: str) -> Gpu:
    """The GPU that a plan file calls `name`, in the one spelling there is of it.

    KeyError if there is no such group, ValueError that says which GPUs the group has.
    """
    group_name, slash, number = name.partition("/")
    if not slash:
        raise KeyError(name)
    group = instance.group_index(group_name)
    count = instance.groups[group].count
    plain = number.isascii() and number.isdecimal() and (number == "0" or number[0] != "0")
    if not plain or len(number) > 9 or int(number) >= count:
        raise ValueError(f"{name!r}: group {group_name} has GPUs 0 to {count - 1}")
    return Gpu(group, int(number))
