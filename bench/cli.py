"""The command line, `geotrain-bench`. Heavy modules load inside the commands: `--help` answers at once."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from instances.errors import InputError

DONE, ANSWER_NO, BAD_INPUT, FAILED, INTERRUPTED = 0, 1, 2, 3, 130

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Exact-versus-heuristic benchmarks for planners of geo-distributed training.",
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
InstanceFile = Annotated[Path, typer.Argument(help="Instance file.", metavar="INSTANCE")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", help="An option of the solver or family; repeatable.", metavar="KEY=VALUE"),
]
Picture = Annotated[Path | None, typer.Option(help="Also draw the plan: a .png, .svg or .pdf file.", metavar="FILE")]


def main() -> NoReturn:
    """Run the command line; every error a user can cause is one line on standard error."""
    called_with_nothing = len(sys.argv) == 1
    signal.signal(signal.SIGTERM, _interrupted)  # whoever ends us this way loses no more than by Ctrl-C
    try:
        code = app(["--help"] if called_with_nothing else None, standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", INTERRUPTED)
    except InputError as error:
        _fail(str(error), BAD_INPUT)
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
    except Exception as error:  # noqa: BLE001 - the last resort: a line instead of a traceback
        _fail_unexpected(error)
    sys.exit(BAD_INPUT if called_with_nothing else code)


def _interrupted(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _fail_unexpected(error: Exception) -> NoReturn:
    # The command line's own errors; their class has moved between releases, this method has not.
    explain = getattr(error, "format_message", None)
    if explain is not None:
        _fail(f"{explain()} (--help shows how)", BAD_INPUT)
    from bench.metrics import ContradictionError

    if os.environ.get("GEOTRAIN_BENCH_DEBUG"):
        raise error
    if isinstance(error, ContradictionError):
        _fail(f"contradiction: {error}", FAILED)
    _fail(f"{type(error).__name__}: {error} (set GEOTRAIN_BENCH_DEBUG=1 for the traceback)", FAILED)


def _fail(message: str, code: int) -> NoReturn:
    print(f"geotrain-bench: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(code)


def _say(text: str) -> None:
    print(text)  # noqa: T201


def _note(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201


def _print_json(content: dict[str, Any]) -> None:
    _say(json.dumps(content, allow_nan=False))


def _key_values(options: Sequence[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in options or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"--option {text!r}: is not KEY=VALUE")
        if key in found:
            raise InputError(f"--option {key}: is given twice")
        found[key] = value
    return found


def _check_picture(picture: Path | None) -> None:
    """Refuse an unknown suffix before any work."""
    if picture is not None:
        from bench.plots.saving import picture_suffix

        picture_suffix(picture)


@app.command()
def evaluate(
    instance_file: InstanceFile,
    plan_file: Annotated[Path, typer.Argument(help="Plan file.", metavar="PLAN")],
    picture: Picture = None,
    as_json: Json = False,
) -> int:
    """What a plan costs, by the referee. Exit status 1 if it is infeasible."""
    from bench.show import show_evaluation
    from bench.solving import evaluation_answer
    from instances.files import read_instance, read_plan

    _check_picture(picture)
    instance = read_instance(instance_file)
    plan = read_plan(plan_file, instance)
    answer = evaluation_answer(instance, plan)
    _print_json(answer) if as_json else show_evaluation(answer)
    if picture is not None and answer["feasible"]:
        from bench.plots.plan import plan_figure
        from bench.plots.saving import save

        save(plan_figure(instance, plan), picture)
    elif picture is not None:
        _note(f"{picture}: not drawn, the plan is infeasible")
    return DONE if answer["feasible"] else ANSWER_NO


@app.command()
def solve(
    instance_file: InstanceFile,
    solver: Annotated[str, typer.Option(help="Which solver; `geotrain-bench solvers` lists them.")],
    objective: Annotated[str, typer.Option(help="What to minimise.")] = "time",
    reference: Annotated[
        tuple[float, float] | None,
        typer.Option(help="T (s) and E (J) that weights and relative caps refer to.", metavar="T E"),
    ] = None,
    time_limit: Annotated[float | None, typer.Option(help="Wall seconds.", metavar="S")] = None,
    evaluations: Annotated[int | None, typer.Option(help="Most plans to evaluate.", metavar="N")] = None,
    seed: Annotated[int, typer.Option(help="Seed of random solvers.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads of exact solvers.")] = 1,
    start: Annotated[Path | None, typer.Option(help="Plan file to start from.", metavar="PLAN")] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave out a group or a GPU; repeatable.", metavar="GROUP[/i]")
    ] = None,
    option: Options = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the plan.", metavar="PLAN")] = None,
    picture: Picture = None,
    as_json: Json = False,
) -> int:
    """Find a plan. Exit status 1 if there is none or none was found."""
    from bench.show import show_result
    from bench.solving import Request, solve_request
    from instances.files import check_writable, read_instance, write_text

    _check_picture(picture)
    request = Request(
        instance=read_instance(instance_file),
        solver=solver,
        options=_key_values(option),
        objective=objective,
        reference=reference,
        time_limit=time_limit,
        evaluations=evaluations,
        seed=seed,
        threads=threads,
        start=start,
        without=tuple(without or ()),
    )
    if out is not None:
        check_writable(out)
    result = solve_request(request, live=not as_json and sys.stderr.isatty())
    _print_json(result) if as_json else show_result(result)
    if out is not None and result["plan"] is not None:
        write_text(out, json.dumps(result["plan"]) + "\n")
    if picture is not None:
        from bench.picture import draw_answer

        if not draw_answer(request.instance, result, picture):
            _note(f"{picture}: not drawn, there is no plan")
    if result["status"] == "error":
        return FAILED
    if result["ended"] == "interrupted":
        return INTERRUPTED
    return DONE if result["status"] in ("optimal", "feasible") else ANSWER_NO


@app.command()
def solvers(as_json: Json = False) -> int:
    """List the solvers: what each is and what it proves."""
    from bench.show import show_list, solver_rows

    rows = solver_rows()
    _print_json({"solvers": rows}) if as_json else show_list(("solver", "proves", "summary", "options"), rows)
    return DONE


@app.command()
def families(as_json: Json = False) -> int:
    """List the instance families: what each covers."""
    from bench.show import family_rows, show_list

    rows = family_rows()
    _print_json({"families": rows}) if as_json else show_list(("family", "summary", "options"), rows)
    return DONE


@app.command()
def suites(as_json: Json = False) -> int:
    """List the suites that come with the package."""
    from bench.show import show_list, suite_rows

    rows = suite_rows()
    _print_json({"suites": rows}) if as_json else show_list(("suite", "summary"), rows)
    return DONE


@app.command()
def generate(
    family: Annotated[str, typer.Argument(help="Family; `geotrain-bench families` lists them.", metavar="FAMILY")],
    gpus: Annotated[int, typer.Option(help="Number of GPUs.")],
    out: Annotated[Path, typer.Option(help="Where to write the instance.", metavar="FILE")],
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    option: Options = None,
    as_json: Json = False,
) -> int:
    """Make an instance; the same arguments give the same bytes."""
    from instances.family import generate as make
    from instances.files import write_instance

    instance = make(family, gpus, seed, _key_values(option))
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
        _print_json(answer)
    else:
        _say(f"{out}: {instance.name}, {instance.gpus} GPUs in {len(instance.groups)} groups, {instance.model.name}")
    return DONE


@app.command()
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
    from bench.describe import answer, text
    from bench.describe import describe as rows_of

    rows = rows_of(what, objective or ())
    _print_json(answer(what, rows)) if as_json else _say(text(rows))
    return DONE


@app.command()
def run(
    suite: Annotated[str, typer.Argument(help="Name of a shipped suite, or a TOML file.", metavar="SUITE")],
    out: Annotated[Path | None, typer.Option(help="Run folder; default results/SUITE.", metavar="DIR")] = None,
    jobs: Annotated[int, typer.Option(help="Runs side by side; their seconds are then no timings.", min=1)] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results in the folder.")] = False,
    as_json: Json = False,
) -> int:
    """Run a suite, or go on where it stopped. Exit status 3 if a run failed."""
    from bench.running import run_suite

    answer = run_suite(suite, out, jobs, fresh)
    _print_json(answer) if as_json else _say(
        f"{answer['folder']}: {answer['finished']} of {answer['asked']} runs have a result"
        + (f", {len(answer['failed'])} failed" if answer["failed"] else "")
    )
    return FAILED if answer["failed"] else DONE


@app.command()
def best(
    folders: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="DIR...")],
    file: Annotated[
        Path | None, typer.Option(help="File of best known values; default: the one that comes with the suites.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Merge better values and bounds from run folders into the best known ones, once the referee has confirmed them."""
    from bench.best_merge import merge_folders

    answer = merge_folders(folders, file)
    _print_json(answer) if as_json else _say(
        f"{answer['file']}: {answer['new']} new, {answer['better_values']} better values, "
        f"{answer['better_bounds']} better bounds; {answer['entries']} entries, {answer['proven']} proven optimal"
        + (
            f"; {n} runs on instances of no shipped suite left out (--file)"
            if (n := answer["of_other_instances"])
            else ""
        )
    )
    return DONE


@app.command()
def report(folder: Annotated[Path, typer.Argument(help="Run folder.", metavar="DIR")], as_json: Json = False) -> int:
    """Tables and figures from what a run left, finished or not."""
    from bench.report import write_report
    from bench.show import show_report
    from bench.store import Store

    made, path = write_report(Store(folder))
    if as_json:
        rows = json.loads(made.summary.to_json(orient="records"))
        _print_json({"suite": made.suite, "report": str(path), "missing": made.missing, "rows": rows})
    else:
        show_report(made, path)
    return DONE


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="Run folder.", metavar="DIR")],
    resolve: Annotated[
        bool, typer.Option("--resolve", help="Also solve what was proven again, by the other exact method.")
    ] = False,
    time_limit: Annotated[float, typer.Option(help="Wall seconds for each proof solved again.", metavar="S")] = 60.0,
    as_json: Json = False,
) -> int:
    """Re-check every stored plan, value, bound and claim of optimality. Exit status 1 with the list if one is wrong."""
    from bench.verifying import verify_folder

    answer = verify_folder(folder, time_limit if resolve else None)
    if as_json:
        _print_json(answer)
    else:
        for finding in answer["findings"]:
            _say(finding)
        again = f", {answer['resolved']} of {answer['proofs']} proofs solved again" if resolve else ""
        _say(f"{folder}: {answer['records']} records checked{again}: {len(answer['findings'])} findings")
    return ANSWER_NO if answer["findings"] else DONE


if __name__ == "__main__":
    main()
