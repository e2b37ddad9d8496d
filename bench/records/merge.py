"""What the command `best` does: merge better values and bounds from run folders into the best known ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.records.best_known import (
    SCHEMA,
    BestKnown,
    Credit,
    Key,
    default_file,
    problem_key_of,
    read_best_known,
    write_best_known,
)
from bench.records.record import Record
from bench.reporting.metrics import ContradictionError
from bench.runs.known_hashes import known_hashes
from bench.runs.store import Store, older_content
from bench.verification.checks import verify_record
from instances.errors import InputError
from instances.instance import COST_MODEL_VERSION
from instances.objective import parse_objective
from solvers.core.gap import TOLERANCE
from solvers.core.interface import Status

OF_THE_RECORD = ("instance", "instance_hash", "cost_model_version", "objective", "value", "bound", "plan")
"""What an entry takes from the record as it is."""


@dataclass(frozen=True)
class Merged:
    """What a merge changed, as counts."""

    file: str
    entries: int
    proven: int
    new: int = 0
    better_values: int = 0
    better_bounds: int = 0
    of_older_contents: int = 0  # runs left out: their instance has been edited since, and run again in the folder
    of_other_instances: int = 0  # runs left out: the committed file holds instances of shipped suites only


def merge_folders(folders: Sequence[Path], file: Path | None) -> Merged:
    """Merge run folders into a file (default: the committed one, of shipped suites only).

    Nothing is written unless every record holds before the referee and fits what is known.
    """
    target = file or default_file()
    held = None if file else set(known_hashes())
    known = {key: entry for key, entry in read_best_known(target).items() if _current(entry, held)}
    counts: Counter[str] = Counter()
    for folder in folders:
        store = Store(folder)
        records = sorted(store.records(), key=lambda record: record.value is None)
        asked = store.asked().runs if records else ()
        # Those with a plan first: a bound without one has something to belong to then.
        for record in records:
            if held is not None and record.instance not in held:
                counts["of_other_instances"] += 1
            elif parse_objective(record.objective).kind != "front":
                _refuse_wrong(record, store)
                if older_content(record, asked):
                    counts["of_older_contents"] += 1
                    continue
                _refuse_other_content(record, store, known)
                _merge(known, record, counts)
    write_best_known(target, known.values())
    proven = sum(entry.proven for entry in known.values())
    return Merged(str(target), len(known), proven, **counts)


def _current(entry: BestKnown, held: set[str] | None) -> bool:
    """Whether an entry is of this cost model, of an instance that is held, and of its content in the suites."""
    if held is not None and entry.instance not in held:
        return False
    expected = known_hashes().get(entry.instance, entry.instance_hash)
    return entry.cost_model_version == COST_MODEL_VERSION and entry.instance_hash == expected


def _refuse_wrong(record: Record, store: Store) -> None:
    """InputError if the record does not hold."""
    findings = verify_record(record, store)
    if findings:
        raise InputError(f"{store.folder}: {record.title}: {findings[0]}")


def _refuse_other_content(record: Record, store: Store, known: Mapping[Key, BestKnown]) -> None:
    """InputError if the record belongs to another instance of the same name."""
    where = f"{store.folder}: {record.title}"
    name, content = record.instance, record.instance_hash
    others = {known_hashes().get(name, content), *(e.instance_hash for e in known.values() if e.instance == name)}
    if others != {content}:
        other = sorted(others - {content})[0]
        raise InputError(f"{where}: content hash: the instance of this name has {other}, the record has {content}")


def _merge(known: dict[Key, BestKnown], record: Record, counts: Counter[str]) -> None:
    key = problem_key_of(record)
    entry = known.get(key)
    if entry is not None:
        _refuse_contradiction(entry, record)
    value, bound = record.value, record.bound
    if entry is None:
        if value is not None and record.plan is not None:  # a bound alone waits for a plan
            same = {name: getattr(record, name) for name in OF_THE_RECORD}
            by = _credit(record)
            known[key] = BestKnown(
                schema=SCHEMA,
                reference=record.needed_reference,
                value_by=by,
                bound_by=None if bound is None else by,
                **same,
            )
            counts["new"] += 1
        return
    changes: dict[str, Any] = {}
    if value is not None and value < entry.value * (1 - TOLERANCE):
        changes |= {"value": value, "plan": record.plan, "value_by": _credit(record)}
        counts["better_values"] += 1
    least = changes.get("value", entry.value)
    if bound is not None and bound > (entry.bound or 0.0) * (1 + TOLERANCE):
        changes |= {"bound": min(bound, least), "bound_by": _credit(record)}
        counts["better_bounds"] += 1
    known[key] = entry.model_copy(update=changes)


def _refuse_contradiction(entry: BestKnown, record: Record) -> None:
    where, run = f"{entry.instance}, {entry.objective}", f"{record.label} (seed {record.seed})"
    value, bound = record.value, record.bound
    if record.status is Status.INFEASIBLE:
        raise ContradictionError(f"{where}: {run} proves that there is no plan, {entry.value_by} has one")
    if bound is not None and bound > entry.value * (1 + TOLERANCE):
        raise ContradictionError(
            f"{where}: {run} proves the bound {bound!r}, but {entry.value_by} has a plan of {entry.value!r}"
        )
    if value is not None and entry.bound is not None and entry.bound > value * (1 + TOLERANCE):
        raise ContradictionError(
            f"{where}: {entry.bound_by} proves the bound {entry.bound!r}, but {run} has a plan of {value!r}"
        )


def _credit(record: Record) -> Credit:
    same = {name: getattr(record, name) for name in Credit.model_fields if name != "day"}
    return Credit(**same, day=datetime.now(UTC).date().isoformat())
