"""One instance and one plan: `evaluate`, `solve`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

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
    check_picture,
    key_values,
    note,
    print_json,
)


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

    check_picture(picture)
    instance = read_instance(instance_file)
    plan = read_plan(plan_file, instance)
    answer = evaluation_answer(instance, plan)
    print_json(answer) if as_json else show_evaluation(answer)
    if picture is not None and answer["feasible"]:
        from bench.reporting.plots.files import save
        from bench.reporting.plots.plan import plan_figure

        save(plan_figure(instance, plan), picture)
    elif picture is not None:
        note(f"{picture}: not drawn, the plan is infeasible")
    return DONE if answer["feasible"] else ANSWER_NO


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
    from bench.cli.display import show_result
    from bench.runs.request import Request, solve_request
    from instances.files import check_writable, read_instance, read_plan, write_text

    check_picture(picture)
    instance = read_instance(instance_file)
    request = Request(
        instance=instance,
        solver=solver,
        options=key_values(option),
        objective=objective,
        reference=reference,
        time_limit=time_limit,
        evaluations=evaluations,
        seed=seed,
        threads=threads,
        start=None if start is None else read_plan(start, instance),
        without=tuple(without or ()),
        start_name=str(start),
    )
    if out is not None:
        check_writable(out)
    result = solve_request(request, live=not as_json and sys.stderr.isatty())
    print_json(result) if as_json else show_result(result)
    if out is not None and result["plan"] is not None:
        write_text(out, json.dumps(result["plan"]) + "\n")
    if picture is not None:
        from bench.reporting.picture import draw_answer

        if not draw_answer(request.instance, result, picture):
            note(f"{picture}: not drawn, there is no plan")
    if result["status"] == "error":
        return FAILED
    if result["ended"] == "interrupted":
        return INTERRUPTED
    return DONE if result["status"] in ("optimal", "feasible") else ANSWER_NO
