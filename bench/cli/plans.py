"""One instance and one plan: `evaluate`, `solve`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench.cli.options import (
    ANSWER_NO,
    DONE,
    FAILED,
    INTERRUPTED,
    InstanceFile,
    Json,
    Memory,
    Options,
    Picture,
    Reference,
    Without,
    byte_count,
    check_picture,
    key_values,
    note,
    print_json,
    read_given,
)
from instances.errors import InputError

if TYPE_CHECKING:
    from bench.records.record import Result
    from bench.simulation.one_f_one_b import ScheduleCost
    from instances.instance import Instance
    from instances.plan import Plan
    from instances.referee.check import Infeasible
    from instances.referee.evaluate import Evaluation


def evaluate(
    instance_file: InstanceFile,
    plan_file: Annotated[Path, typer.Argument(help="Plan file.", metavar="PLAN")],
    point: Annotated[
        int | None, typer.Option(help="Which plan, if the file holds a front: 0 is the fastest.", metavar="N")
    ] = None,
    schedule: Annotated[
        str, typer.Option(help="1f1b: both orders of 1F1B beside fill-drain (gpipe), by simulation.")
    ] = "gpipe",
    picture: Picture = None,
    as_json: Json = False,
) -> int:
    """What a plan costs, by the referee. Exit status 1 if it is infeasible."""
    from bench.cli.display import show_evaluation, show_schedules
    from instances.files import read_plan
    from instances.referee.check import Infeasible, check

    if schedule not in ("gpipe", "1f1b"):
        raise InputError(f"--schedule {schedule}: unknown; expected gpipe or 1f1b")
    check_picture(picture)
    instance = read_given(instance_file)
    plan = read_plan(plan_file, instance, point)
    checked = check(instance, plan)
    schedules = _schedules(instance, plan) if schedule == "1f1b" else None
    if as_json:
        more = {} if schedules is None else {"schedules": [asdict(cost) for cost in schedules]}
        print_json({**_evaluation(instance, plan, checked), **more})
    else:
        show_evaluation(instance, plan, checked)
        if schedules:
            show_schedules(schedules)
    if isinstance(checked, Infeasible):
        if picture is not None:
            note(f"{picture}: not drawn, the plan is infeasible")
        return ANSWER_NO
    if picture is not None:
        from bench.reporting.plots.files import save
        from bench.reporting.plots.plan import plan_figure

        save(plan_figure(instance, plan), picture)
    return DONE


# Long for its options, which typer reads off the signature.
def solve(
    instance_file: InstanceFile,
    solver: Annotated[str, typer.Option(help="Which solver; `geotrain-bench solvers` lists them.")],
    objective: Annotated[
        str,
        typer.Option(
            help="What to minimise: time, energy, weighted:W, energy@T, time@E, energy@0.8x, carbon, cost or front."
        ),
    ] = "time",
    reference: Reference = None,
    time_limit: Annotated[float | None, typer.Option(help="Wall seconds.", metavar="S")] = None,
    evaluations: Annotated[int | None, typer.Option(help="Maximum number of plans to evaluate.", metavar="N")] = None,
    seed: Annotated[int, typer.Option(help="Seed of random solvers, and of the libraries of exact ones.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads of exact solvers.")] = 1,
    start: Annotated[Path | None, typer.Option(help="Plan file to start from.", metavar="PLAN")] = None,
    without: Without = None,
    option: Options = None,
    memory: Memory = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the plan, or the front.", metavar="FILE")] = None,
    picture: Picture = None,
    as_json: Json = False,
) -> int:
    """Find a plan. Exit status 1 if there is none or none was found."""
    from bench.cli.display import show_result
    from bench.runs.solve import solve_request
    from instances.disk import check_writable
    from instances.files import read_plan
    from solvers.core.interface import Budget

    check_picture(picture)
    instance = read_given(instance_file)
    options, plan = key_values(option), None if start is None else read_plan(start, instance)
    if out is not None:
        check_writable(out)
    result = solve_request(
        instance,
        solver,
        options,
        objective,
        Budget(time_limit, evaluations, seed, threads),
        reference=reference,
        start=plan,
        start_name=str(start),
        left_out=without or (),
        live=not as_json and sys.stderr.isatty(),
        memory=byte_count(memory),
    )
    try:
        if out is not None:
            _write_answer(result, out)
    finally:  # an answer that cannot be written in one place is not lost in the other
        print_json(result.to_json()) if as_json else show_result(result)
    if picture is not None:
        from bench.reporting.picture import draw_answer

        if not draw_answer(instance, result, picture):
            note(f"{picture}: not drawn, there is no plan")
    return _exit_status(result)


def _write_answer(result: Result, path: Path) -> None:
    from instances.disk import write_text
    from instances.files import FRONT_SCHEMA, FrontFile

    if result.front:
        front = FrontFile(schema=FRONT_SCHEMA, instance=result.instance, points=result.front)
        write_text(path, front.to_text())
    elif result.plan is not None:
        write_text(path, f"{result.plan.to_line()}\n")
    else:
        note(f"{path}: not written, there is no plan")


def _schedules(instance: Instance, plan: Plan) -> Sequence[ScheduleCost]:
    """Fill-drain and both orders of 1F1B; none if the plan cannot run, whatever its memory."""
    from bench.simulation.one_f_one_b import all_schedules
    from instances.referee.violations import violations

    return () if violations(instance, plan, memory=False) else all_schedules(instance, plan)


def _evaluation(instance: Instance, plan: Plan, checked: Evaluation | Infeasible) -> dict[str, Any]:
    """The object of `evaluate --json`; metrics are null and `gpus` empty if the plan is infeasible."""
    from bench.records.record import Breakdown
    from instances.instance import COST_MODEL_VERSION
    from instances.referee.check import Infeasible

    reasons = checked.reasons if isinstance(checked, Infeasible) else ()
    metrics: dict[str, Any] = {**dict.fromkeys(Breakdown.model_fields), "gpus": []}
    if not isinstance(checked, Infeasible):
        metrics = Breakdown.of(instance, checked).model_dump(mode="json")
    return {
        "feasible": not reasons,
        "reason": reasons[0] if reasons else None,
        "violations": reasons,
        **metrics,
        "stages": plan.stages,
        "replicas": plan.replicas,
        "micro_batch": plan.micro_batch,
        "layers": plan.layers,
        "instance": instance.name,
        "instance_hash": instance.content_hash,
        "cost_model_version": COST_MODEL_VERSION,
    }


def _exit_status(result: Result) -> int:
    if result.status == "error":
        return FAILED
    if result.ended == "interrupted":
        return INTERRUPTED
    return DONE if result.status in ("optimal", "feasible") else ANSWER_NO
