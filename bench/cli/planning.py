"""A plan for one's own pool: `plan`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bench.cli.options import (
    ANSWER_NO,
    DONE,
    FAILED,
    INTERRUPTED,
    InstanceFile,
    Json,
    Without,
    note,
    print_json,
    read_given,
    say,
)
from instances.errors import InputError

if TYPE_CHECKING:
    from bench.records.record import Result


# Long for its options, which typer reads off the signature.
def plan(
    instance_file: InstanceFile,
    objective: Annotated[str, typer.Option(help="What to minimise, as for `solve`; no front.")] = "time",
    time_limit: Annotated[float, typer.Option(help="Wall seconds of search, what-ifs aside.", metavar="S")] = 60.0,
    what_if: Annotated[
        float, typer.Option(help="Seconds for each what-if (a site less, faster links, ...); 0: none.", metavar="S")
    ] = 2.0,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads of the exact solver.")] = 1,
    without: Without = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for plan.json, plan.png and plan.md; default NAME-plan.", metavar="DIR")
    ] = None,
    as_json: Json = False,
) -> int:
    """Recommend a plan: search, prove, and say why and what else would help. Exit status 1 if there is none."""
    from bench.cli.display import fill
    from bench.cli.tables import show_table
    from bench.planning.document import write_plan
    from bench.planning.reasons import in_words
    from bench.planning.recommend import recommend
    from bench.planning.what_ifs import COLUMNS, what_ifs
    from instances.disk import check_writable
    from instances.reduce import without as reduced

    if not time_limit >= 0 or not what_if >= 0:
        raise InputError("--time-limit and --what-if: must be 0 or more")
    if objective == "front":
        raise InputError("--objective front: gives many plans; `solve --objective front`, then choose one")
    instance = read_given(instance_file)
    folder = out or Path(f"{instance_file.stem}-plan")
    check_writable(folder / "plan.json")
    live = not as_json and sys.stderr.isatty()
    found = recommend(
        instance, objective, time_limit, seed, threads, without or (), lambda solver, done: note(_step(done)), live
    )
    sentences = in_words(found)
    rows = []
    if what_if and not found.interrupted:
        pool = reduced(instance, without).instance if without else instance
        rows = what_ifs(
            pool, found.answer, objective, what_if, seed, lambda change: note(f"what if: {change}") if live else None
        )
    # The answer comes first: a folder that cannot be written loses nothing.
    if as_json:
        answer = found.answer.to_json()
        print_json({"words": sentences, "answer": answer, "what_ifs": [row._asdict() for row in rows]})
    else:
        say("\n".join(fill(line) for line in sentences))
        if rows:
            say()
            show_table(COLUMNS, [row._asdict() for row in rows], ("what if",))
    if found.plan is not None:
        written = write_plan(found, sentences, rows, folder)
        if not as_json:
            say(f"\nWritten: {', '.join(map(str, written))}")
            say(f"Next: geotrain-bench simulate {instance_file} {written[0]}")
    return _exit_status(found.answer)


def _step(done: Result) -> str:
    """What a solver found, in a line."""
    from bench.cli.display import as_figure
    from bench.reporting.formatting import percent, seconds
    from instances.objective import parse_objective

    after = f"after {seconds(done.wall_s)}"
    if done.value is None:
        return f"{done.solver}: {done.status} {after}"
    value = as_figure(done.value, parse_objective(done.objective).unit)
    more = "" if done.gap is None else ", proven optimal" if done.status == "optimal" else f", gap {percent(done.gap)}"
    return f"{done.solver}: {value} {after}{more}"


def _exit_status(answer: Result) -> int:
    if answer.status == "error":
        return FAILED
    if answer.ended == "interrupted":
        return INTERRUPTED
    return DONE if answer.plan is not None else ANSWER_NO
