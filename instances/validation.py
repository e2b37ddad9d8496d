"""Validation errors of pydantic in one line: the field, the reason and what was found."""

from __future__ import annotations

from difflib import get_close_matches

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_LIMITS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


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
