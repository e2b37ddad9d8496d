"""Instances: `generate` makes one, `describe` says what makes it hard."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bench.cli.options import DONE, Json, Options, key_values, print_json, say


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
    as_json: Json = False,
) -> int:
    """What makes an instance or a suite hard."""
    from bench.studies.hardness import SEARCH, counts, described, description

    rows = list(described(what, objective or ()))
    if as_json:
        found = [asdict(row) for row in rows]
        print_json({"described": what, "search_evaluations": SEARCH.evaluations, **counts(rows), "rows": found})
    else:
        say(description(rows))
    return DONE
