"""Does a solver or a family keep its contract: `check-solver`, `check-family`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from bench.cli.options import ANSWER_NO, DONE, Json, Options, key_values, note, print_json, say
from instances.errors import InputError

if TYPE_CHECKING:
    from instances.contract import Finding


def check_solver(
    name: Annotated[str, typer.Argument(help="A solver of `geotrain-bench solvers`.", metavar="SOLVER")],
    option: Options = None,
    as_json: Json = False,
) -> int:
    """Check that a solver keeps what every solver promises; exit status 1 if it does not."""
    from bench.runs.contract import RULES, Subject, known_by_enumeration
    from instances.contract import findings
    from solvers.core.registry import make_solver

    options = key_values(option)
    make_solver(name, options).warm_up()
    note("a pool of three GPUs is solved by enumeration first")
    subject = Subject(name, options, known_by_enumeration())
    return _answer(f"solver {name}", findings(RULES, subject), as_json)


def check_family(
    name: Annotated[str, typer.Argument(help="A family of `geotrain-bench families`.", metavar="FAMILY")],
    as_json: Json = False,
) -> int:
    """Check that an instance family keeps what every family promises; exit status 1 if it does not."""
    from instances.contract import findings
    from instances.generator.contract import RULES
    from instances.generator.family import families

    if name not in families():
        raise InputError(f"unknown family {name!r}; expected one of {', '.join(families())}")
    return _answer(f"family {name}", findings(RULES, name), as_json)


def _answer(subject: str, found: Iterable[Finding], as_json: bool) -> int:
    """Each rule as it is checked; where one is broken, what was found and what to do."""
    from bench.cli.display import fill

    broken, rows = 0, []
    for finding in found:
        broken += finding.problem is not None
        rows.append(finding.__dict__)
        if as_json:
            continue
        say(f"{'ok' if finding.problem is None else 'BROKEN':8}{finding.promise}")
        if finding.problem is not None:
            say(fill(f"        found: {finding.problem}", indent=15))
            say(fill(f"        mend:  {finding.mend}", indent=15))
    if as_json:
        print_json({"subject": subject, "kept": len(rows) - broken, "broken": broken, "rules": rows})
    else:
        say(f"{subject}: {len(rows) - broken} of {len(rows)} rules kept")
    return ANSWER_NO if broken else DONE
