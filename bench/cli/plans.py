"""One instance and one plan: `evaluate`, `solve`."""

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
    Options,
    Picture,
    Reference,
    Without,
    check_picture,
    key_values,
    note,
    print_json,
)

if TYPE_CHECKING:
    from bench.records.record import Result


def evaluate(
    instance_file: InstanceFile,
    plan_file: Annotated[Path, typer.Argument(help="Plan file.", metavar="PLAN")],
    picture: Picture = None,
    as_json: Json = False,
) -> int:
    """What a plan costs, by the referee. Exit status 1 if it is infeasible."""
    from bench.cli.display import show_evaluation
    from bench.runs.request import evaluation_answer
    from instances.files import read_instance, read_plan
    from instances.referee.check import Infeasible, check

    check_picture(picture)
    instance = read_instance(instance_file)
    plan = read_plan(plan_file, instance)
    checked = check(instance, plan)
    if as_json:
        print_json(evaluation_answer(instance, plan, checked))
    else:
        show_evaluation(instance, plan, checked)
    if isinstance(checked, Infeasible):
        if picture is not None:
            note(f"{picture}: not drawn, the plan is infeasible")
        return ANSWER_NO
    if picture is not None:
        from bench.reporting.plots.files import save
        from bench.reporting.plots.plan import plan_figure

        save(plan_figure(instance, plan), picture)
    return DONE


def solve(
    instance_file: InstanceFile,
    solver: Annotated[str, typer.Option(help="Which solver; `geotrain-bench solvers` lists them.")],
    objective: Annotated[str, typer.Option(help="What to minimise.")] = "time",
    reference: Reference = None,
    time_limit: Annotated[float | None, typer.Option(help="Wall seconds.", metavar="S")] = None,
    evaluations: Annotated[int | None, typer.Option(help="Most plans to evaluate.", metavar="N")] = None,
    seed: Annotated[int, typer.Option(help="Seed of random solvers.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads of exact solvers.")] = 1,
    start: Annotated[Path | None, typer.Option(help="Plan file to start from.", metavar="PLAN")] = None,
    without: Without = None,
    option: Options = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the plan.", metavar="PLAN")] = None,
    picture: Picture = None,
    as_json: Json = False,
) -> int:
    """Find a plan. Exit status 1 if there is none or none was found."""
    from bench.cli.display import show_result
    from bench.runs.request import Request, solve_request
    from instances.files import check_writable, read_instance, read_plan

    check_picture(picture)
    instance, options, left_out = read_instance(instance_file), key_values(option), tuple(without or ())
    plan = None if start is None else read_plan(start, instance)
    request = Request(
        instance,
        solver,
        options,
        objective,
        reference,
        time_limit,
        evaluations,
        seed,
        threads,
        plan,
        left_out,
        start_name=str(start),
    )
    if out is not None:
        check_writable(out)
    result = solve_request(request, live=not as_json and sys.stderr.isatty())
    print_json(result.to_json()) if as_json else show_result(result)
    if out is not None:
        _write_plan(result, out)
    if picture is not None:
        from bench.reporting.picture import draw_answer

        if not draw_answer(instance, result, picture):
            note(f"{picture}: not drawn, there is no plan")
    return _exit_status(result)


def _write_plan(result: Result, out: Path) -> None:
    from instances.files import write_text

    if result.plan is not None:
        write_text(out, f"{result.plan.to_line()}\n")


def _exit_status(result: Result) -> int:
    if result.status == "error":
        return FAILED
    if result.ended == "interrupted":
        return INTERRUPTED
    return DONE if result.status in ("optimal", "feasible") else ANSWER_NO
