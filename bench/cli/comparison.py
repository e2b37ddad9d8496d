"""Is the newer run worse or slower: `compare`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench.cli.options import ANSWER_NO, DONE, Json, Picture, Wide, check_picture, print_json, say
from instances.errors import InputError

if TYPE_CHECKING:
    from bench.comparison.pairs import Pair

MOST_ROWS = 30
"""Rows that a terminal gets without --wide."""


# Long for its options, which typer reads off the signature.
def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="Run folders: the base, any between, the new one.", metavar="DIR...")
    ],
    fail_above: Annotated[
        str, typer.Option(help="Relative loss of value or bound that is a regression, such as 1%.", metavar="SHARE")
    ] = "0.0001%",
    only: Annotated[list[str] | None, typer.Option(help="Only this solver; may be repeated.", metavar="SOLVER")] = None,
    junit: Annotated[Path | None, typer.Option(help="Also write the result as JUnit XML.", metavar="FILE")] = None,
    github: Annotated[bool, typer.Option("--github", help="Also print annotations for GitHub Actions.")] = False,
    picture: Picture = None,
    wide: Wide = False,
    as_json: Json = False,
) -> int:
    """Compare run folders. Exit status 1 if the last is worse or slower than the first, 2 if nothing compares."""
    from bench.cli.display import fill
    from bench.cli.tables import show_table
    from bench.comparison import exports
    from bench.comparison.compare import compare as compared
    from bench.comparison.compare import in_words
    from bench.comparison.trend import trend
    from bench.reporting.formatting import Cell, as_text, percent
    from bench.runs.store import Store
    from instances.disk import write_text

    check_picture(picture)
    if len(folders) < 2:
        raise InputError("compare: needs two run folders or more, the base first")
    stores = [Store(folder) for folder in folders]
    done = compared(stores[0], stores[-1], _share(fail_above), only or ())
    if junit is not None:
        write_text(junit, exports.junit(done))
    if picture is not None:
        from bench.reporting.plots.files import save
        from bench.reporting.plots.trend import trend_figure

        save(trend_figure(trend(stores)), picture)
    if as_json:
        changes = [change._asdict() for change in done.changes]
        found: dict[str, Any] = {"changes": changes, "findings": [finding._asdict() for finding in done.findings]}
        print_json({"sentence": done.sentence, "regressions": done.regressions, "pairs": len(done.pairs), **found})
    else:
        columns: dict[str, Cell] = {
            "run": as_text("title"),
            "what changed": as_text("what"),
            "worse by": lambda row: percent(row["size"], signed=True),
            "regression": lambda row: "yes" if row["gates"] else "no",
        }
        if done.changes:
            short = {} if wide or not sys.stdout.isatty() else short_titles(done.pairs)
            rows = [{**change._asdict(), "title": short.get(change.title, change.title)} for change in done.changes]
            shown = rows[:MOST_ROWS] if short else rows
            order = ("run", "worse by", "regression", "what changed")
            show_table(columns, shown, ("run", "what changed", "regression"), wanted=order, wide=wide)
            if len(shown) < len(rows):
                say(f"and {len(rows) - len(shown)} more (--wide shows all)")
            say()
        for finding in done.findings:
            say(fill(in_words(finding) + (": a regression" if finding.worse else "")))
        say(fill(done.sentence[0].upper() + done.sentence[1:]))
    if github:
        for line in exports.github(done):
            say(line)
    return ANSWER_NO if done.regressions else DONE


def short_titles(pairs: Sequence[Pair]) -> dict[str, str]:
    """Runs by title, as short as tells them apart."""
    from bench.reporting.names import short_names

    names = short_names(pair.base.instance for pair in pairs)
    return {
        pair.base.title: f"{names[pair.base.instance]}, {pair.base.objective}, {pair.base.label}, seed {pair.base.seed}"
        for pair in pairs
    }


def _share(text: str) -> float:
    """A share such as `1%` or `0.01`."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", text.strip())
    if match is None:
        raise InputError(f"--fail-above {text!r}: is not a share such as 1% or 0.01")
    return float(match[1]) / (100 if match[2] else 1)
