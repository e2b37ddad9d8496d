"""What the commands share: exit statuses, arguments and options of the same meaning, ways to speak."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from instances.errors import InputError

if TYPE_CHECKING:
    from instances.instance import Instance

DONE, ANSWER_NO, BAD_INPUT, FAILED, INTERRUPTED = 0, 1, 2, 3, 130

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
InstanceFile = Annotated[Path, typer.Argument(help="Instance file.", metavar="INSTANCE")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", help="An option of the solver or family; repeatable.", metavar="KEY=VALUE"),
]
Reference = Annotated[
    tuple[float, float] | None,
    typer.Option(help="T (s) and E (J) that weights and relative caps refer to.", metavar="T E"),
]
Without = Annotated[list[str] | None, typer.Option(help="Leave out a group or a GPU; repeatable.", metavar="GROUP[/i]")]
Memory = Annotated[
    str | None, typer.Option(help="Memory for each run, with what it starts, such as 2GiB.", metavar="SIZE")
]
Wide = Annotated[bool, typer.Option("--wide", help="All columns, however narrow the terminal is.")]
Picture = Annotated[Path | None, typer.Option(help="Also draw the plan: a .png, .svg or .pdf file.", metavar="FILE")]


def say(text: str = "") -> None:
    """A line of the answer."""
    print(text)  # noqa: T201


def note(text: str) -> None:
    """A line beside the answer."""
    print(text, file=sys.stderr)  # noqa: T201


def read_given(path: Path) -> Instance:
    """The instance in a user's file; figures that look as if they were in another unit are pointed out."""
    from instances.files import read_instance
    from instances.units import unlikely_units

    instance = read_instance(path)
    for line in unlikely_units(instance):
        note(f"{path}: warning: {line}")
    return instance


def print_json(content: dict[str, Any]) -> None:
    """The answer of `--json`."""
    say(json.dumps(content, allow_nan=False))


def key_values(options: Sequence[str] | None) -> dict[str, str]:
    """Options given as KEY=VALUE."""
    found: dict[str, str] = {}
    for text in options or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"--option {text!r}: is not KEY=VALUE")
        if key in found:
            raise InputError(f"--option {key}: is given twice")
        found[key] = value
    return found


def byte_count(text: str | None, option: str = "--memory") -> int | None:
    """A size such as `2GiB` or `500MB` in bytes. InputError names the option."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    size = float(match[1]) * (1024 if match[3] else 1000) ** " KMGT".index(match[2].upper() or " ") if match else 0.0
    if size < 1:
        raise InputError(f"{option} {text!r}: is not a size such as 2GiB or 500MB")
    return int(size)


def check_picture(picture: Path | None) -> None:
    """Refuse an unknown suffix before any work."""
    if picture is not None:
        from bench.reporting.plots.files import picture_suffix

        picture_suffix(picture)
