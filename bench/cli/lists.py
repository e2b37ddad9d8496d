"""What there is to choose from: `solvers`, `families`, `suites`."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

import typer

from bench.cli.display import show_list
from bench.cli.options import DONE, Json, print_json, say


def solvers(as_json: Json = False) -> int:
    """List the solvers: what each is and what it proves."""
    from solvers.core.registry import solver_types

    rows = [
        {
            "name": name,
            "proves": solver.proves.value,
            "summary": solver.summary,
            "options": [f"{option.name}={option.default}" for option in fields(solver)],
        }
        for name, solver in solver_types().items()
    ]
    print_json({"solvers": rows}) if as_json else show_list(("solver", "proves", "summary", "options"), rows)
    return DONE


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
        {
            "name": name,
            "summary": family.summary,
            "options": [f"{key}={option.default}" for key, option in family.options.items()],
        }
        for name, family in known().items()
    ]
    print_json({"families": rows}) if as_json else show_list(("family", "summary", "options"), rows)
    return DONE


def suites(as_json: Json = False) -> int:
    """List the suites that come with the package."""
    from bench.runs.suite import shipped

    rows = [{"name": name, "summary": suite.summary} for name, suite in shipped().items()]
    print_json({"suites": rows}) if as_json else show_list(("suite", "summary"), rows)
    return DONE
