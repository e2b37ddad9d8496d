"""Suites and their run folders: `run`, `best`, `report`, `verify`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bench.cli.options import ANSWER_NO, DONE, FAILED, Json, Memory, Wide, byte_count, print_json, say
from instances.errors import InputError

if TYPE_CHECKING:
    from bench.reporting.formatting import Cell


def run(
    suite: Annotated[str, typer.Argument(help="Name of a shipped suite, or a TOML file.", metavar="SUITE")],
    out: Annotated[Path | None, typer.Option(help="Run folder; default results/SUITE.", metavar="DIR")] = None,
    jobs: Annotated[int, typer.Option(help="Concurrent runs; timings are then not comparable.", min=1)] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results in the folder.")] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep results computed by a different code version; the report says so.")
    ] = False,
    memory: Memory = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and write nothing.")] = False,
    as_json: Json = False,
) -> int:
    """Run a suite, or go on where it stopped. Exit status 3 if a run failed."""
    from bench.runs.run_suite import run_suite

    if fresh and keep:
        raise InputError("--fresh and --keep: give one of the two")
    if dry_run:
        return _foresee(suite, out, jobs, as_json)
    done = run_suite(suite, out, jobs, fresh, keep, byte_count(memory))
    print_json(asdict(done)) if as_json else say(
        f"{done.folder}: {done.finished} of {done.asked} runs have a result"
        + (f", {done.kept} of other code" if done.kept else "")
        + (f", {len(done.failed)} failed" if done.failed else "")
        + f"\nNext: geotrain-bench report {done.folder}"
    )
    return FAILED if done.failed else DONE


def _foresee(suite: str, out: Path | None, jobs: int, as_json: bool) -> int:
    """Runs by solver: how many, done, to do, and what they take at most."""
    from bench.cli.tables import show_table
    from bench.reporting.formatting import NOTHING, as_text
    from bench.runs.run_suite import foresee

    rows = [asdict(row) for row in foresee(suite, out)]
    limits = [row["seconds"] for row in rows]
    minutes = None if None in limits else sum(limits) / 60 / jobs
    todo = sum(row["runs"] - row["done"] for row in rows)
    if as_json:
        print_json({"solvers": rows, "runs_left": todo, "minutes_at_most": minutes})
        return DONE
    columns: dict[str, Cell] = {
        "solver": as_text("solver"),
        "runs": as_text("runs"),
        "done": as_text("done"),
        "seconds at most": lambda row: NOTHING if row["seconds"] is None else f"{row['seconds']:,.0f}",
    }
    show_table(columns, rows, ("solver",))
    limit = "some have no limit of time" if minutes is None else f"{minutes:,.0f} minutes at most with --jobs {jobs}"
    say(f"{todo} runs to do: {limit}, starts and warm-ups aside")
    return DONE


def best(
    folders: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="DIR...")],
    file: Annotated[
        Path | None, typer.Option(help="File of best known values; default: the one that comes with the suites.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Merge better values and bounds from run folders into the best known ones, once the referee has confirmed them."""
    from bench.records.merge import merge_folders

    done = merge_folders(folders, file)
    left_out = {
        f"{done.of_other_instances} runs on instances of no shipped suite (--file)": done.of_other_instances,
        f"{done.of_older_contents} runs on instances that have been edited since": done.of_older_contents,
    }
    without = [words for words, count in left_out.items() if count]
    print_json(asdict(done)) if as_json else say(
        f"{done.file}: {done.new} new, {done.better_values} better values, {done.better_bounds} better bounds; "
        f"{done.entries} entries, {done.proven} proven optimal"
        + (f"; left out: {', '.join(without)}" if without else "")
    )
    return DONE


def report(
    folder: Annotated[Path, typer.Argument(help="Run folder.", metavar="DIR")],
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            help="What savings are measured against, instead of megatron and dtfm; may be repeated.", metavar="NAME"
        ),
    ] = None,
    wide: Wide = False,
    as_json: Json = False,
) -> int:
    """Tables and figures from what a run left, finished or not."""
    from bench.cli.display import show_report
    from bench.reporting.report import write_report
    from bench.runs.store import Store

    made, path = write_report(Store(folder), baseline or ())
    if as_json:
        rows = json.loads(made.summary.to_json(orient="records"))
        lists = {"missing": made.missing, "beyond": made.beyond}
        lists |= {"solvers": json.loads(made.solvers.to_json(orient="records"))}
        print_json({"suite": made.suite, "report": str(path), **lists, "rows": rows})
    else:
        show_report(made, path, wide)
    return DONE


def verify(
    folder: Annotated[Path, typer.Argument(help="Run folder.", metavar="DIR")],
    resolve: Annotated[bool, typer.Option("--resolve", help="Also solve every claim again by another method.")] = False,
    time_limit: Annotated[
        float, typer.Option(help="Wall seconds for each claim that is solved again.", metavar="S")
    ] = 60.0,
    as_json: Json = False,
) -> int:
    """Re-check every stored plan, value, bound and claim of optimality. Exit status 1 with the list if one is wrong."""
    from bench.verification.folder import verify_folder

    done = verify_folder(folder, time_limit if resolve else None)
    if as_json:
        print_json(asdict(done))
    else:
        for line in (*done.notes, *map(str, done.claims), *done.findings):
            say(line)
        by = ", ".join(f"{count} by {name}" for name, count in done.witnesses.items())
        again = f", {done.resolved} of {done.proofs} claims confirmed{f' ({by})' if by else ''}" if resolve else ""
        say(f"{folder}: {done.records} records checked{again}: {len(done.findings)} findings")
    return ANSWER_NO if done.findings else DONE
