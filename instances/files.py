"""The file boundary: instances and plans as JSON, read strictly, refused with one clear line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, Field, ValidationError

from instances.disk import parse_json, read_json, read_text, refuse_no_numbers, write_text
from instances.errors import InputError, shortened
from instances.instance import FileModel as FileModel
from instances.instance import Instance
from instances.plan import Gpu, Plan, gpu_called
from instances.validation import first_problem

M = TypeVar("M", bound=BaseModel)


def model_from_text(kind: type[M], text: str, source: str) -> M:
    """JSON text as a model. InputError names source, field and reason."""
    return _model(kind, parse_json(text, source), text, source)


def model_from_json(kind: type[M], data: Any, source: str) -> M:
    """Decoded JSON (or TOML) as a model. InputError names source, field and reason."""
    refuse_no_numbers(data, source)
    try:
        text = json.dumps(data, default=str)  # dates, which TOML has, are text
    except RecursionError:
        raise InputError(f"{source}: is nested too deeply") from None
    return _model(kind, data, text, source)


def _model(kind: type[M], data: Any, text: str, source: str) -> M:
    schema = kind.model_fields.get("schema_")
    if schema is not None:
        (expected,) = get_args(schema.annotation)
        if not isinstance(data, dict) or "schema" not in data:
            raise InputError(f"{source}: schema: is required, here {expected!r}")
        if data["schema"] != expected:
            raise InputError(f"{source}: schema: is not {expected!r}, found {shortened(str(data['schema']))}")
    try:
        # JSON mode: arrays become tuples, everything else stays strict.
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise InputError(f"{source}: {first_problem(error)}") from None


def read_instance(path: str | Path) -> Instance:
    """The instance in a file. InputError names file, field and reason."""
    return model_from_text(Instance, read_text(path), str(path))


def instance_from_json(data: Any, source: str) -> Instance:
    """The instance in decoded JSON; `source` is named in errors."""
    return model_from_json(Instance, data, source)


def write_instance(path: str | Path, instance: Instance) -> None:
    """Write the instance, keys in schema order, one trailing newline; the bytes depend on its content only."""
    write_text(path, json.dumps(instance_to_json(instance), indent=1, allow_nan=False) + "\n")


def instance_to_json(instance: Instance) -> dict[str, Any]:
    """The instance as the object of its file."""
    return instance.model_dump(mode="json", by_alias=True, exclude_none=True)


class PlanFile(FileModel):
    """A plan as its file writes it, GPUs by name; which instance it fits is found out by `plan_of`."""

    micro_batch: int = Field(ge=0, le=1_000_000_000)
    layers: tuple[int, ...] = Field(min_length=1)
    pipelines: tuple[tuple[str, ...], ...] = Field(min_length=1)

    @classmethod
    def of(cls, plan: Plan, instance: Instance) -> PlanFile:
        """The file of a plan for this instance."""
        names = tuple(tuple(row) for row in plan.names(instance))
        return cls(micro_batch=plan.micro_batch, layers=plan.layers, pipelines=names)

    def to_line(self) -> str:
        """The file's text."""
        return json.dumps(self.model_dump(mode="json"))


class FrontPoint(FileModel):
    """One nondominated plan of a front, with its time (s) and energy (J)."""

    time_s: float
    energy_j: float
    plan: PlanFile


FRONT_SCHEMA: Literal["geotrain-bench/front/1"] = "geotrain-bench/front/1"


class FrontFile(FileModel):
    """The file of a front: its points by rising time."""

    schema_: Literal["geotrain-bench/front/1"] = Field(alias="schema")
    instance: str
    points: tuple[FrontPoint, ...] = Field(min_length=1)

    def to_text(self) -> str:
        """The file's text."""
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=1, allow_nan=False) + "\n"


def read_plan(path: str | Path, instance: Instance, point: int | None = None) -> Plan:
    """The plan in a file, for one instance; `point` picks one from the file of a front, counted from 0.

    InputError if the file is malformed, names an unknown GPU or has no such point.
    """
    data = read_json(path)
    if not (isinstance(data, dict) and data.get("schema") == FRONT_SCHEMA):
        if point is not None:
            raise InputError(f"{path}: is not a front, so it has no point {point}")
        return plan_from_json(data, instance, str(path))
    points = model_from_json(FrontFile, data, str(path)).points
    if point is None or not 0 <= point < len(points):
        wanted = "is a front, not one plan" if point is None else f"points: there is no point {point}"
        raise InputError(f"{path}: {wanted}; its points are 0 to {len(points) - 1} (`evaluate --point`)")
    return plan_of(points[point].plan, instance, f"{path}: points[{point}]")


def plan_from_json(data: Any, instance: Instance, source: str) -> Plan:
    """The plan in decoded JSON; `source` is named in errors."""
    return plan_of(model_from_json(PlanFile, data, source), instance, source)


def plan_of(file: PlanFile, instance: Instance, source: str) -> Plan:
    """The plan of a file for one instance. InputError, which names `source`, if it has not all of its GPUs."""
    negative = [count for count in file.layers if not 0 <= count <= 1_000_000]
    if negative:
        raise InputError(f"{source}: layers: {negative[0]} is not a number of layers")
    rows = tuple(tuple(_gpu(name, instance, source) for name in row) for row in file.pipelines)
    try:
        return Plan(file.micro_batch, file.layers, rows)
    except ValueError as error:
        raise InputError(f"{source}: {error}") from None


def write_plan(path: str | Path, plan: Plan, instance: Instance) -> None:
    """Write the plan file."""
    write_text(path, f"{PlanFile.of(plan, instance).to_line()}\n")


def _gpu(name: str, instance: Instance, source: str) -> Gpu:
    try:
        return gpu_called(instance, name)
    except KeyError:
        raise InputError(f"{source}: pipelines: unknown GPU {name!r} of instance {instance.name}") from None
    except ValueError as error:
        raise InputError(f"{source}: pipelines: {error}") from None
