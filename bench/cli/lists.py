"""What there is to choose from: `solvers`, `families`, `suites`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, fields
from typing import Annotated, Any

import typer

from bench.cli.display import show_list
from bench.cli.options import DONE, Json, print_json, say
from instances.plugins import Origin


def solvers(as_json: Json = False) -> int:
    """List the solvers: what each is and what it proves."""
    from solvers.core.registry import origin_of, solver_types

    return _answer(
        "solvers",
        ("solver", "proves", "summary", "options"),
        [
            (name, kind.proves.value, _from(kind.summary, origin_of(name)), [_option(each) for each in fields(kind)])
            for name, kind in solver_types().items()
        ],
        as_json,
    )


def warmup(
    jobs: Annotated[int, typer.Option(help="Solvers compiled side by side.", min=1)] = 2, as_json: Json = False
) -> int:
    """Compile all solvers now, so that no first run has to; the result stays in the user's cache folder."""
    from bench.runs.warm import warm_up_all

    seconds = {}
    for name, taken in warm_up_all(jobs):
        seconds[name] = taken
        if not as_json:
            say(f"{name}: {taken:.1f} s")
    if as_json:
        print_json({"seconds": seconds})
    return DONE


def families(as_json: Json = False) -> int:
    """List the instance families: what each covers."""
    from instances.generator.family import families as known

    rows = [
        (
            name,
            _from(family.summary, family.origin),
            [f"{key}={option.default}" for key, option in family.options.items()],
        )
        for name, family in known().items()
    ]
    return _answer("families", ("family", "summary", "options"), rows, as_json)


def suites(as_json: Json = False) -> int:
    """List the suites that come with the package."""
    from bench.runs.suite import shipped

    rows = [(name, suite.summary) for name, suite in shipped().items()]
    return _answer("suites", ("suite", "summary"), rows, as_json)


def _from(summary: str, origin: Origin | None) -> str:
    return f"{summary} ({origin})" if origin else summary


def _option(field: Field[Any]) -> str:
    return f"{field.name}={field.default}"


def _answer(what: str, columns: Sequence[str], rows: Sequence[Sequence[str | list[str]]], as_json: bool) -> int:
    """Say what there is; the first column holds names."""
    if as_json:
        print_json({what: [dict(zip(("name", *columns[1:]), row, strict=True)) for row in rows]})
    else:
        show_list(columns, rows)
    return DONE
