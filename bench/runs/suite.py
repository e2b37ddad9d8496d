"""A suite: instances x solvers x objectives x seeds, as TOML that a user can write."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from bench.records.task import Task
from bench.runs.known_hashes import check_hash
from instances.disk import read_text
from instances.errors import InputError
from instances.files import FileModel, model_from_json, read_instance
from instances.generator.family import generate
from instances.instance import Instance, Positive
from instances.objective import Reference, parse_objective
from instances.rates import check_metric
from solvers.core.interface import Budget
from solvers.core.registry import make_solver, spelled_options
from solvers.core.sources import solver_digest
from solvers.placements.uniform import reference_of


def _scalar(value: Any) -> str:
    """An option as the command line writes it."""
    if not isinstance(value, str | int | float):
        raise ValueError("must be a text, a number, true or false")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


Scalar = Annotated[str, BeforeValidator(_scalar)]
Choices = Annotated[tuple[Scalar, ...], BeforeValidator(_listed), Field(min_length=1)]
"""One value or a list of values that are combined with those of other options."""
Seeds = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]
Texts = Annotated[tuple[str, ...], Field(min_length=1)]


SHIPPED = Path(str(files("instances"))) / "suites"
"""Where the suites lie that come with the package, and their instance files."""


class Limits(FileModel):
    """A budget; what a solver's own entry leaves out is taken from the suite's `[budget]`."""

    seconds: Positive | None = None
    evaluations: Annotated[int, Field(ge=1)] | None = None
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None


class InstancesEntry(FileModel):
    """Either a family with sizes and seeds, or instance files relative to the suite's own folder."""

    family: str | None = None
    gpus: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] | None = None
    seeds: Seeds = (0,)
    options: dict[str, Choices] = Field(default_factory=dict)
    files: Texts | None = None
    objectives: Texts | None = None


class SolverEntry(Limits):
    """A solver with its options; a random one is run once for each seed."""

    name: str
    options: dict[str, Scalar] = Field(default_factory=dict)
    seeds: Seeds | None = None
    max_gpus: Annotated[int, Field(ge=1)] | None = None
    min_gpus: Annotated[int, Field(ge=1)] | None = None
    objectives: Texts | None = None


class Suite(FileModel):
    """The file. `seeds` are those of the random solvers; `core_minutes` is what a whole run took, as measured."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    summary: str
    objectives: Texts = ("time",)
    seeds: Seeds = (0,)
    budget: Limits = Limits()
    core_minutes: Positive | None = None
    instances: Annotated[tuple[InstancesEntry, ...], Field(min_length=1)]
    solvers: Annotated[tuple[SolverEntry, ...], Field(min_length=1)]


def shipped() -> dict[str, Suite]:
    """The suites that come with the package, by name."""
    found = {}
    for path in sorted(SHIPPED.glob("*.toml")):
        suite = _parse(path.read_text(encoding="utf-8"), path.name)
        found[suite.name] = suite
    return found


def read_suite(name_or_path: str) -> tuple[Suite, Path]:
    """A shipped suite by name, or one in a TOML file; and the folder that its files are relative to."""
    path = Path(name_or_path)
    if path.suffix == ".toml":
        return _parse(read_text(path), str(path)), path.parent
    known = shipped()
    if name_or_path not in known:
        raise InputError(f"suite {name_or_path!r}: unknown; expected a .toml file or one of {', '.join(known)}")
    return known[name_or_path], SHIPPED


def tasks_of(suite: Suite, folder: Path, source: str) -> list[Task]:
    """All runs of a suite, instance by instance. InputError names what does not exist or fit."""
    tasks: dict[str, Task] = {}
    for entry, instance in entries_of(suite, folder, source):
        for task in _tasks_on(suite, entry, instance, source):
            tasks[task.key] = task
    if not tasks:
        raise InputError(f"{source}: no solver of the suite takes any of its instances")
    return list(tasks.values())


def entries_of(suite: Suite, folder: Path, source: str) -> Iterator[tuple[InstancesEntry, Instance]]:
    """Every instance of a suite with its entry. InputError if its name is known with another content."""
    seen: dict[str, str] = {}
    for entry in suite.instances:
        for instance in instances_of(entry, folder, source):
            if seen.setdefault(instance.name, instance.content_hash) != instance.content_hash:
                raise InputError(f"{source}: instances: two different instances are called {instance.name}")
            if entry.family is not None:
                check_hash(instance, source)
            yield entry, instance


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Put the place in the suite before what is wrong there."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def instances_of(entry: InstancesEntry, folder: Path, source: str) -> Iterator[Instance]:
    """The instances of one entry; options given as lists are combined."""
    if (entry.family is None) == (entry.files is None):
        raise InputError(f"{source}: instances: give either family or files")
    if entry.files is not None:
        if entry.gpus or entry.options or "seeds" in entry.model_fields_set:
            raise InputError(f"{source}: instances: gpus, seeds and options go with family, not with files")
        for pattern in entry.files:
            yield from (read_instance(path) for path in _matching(pattern, folder, f"{source}: instances: files"))
        return
    assert entry.family is not None
    if not entry.gpus:
        raise InputError(f"{source}: instances: family {entry.family} needs gpus, a list of sizes")
    for values in product(*entry.options.values()):
        for gpus, seed in product(entry.gpus, entry.seeds):
            with _named(f"{source}: instances"):
                instance = generate(entry.family, gpus, seed, dict(zip(entry.options, values, strict=True)))
            yield instance


def _matching(pattern: str, folder: Path, where: str) -> list[Path]:
    """The files that a pattern of a suite means."""
    if Path(pattern).is_absolute():
        return [Path(pattern)]
    try:
        matches = sorted(folder.glob(pattern))
    except ValueError as error:
        raise InputError(f"{where}: {pattern!r} is not a valid pattern: {error}") from None
    if not matches:
        raise InputError(f"{where}: nothing matches {pattern!r} in {folder}")
    return matches


def _tasks_on(suite: Suite, entry: InstancesEntry, instance: Instance, source: str) -> Iterator[Task]:
    reference: Reference | None = None
    for solver in suite.solvers:
        if not (solver.min_gpus or 0) <= instance.gpus <= (solver.max_gpus or instance.gpus):
            continue
        with _named(f"{source}: solvers"):
            made = make_solver(solver.name, solver.options)
        options, code = spelled_options(made, solver.options), solver_digest(solver.name, solver.options)
        own = solver.model_dump(include=set(Limits.model_fields), exclude_none=True)
        limits = suite.budget.model_copy(update=own)
        usual = suite.seeds if made.random else (0,)
        seeds = (solver.seeds if made.random or made.takes_seed else None) or usual
        for text in solver.objectives or entry.objectives or suite.objectives:
            with _named(f"{source}: objectives"):
                objective = parse_objective(text)
            if objective.kind == "front" and not made.fronts:
                continue
            if objective.needs_reference and reference is None:
                reference = reference_of(instance)
            with _named(f"{source}: {instance.name}"):
                check_metric(instance, objective.goal(reference).metric)
            for seed in seeds:
                budget = Budget(limits.seconds, limits.evaluations, seed, limits.threads or 1)
                yield Task(instance, solver.name, options, objective, reference, budget, code)


def _parse(text: str, source: str) -> Suite:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: is not valid TOML: {error}") from None
    return model_from_json(Suite, data, source)
