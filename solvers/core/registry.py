"""Finds the solvers of this package and of installed ones, and makes them with options from the command line."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, TypeVar

import solvers
from instances.errors import InputError
from instances.plugins import SOLVERS, Origin, load_plugins
from instances.spelling import spelled
from solvers.core.interface import Solver

S = TypeVar("S", bound=type)
_FOUND: dict[str, type[Any]] = {}
_ORIGINS: dict[str, Origin] = {}


def register(solver: S) -> S:
    """Class decorator: make a solver known by its `name`. ValueError if the name is taken."""
    name = solver.name  # type: ignore[attr-defined]
    other = _FOUND.get(name, solver)
    if other.__qualname__ != solver.__qualname__:
        raise ValueError(f"two solvers are called {name}: {_path(other)} and {_path(solver)}")
    _FOUND[name] = solver
    return solver


@cache
def _scan() -> None:
    # A solver is a module or a package right under `solvers`; heavy libraries load when it solves.
    for module in pkgutil.iter_modules(solvers.__path__):
        importlib.import_module(f"solvers.{module.name}")
    load_plugins(SOLVERS, _take)


def _take(found: Any, origin: Origin) -> None:
    if not (isinstance(found, type) and issubclass(found, Solver)):
        raise TypeError(f"found {found!r}, expected a subclass of solvers.core.interface.Solver")
    register(found)
    _ORIGINS[found.name] = origin


def _path(solver: type[Any]) -> str:
    return f"{solver.__module__}.{solver.__qualname__}"


def origin_of(name: str) -> Origin | None:
    """The package that a solver comes from; None for ours."""
    _scan()
    return _ORIGINS.get(name)


def solver_types() -> dict[str, type[Any]]:
    """All solver classes by name, in alphabetical order."""
    _scan()
    return dict(sorted(_FOUND.items()))


def make_solver(name: str, options: Mapping[str, str] | None = None) -> Solver:
    """The solver called `name` with options given as text. InputError names what does not exist or fit."""
    known = solver_types()
    if name not in known:
        raise InputError(f"unknown solver {name!r}; expected one of {', '.join(known)}")
    kinds = {field.name: field for field in fields(known[name])}
    values: dict[str, object] = {}
    for key, text in (options or {}).items():
        if key not in kinds:
            has = f"its options are {', '.join(kinds)}" if kinds else "it has no options"
            raise InputError(f"solver {name}: unknown option {key!r}; {has}")
        values[key] = _read(f"solver {name}: option {key}", kinds[key].default, text)
    try:
        made: Solver = known[name](**values)
    except ValueError as error:
        raise InputError(f"solver {name}: {error}") from None
    return made


def spelled_options(solver: Solver, options: Iterable[str]) -> dict[str, str]:
    """These options of a solver as they are written in the names and keys of runs."""
    return {key: spelled(getattr(solver, key)) for key in options}


def _read(where: str, default: object, text: str) -> object:
    """Read `text` as the type of the option's default."""
    if default is MISSING:
        raise TypeError(f"{where} has no default")
    if isinstance(default, bool):
        answers = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() not in answers:
            raise InputError(f"{where}: {text!r} is not true or false")
        return answers[text.lower()]
    if isinstance(default, str):
        return text
    kind: Any = type(default)
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"{where}: {text!r} is not {'a whole number' if kind is int else 'a number'}") from None
