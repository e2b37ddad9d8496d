"""Runs of two folders that were asked for the same: instance, objective, solver, budget and seed."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from bench.records.record import Record
from bench.runs.isolated import Termination
from bench.runs.store import Store
from instances.errors import InputError

CLOCK = (Termination.TIME_LIMIT, Termination.INTERRUPTED)
"""Ends that depend on how fast the machine is."""


class Pair(NamedTuple):
    """A run in both folders; `new` is None where the newer one lacks it."""

    base: Record
    new: Record | None

    @property
    def by_clock(self) -> bool:
        """Whether the clock ended one of the two: then equal code need not find equal values."""
        return any(record is not None and record.ended in CLOCK for record in self)

    @property
    def timed(self) -> bool:
        """Whether seconds can be compared: both finished, each alone on the same machine."""
        if self.new is None or self.by_clock:
            return False
        return self.base.timed_alone and self.new.timed_alone and self.base.machine == self.new.machine


def pairs_of(base: Store, new: Store, only: Collection[str] = ()) -> list[Pair]:
    """All runs of `base` with those of `new`; `only` these solvers, by name or label.

    InputError if no run of the one is a run of the other.
    """
    theirs, ours = _results(base), _results(new)
    wanted = {key: record for key, record in theirs.items() if not only or {record.solver, record.label} & set(only)}
    if not wanted.keys() & ours.keys():
        among = f" of {', '.join(only)}" if only else ""
        raise InputError(
            f"{base.folder} and {new.folder}: have no run{among} in common, so there is nothing to compare"
        )
    return [Pair(record, ours.get(key)) for key, record in wanted.items()]


def _results(store: Store) -> dict[str, Record]:
    """The results that the folder asks for, by all that can change them but the code."""
    asked = {run.key for run in store.asked().runs}
    return {record.key_without_code: record for record in store.records() if record.key in asked}
