"""Read a table of the catalogue, and look a name up in it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TypeVar

from instances.errors import InputError

T = TypeVar("T")


@cache
def rows(table: str) -> tuple[dict[str, str], ...]:
    """The rows of `table`.csv as text by column; an empty cell is an empty text."""
    text = files("instances.catalogue").joinpath(f"{table}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


@cache
def by_name(table: str) -> dict[str, dict[str, str]]:
    """The rows of a table that has a column `name`, by that."""
    return {row["name"]: row for row in rows(table)}


def look_up(things: Mapping[str, T], name: str, kind: str) -> T:
    """The thing called `name`. InputError lists the known names."""
    if name not in things:
        raise InputError(f"unknown {kind} {name!r}; the catalogue has {', '.join(things)}")
    return things[name]


def sources(texts: Iterable[str]) -> list[str]:
    """The different sources among `texts`, in order of first use."""
    return list(dict.fromkeys(text for text in texts if text))


def significant(value: float, digits: int = 6) -> float:
    """`value` rounded to significant digits, so that the last bits of an arithmetic never reach a file."""
    return float(f"{value:.{digits}g}")
