"""What solvers and families promise: rules that their authors and our tests check alike, and what checking says."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

S = TypeVar("S")


class Broken(AssertionError):  # noqa: N818 - a rule is broken, nothing has erred
    """A rule is broken: says what was found and what was expected."""


def require(kept: bool, found: str) -> None:
    """Broken with these words unless it is kept."""
    if not kept:
        raise Broken(found)


@dataclass(frozen=True)
class Rule(Generic[S]):
    """A promise in words, the check of it, and what to do where it is broken."""

    promise: str
    check: Callable[[S], None]
    mend: str


@dataclass(frozen=True)
class Finding:
    """What checking a rule gave; `problem` is None where it is kept."""

    promise: str
    problem: str | None
    mend: str


def findings(rules: Sequence[Rule[S]], subject: S) -> Iterator[Finding]:
    """Check every rule, whatever becomes of the others."""
    for rule in rules:
        yield Finding(rule.promise, _problem(rule, subject), rule.mend)


def _problem(rule: Rule[S], subject: S) -> str | None:
    try:
        rule.check(subject)
    except Broken as broken:
        return str(broken)
    except Exception as error:  # noqa: BLE001 - whatever somebody else's code raises
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno}, in {where.name})"
    return None
