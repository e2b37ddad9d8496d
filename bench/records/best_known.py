"""The best known values: a committed file with one entry for each instance, objective and reference."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bench.runs.judge import OPTIMALITY_GAP, certified_gap
from instances.errors import InputError
from instances.files import first_problem, write_text
from instances.instance import COST_MODEL_VERSION
from instances.objective import Reference, parse_objective

FILE = "best_known.jsonl"
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Key = tuple[str, str, float | None, float | None]
"""Content hash, objective, and T_ref and E_ref where the objective is relative to them."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Credit(_Strict):
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
        words = ",".join(f"{key}={value}" for key, value in sorted(self.options.items()))
        return f"{self.solver}{f'[{words}]' if words else ''} (seed {self.seed}, {self.day})"


class Figures(_Strict):
    """T_ref (s) and E_ref (J) of an objective that is relative to them."""

    time_s: Positive
    energy_j: Positive


class BestKnown(_Strict):
    """The best value that the referee confirmed, its plan, and the best proven lower bound, if any."""

    schema_: Literal["geotrain-bench/best-known/1"] = Field(alias="schema")
    instance: str
    instance_hash: str
    cost_model_version: int
    objective: str
    reference: Figures | None
    value: Positive
    bound: Positive | None
    plan: dict[str, Any]
    value_by: Credit
    bound_by: Credit | None

    @property
    def key(self) -> Key:
        """What it is looked up by."""
        return key_of(self.instance_hash, self.objective, self.reference)

    @property
    def proven(self) -> bool:
        """Whether the value is the optimum (SPEC 1.6)."""
        return self.bound is not None and certified_gap(self.value, self.bound) <= OPTIMALITY_GAP


def key_of(instance_hash: str, objective: str, reference: Figures | Reference | None) -> Key:
    """The key of a problem; no reference where the objective needs none."""
    time, energy = (reference.time_s, reference.energy_j) if reference else (None, None)
    return instance_hash, objective, time, energy


def key_of_record(record: Mapping[str, Any]) -> Key:
    """The key of the problem that a run's record answers."""
    return key_of(record["instance_hash"], record["objective"], reference_in(record))


def reference_in(record: Mapping[str, Any]) -> Figures | None:
    """The reference of a record, where its objective is relative to one."""
    if not record["reference"] or not parse_objective(record["objective"]).needs_reference:
        return None
    return Figures(time_s=record["reference"]["time_s"], energy_j=record["reference"]["energy_j"])


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
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        try:
            entry = BestKnown.model_validate_json(line)
        except ValidationError as error:
            raise InputError(f"{path}: line {number}: {first_problem(error)}") from None
        if entry.key in found:
            raise InputError(f"{path}: line {number}: a second entry for {entry.instance}, {entry.objective}")
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
