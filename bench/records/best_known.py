"""The best known values: a committed file with one entry for each instance, objective and reference."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from bench.records.record import Result
from bench.records.task import label
from instances.disk import read_text, write_text
from instances.errors import InputError
from instances.files import FileModel, PlanFile, model_from_text
from instances.instance import COST_MODEL_VERSION, NonNegative
from instances.objective import Reference
from solvers.core.gap import OPTIMAL_GAP, certified_gap

SCHEMA: Literal["geotrain-bench/best-known/1"] = "geotrain-bench/best-known/1"
FILE = "best_known.jsonl"
Key = tuple[str, str, float | None, float | None]
"""Content hash, objective, and T_ref and E_ref where the objective is relative to them."""


class Credit(FileModel):
    """Who found it, with what budget and when (the day it was merged)."""

    solver: str
    options: dict[str, str]
    seed: int
    threads: int
    time_limit_s: float | None
    evaluation_limit: int | None
    commit: str | None
    day: str

    def __str__(self) -> str:
        return f"{label(self.solver, self.options)} (seed {self.seed}, {self.day})"


class BestKnown(FileModel):
    """The best value that the referee confirmed, its plan, and the best proven lower bound, if any."""

    schema_: Literal["geotrain-bench/best-known/1"] = Field(alias="schema")
    instance: str
    instance_hash: str
    cost_model_version: int
    objective: str
    reference: Reference | None
    value: NonNegative
    bound: NonNegative | None
    plan: PlanFile
    value_by: Credit
    bound_by: Credit | None

    @property
    def key(self) -> Key:
        """What it is looked up by."""
        return problem_key(self.instance_hash, self.objective, self.reference)

    @property
    def proven(self) -> bool:
        """Whether the value is the optimum (docs/model.md, Gaps)."""
        return self.bound is not None and certified_gap(self.value, self.bound) <= OPTIMAL_GAP


def problem_key(instance_hash: str, objective: str, reference: Reference | None) -> Key:
    """What a problem is looked up by; no reference where the objective needs none."""
    time, energy = (reference.time_s, reference.energy_j) if reference else (None, None)
    return instance_hash, objective, time, energy


def problem_key_of(record: Result) -> Key:
    """The key of the problem that a run answers."""
    return problem_key(record.instance_hash, record.objective, record.needed_reference)


def default_file() -> Path:
    """The committed file: in an installed copy beside this module, in a source tree in `results/`."""
    here = Path(__file__).parent
    packaged = here / "results" / FILE
    return packaged if packaged.is_file() else here.parents[1] / "results" / FILE


def read_best_known(path: Path) -> dict[Key, BestKnown]:
    """The entries of a file, none where there is no file. InputError names line and field."""
    if not path.exists():
        return {}
    found: dict[Key, BestKnown] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        where = f"{path}: line {number}"
        entry = model_from_text(BestKnown, line, where)
        if entry.key in found:
            raise InputError(f"{where}: a second entry for {entry.instance}, {entry.objective}")
        found[entry.key] = entry
    return found


def write_best_known(path: Path, entries: Iterable[BestKnown]) -> None:
    """Write the file, by instance and objective, so that its history can be read."""
    ordered = sorted(entries, key=lambda entry: (entry.instance, entry.objective, str(entry.reference)))
    rows = (json.dumps(entry.model_dump(mode="json", by_alias=True), allow_nan=False) for entry in ordered)
    write_text(path, "".join(f"{row}\n" for row in rows))


@cache
def best_known() -> Mapping[Key, BestKnown]:
    """The committed entries of this cost-model version."""
    found = read_best_known(default_file())
    return {key: entry for key, entry in found.items() if entry.cost_model_version == COST_MODEL_VERSION}
