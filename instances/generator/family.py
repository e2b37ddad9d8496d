"""Instance families: found by scanning `instances.generator.families`, made from a name, a size, a seed and options."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import instances.generator.families
from instances.errors import InputError, shortened
from instances.instance import COST_MODEL_VERSION, Instance
from instances.plugins import FAMILIES, Origin, load_plugins
from instances.spelling import spelled

SMALLEST, LARGEST = 2, 1024
AUTO = "auto"
LARGEST_NUMBER = 1e15
"""Of an option: far more than any makes sense with, and small enough for all that is computed from it."""
Options = Mapping[str, Any]
"""Values by option: a text, a whole number or a number as the option says, None for `auto`."""


@dataclass(frozen=True)
class Option:
    """One option of a family. A number whose default is `auto` may be left to the family.

    Attributes
    ----------
    choices
        All values there are, or None where any of its kind will do.
    named
        Whether the value is part of an instance's name even where it is the default.
    """

    default: str
    help: str
    choices: tuple[str, ...] | None = None
    kind: Literal["text", "integer", "number"] = "text"
    named: bool = False

    def parse(self, text: str) -> str | int | float | None:
        """The value of `text`, None for `auto`; ValueError with the reason if it has none."""
        if self.choices is not None and text not in self.choices:
            raise ValueError(f"found {text!r}, expected one of {', '.join(self.choices)}")
        if text == AUTO and self.default == AUTO:
            return None
        if self.kind == "text":
            return text
        # Python also reads "1_000", " 1 " and digits of other scripts as numbers; users do not mean these.
        plain = text.isascii() and not any(sign in text for sign in "_ \t\n")
        try:
            value = (int if self.kind == "integer" else float)(text) if plain else None
        except ValueError:
            value = None
        if value is None or not (1 if self.kind == "integer" else 0) <= value <= LARGEST_NUMBER:
            wanted = "whole number above 0" if self.kind == "integer" else "number of 0 or more"
            raise ValueError(f"found {shortened(text)}, expected a {wanted}, up to {LARGEST_NUMBER:g}")
        return value

    def spelling(self, value: str | int | float | None) -> str:
        """The one text of a value, so that names and provenance do not depend on how a user writes it."""
        return AUTO if value is None else spelled(value)


@dataclass(frozen=True)
class Family:
    """A kind of instances.

    Attributes
    ----------
    make
        `make(gpus, seed, options)` gives the instance, the same for the same arguments everywhere, with the
        sources of its figures in `provenance["sources"]`; InputError where no such instance can be made.
    origin
        The package that it comes from; None for ours.
    """

    name: str
    summary: str
    options: Mapping[str, Option]
    make: Callable[[int, int, Options], Instance]
    origin: Origin | None = None


@cache
def families() -> Mapping[str, Family]:
    """All families by name: each `FAMILY` of a module of `instances.generator.families`, and those of packages."""
    found: dict[str, Family] = {}
    for module in sorted(pkgutil.iter_modules(instances.generator.families.__path__), key=lambda entry: entry.name):
        family = getattr(importlib.import_module(f"instances.generator.families.{module.name}"), "FAMILY", None)
        if isinstance(family, Family):
            found[family.name] = family

    def take(family: Any, origin: Origin) -> None:
        if not isinstance(family, Family):
            raise TypeError(f"found {family!r}, expected an instances.generator.family.Family")
        if family.name in found:
            raise ValueError(f"two families are called {family.name}")
        found[family.name] = replace(family, origin=origin)

    load_plugins(FAMILIES, take)
    return found


def generate(name: str, gpus: int, seed: int, options: Mapping[str, str]) -> Instance:
    """The instance of a family with `gpus` GPUs; `options` as a user writes them, defaults for the rest.

    InputError names family, option and reason.
    """
    if name not in families():
        raise InputError(f"unknown family {name!r}; expected one of {', '.join(families())}")
    family = families()[name]
    if not SMALLEST <= gpus <= LARGEST:
        raise InputError(f"family {name}: gpus: {gpus} is outside of {SMALLEST} to {LARGEST}")
    if seed < 0:
        raise InputError(f"family {name}: seed: {seed} is below 0")
    for option in options:
        if option not in family.options:
            raise InputError(f"family {name}: unknown option {option!r}; expected one of {', '.join(family.options)}")
    texts = {option: options.get(option, spec.default) for option, spec in family.options.items()}
    values: dict[str, Any] = {}
    for option, spec in family.options.items():
        try:
            values[option] = spec.parse(texts[option])
        except ValueError as error:
            raise InputError(f"family {name}: {option}: {error}") from None
        texts[option] = spec.spelling(values[option])
    try:
        instance = family.make(gpus, seed, values)
    except InputError as error:
        raise InputError(f"family {name}: {error}") from None
    provenance = {
        "family": name,
        "options": texts,
        "gpus": gpus,
        "seed": seed,
        "cost_model_version": COST_MODEL_VERSION,
        "content_hash": instance.content_hash,
        **({"package": str(family.origin)} if family.origin else {}),
        **(instance.provenance or {}),
    }
    return instance.model_copy(update={"name": _name(family, gpus, seed, texts), "provenance": provenance})


def _name(family: Family, gpus: int, seed: int, texts: Mapping[str, str]) -> str:
    """Family, options that are named or differ from their defaults, size and seed; `auto` says nothing."""
    parts = [family.name]
    for option, spec in family.options.items():
        if texts[option] != spec.default or (spec.named and texts[option] != AUTO):
            parts.append(texts[option] if spec.kind == "text" else f"{option}-{texts[option]}")
    return "-".join([*parts, f"{gpus}gpus", f"seed{seed}"]).replace("/", "-").replace(",", "-")
