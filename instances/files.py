"""The file boundary: instances and plans as JSON, read strictly, refused with one clear line."""

from __future__ import annotations

import json
import os
import tempfile
from difflib import get_close_matches
from math import isfinite, isnan
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails

from instances.errors import InputError, shortened
from instances.instance import FileModel as FileModel
from instances.instance import Instance, repeated
from instances.plan import Gpu, Plan

_LIMITS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


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
    return instance_from_json(read_json(path), str(path))


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
    group_name, slash, number = name.rpartition("/")
    try:
        group = instance.group_index(group_name)
    except KeyError:
        raise InputError(f"{source}: pipelines: unknown GPU {name!r} of instance {instance.name}") from None
    count = instance.groups[group].count
    plain = number.isascii() and number.isdecimal() and (number == "0" or number[0] != "0")
    if not slash or not plain or len(number) > 9 or int(number) >= count:
        raise InputError(f"{source}: pipelines: {name!r}: group {group_name} has GPUs 0 to {count - 1}")
    return Gpu(group, int(number))


def read_text(path: str | Path) -> str:
    """A whole text file. InputError if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None


def read_json(path: str | Path) -> Any:
    """Decoded JSON of a file; see `parse_json`."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, source: str) -> Any:
    """Decoded JSON without the liberties of Python's reader: no NaN or infinity, no repeated keys."""
    try:
        data = json.loads(text, object_pairs_hook=_no_repeats)
    except RecursionError:
        raise InputError(f"{source}: is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{source}: is not valid JSON: {error}") from None
    refuse_no_numbers(data, source)
    return data


def write_text(path: str | Path, text: str) -> None:
    """Write a whole UTF-8 file or none of it; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a whole file or none of it: a reader, a crash or a full disk never leaves half of one.

    InputError names the file and why it cannot be written.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # a device or a pipe is written to, never replaced
            return
        path = path.resolve()  # a link stays a link
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:20]}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            # A temporary file is private to its owner; the finished one follows the user's umask.
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None


def remove(path: str | Path) -> None:
    """Remove a file, if it is there. InputError if that cannot be done."""
    try:
        Path(path).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be removed: {error.strerror or error}") from None


def refuse_no_numbers(data: Any, source: str) -> None:
    """InputError names the first NaN or infinity, which Python's JSON takes and JSON does not."""
    left: list[tuple[str, Any]] = [("", data)]
    while left:
        field, value = left.pop()
        if isinstance(value, float) and not isfinite(value):
            raise InputError(f"{source}: {field}: is {'not a number' if isnan(value) else 'infinite'}")
        if isinstance(value, dict):
            left += [(f"{field}.{key}" if field else str(key), entry) for key, entry in reversed(value.items())]
        elif isinstance(value, list):
            left += reversed([(f"{field}[{number}]", entry) for number, entry in enumerate(value)])


def check_writable(path: str | Path) -> None:
    """InputError if a file could not be written there; asked before long work, so that its answer is not lost."""
    path = Path(path)
    try:
        reason = _unwritable(path)
    except OSError as error:  # a name that is too long, say
        reason = error.strerror or str(error)
    if reason:
        raise InputError(f"{path}: cannot be written: {reason}")


def _unwritable(path: Path) -> str | None:
    folder = path.resolve().parent
    while not folder.exists():
        folder = folder.parent
    if path.is_dir():
        return "it is a folder"
    if not folder.is_dir():
        return f"{folder} is not a folder"
    return None if os.access(path if path.exists() else folder, os.W_OK) else "permission denied"


def first_problem(error: ValidationError) -> str:
    """A validation error as `field: reason (found ...)`, with a count of the others."""
    problems = [problem for problem in error.errors(include_url=False) if not _follows_from_another(problem)]
    misspelled = {p["loc"]: _misspelled(p, problems) for p in problems}
    problems = [p for p in problems if p["loc"] not in misspelled.values()]
    problem, others = problems[0], len(problems) - 1
    written = misspelled[problem["loc"]]
    field = _field(problem["loc"])
    if problem["type"] == "value_error":
        reason = str(problem["ctx"]["error"])
    elif written is not None:
        field = _field(written)
        reason = f"unknown key, perhaps meant to be {problem['loc'][-1]!r}, which is required"
    elif problem["type"] == "extra_forbidden":
        reason = "unknown key"
    elif problem["type"] == "too_short" and problem["ctx"]["min_length"] == 1:
        reason = "must have at least 1 entry"
    else:
        limit = next((key for key in _LIMITS if key in problem.get("ctx", {})), None)
        reason = f"must be {_LIMITS[limit]} {problem['ctx'][limit]:g}" if limit else problem["msg"]
        reason = reason[:1].lower() + reason[1:]
        found = repr(problem.get("input"))
        if problem["type"] != "missing" and len(found) <= 60:
            reason += f", found {found}"
    more = f" (and {others} more problem{'s' if others > 1 else ''})" if others else ""
    return (f"{field}: {reason}" if field else reason).replace("\n", " ") + more


def _misspelled(problem: ErrorDetails, problems: list[ErrorDetails]) -> tuple[int | str, ...] | None:
    """The unknown key that a missing one was perhaps written as: one slip, which the checks count as two."""
    if problem["type"] != "missing":
        return None
    *place, key = problem["loc"]
    unknown = [p["loc"] for p in problems if p["type"] == "extra_forbidden" and [*p["loc"][:-1]] == place]
    alike = get_close_matches(str(key), [str(loc[-1]) for loc in unknown], n=1)
    return (*place, alike[0]) if alike else None


def _follows_from_another(problem: ErrorDetails) -> bool:
    """Whether a list is called too short only because entries of it are wrong, which are problems of their own."""
    return problem["type"] == "too_short" and len(problem["input"]) >= problem["ctx"]["min_length"]


def _field(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part != "[key]":
            text += f".{part}" if text else part
    return text


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if twice := repeated(key for key, _ in pairs):
        raise ValueError(f"the key {twice[0]!r} is repeated")
    return dict(pairs)
