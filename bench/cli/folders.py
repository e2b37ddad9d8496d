"""Suites and their run folders: `run`, `best`, `report`, `verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from bench.cli.options import ANSWER_NO, DONE, FAILED, Json, print_json, say


def run(
    suite: Annotated[str, typer.Argument(help="Name of a shipped suite, or a TOML file.", metavar="SUITE")],
    out: Annotated[Path | None, typer.Option(help="Run folder; default results/SUITE.", metavar="DIR")] = None,
    jobs: Annotated[int, typer.Option(help="Runs side by side; their seconds are then no timings.", min=1)] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results in the folder.")] = False,
    as_json: Json = False,
) -> int:
    """Run a suite, or go on where it stopped. Exit status 3 if a run failed."""
    from bench.runs.run_suite import run_suite

    answer = run_suite(suite, out, jobs, fresh)
    print_json(answer) if as_json else say(
        f"{answer['folder']}: {answer['finished']} of {answer['asked']} runs have a result"
        + (f", {len(answer['failed'])} failed" if answer["failed"] else "")
    )
    return FAILED if answer["failed"] else DONE


def best(
    folders: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="DIR...")],
    file: Annotated[
        Path | None, typer.Option(help="File of best known values; default: the one that comes with the suites.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Merge better values and bounds from run folders into the best known ones, once the referee has confirmed them."""
    from bench.records.merge import merge_folders

    answer = merge_folders(folders, file)
    print_json(answer) if as_json else say(
        f"{answer['file']}: {answer['new']} new, {answer['better_values']} better values, "
        f"{answer['better_bounds']} better bounds; {answer['entries']} entries, {answer['proven']} proven optimal"
        + (
            f"; {n} runs on instances of no shipped suite left out (--file)"
            if (n := answer["of_other_instances"])
            else ""
        )
    )
    return DONE


def report(folder: Annotated[Path, typer.Argument(help="Run folder.", metavar="DIR")], as_json: Json = False) -> int:
    """Tables and figures from what a run left, finished or not."""
    from bench.cli.display import show_report
    from bench.reporting.report import write_report
    from bench.runs.store import Store

    made, path = write_report(Store(folder))
    if as_json:
        rows = json.loads(made.summary.to_json(orient="records"))
        print_json({"suite": made.suite, "report": str(path), "missing": made.missing, "rows": rows})
    else:
        show_report(made, path)
    return DONE


def verify(
    folder: Annotated[Path, typer.Argument(help="Run folder.", metavar="DIR")],
    resolve: Annotated[
        bool, typer.Option("--resolve", help="Also solve what was proven again, by the other exact method.")
    ] = False,
    time_limit: Annotated[float, typer.Option(help="Wall seconds for each proof solved again.", metavar="S")] = 60.0,
    as_json: Json = False,
) -> int:
    """Re-check every stored plan, value, bound and claim of optimality. Exit status 1 with the list if one is wrong."""
    from bench.verification.folder import verify_folder

    answer = verify_folder(folder, time_limit if resolve else None)
    if as_json:
        print_json(answer)
    else:
        for finding in answer["findings"]:
            say(finding)
        again = f", {answer['resolved']} of {answer['proofs']} proofs solved again" if resolve else ""
        say(f"{folder}: {answer['records']} records checked{again}: {len(answer['findings'])} findings")
    return ANSWER_NO if answer["findings"] else DONE
