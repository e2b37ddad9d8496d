"""Instances: `generate` makes one, `describe` says what makes it hard."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bench.cli.options import DONE, Json, Options, Wide, key_values, print_json, read_given, say


def generate(
    family: Annotated[str, typer.Argument(help="Family; `geotrain-bench families` lists them.", metavar="FAMILY")],
    gpus: Annotated[int, typer.Option(help="Number of GPUs.")],
    out: Annotated[Path, typer.Option(help="Where to write the instance.", metavar="FILE")],
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    option: Options = None,
    as_json: Json = False,
) -> int:
    """Make an instance; the same arguments give the same bytes."""
    from instances.files import write_instance
    from instances.generator.family import generate as make

    instance = make(family, gpus, seed, key_values(option))
    write_instance(out, instance)
    answer = {
        "file": str(out),
        "name": instance.name,
        "gpus": instance.gpus,
        "groups": len(instance.groups),
        "model": instance.model.name,
        "content_hash": instance.content_hash,
    }
    if as_json:
        print_json(answer)
    else:
        say(f"{out}: {instance.name}, {instance.gpus} GPUs in {len(instance.groups)} groups, {instance.model.name}")
    return DONE


def describe(
    what: Annotated[
        str, typer.Argument(help="Instance file (*.json), shipped suite or TOML file.", metavar="FILE|SUITE")
    ],
    objective: Annotated[
        list[str] | None, typer.Option(help="Objective; repeatable. Default: the suite's own, or time.")
    ] = None,
    wide: Wide = False,
    as_json: Json = False,
) -> int:
    """What makes an instance or a suite hard."""
    from bench.cli.display import fill
    from bench.cli.tables import show_table
    from bench.studies.hardness import DESCRIBED, LEFT, NOTES, SEARCH, counts, described, in_words

    rows = list(described(what, objective or (), read_given))
    found_rows = [asdict(row) for row in rows]
    if as_json:
        print_json({"described": what, "search_evaluations": SEARCH.evaluations, **counts(rows), "rows": found_rows})
    else:
        show_table(DESCRIBED, found_rows, LEFT, wanted=("instance", "objective", "best plan", "from"), wide=wide)
        for line in ("", in_words(rows), "", *NOTES):
            say(fill(line))
    return DONE
