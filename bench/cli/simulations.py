"""Iterations played out: `simulate`, `sensitivity` for a run folder; measured ones predicted: `fidelity`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench.cli.options import ANSWER_NO, DONE, InstanceFile, Json, Picture, check_picture, print_json, read_given, say
from instances.errors import InputError

if TYPE_CHECKING:
    from bench.simulation.durations import Floats
    from bench.simulation.jitter import Jitter
    from bench.simulation.simulate import Rules
    from bench.simulation.timeline import TimeLine
    from instances.instance import Instance
    from instances.plan import Plan

JitterOption = Annotated[
    tuple[float, float, float] | None,
    typer.Option(
        help="Log-normal spreads of compute seconds, bandwidth and latency.", metavar="COMPUTE BANDWIDTH LATENCY"
    ),
]
Draws = Annotated[int, typer.Option(help="Iterations drawn under jitter.", min=1)]


# Long for its options, which typer reads off the signature.
def simulate(
    instance_file: InstanceFile,
    plan_files: Annotated[list[Path], typer.Argument(help="Plan files.", metavar="PLAN...")],
    schedule: Annotated[str, typer.Option(help="gpipe (fill-drain), 1f1b or 1f1b-eager.")] = "gpipe",
    blocking: Annotated[bool, typer.Option("--blocking", help="A GPU computes nothing while it sends.")] = False,
    uplink: Annotated[
        float | None,
        typer.Option(help="Traffic that leaves a site shares X times its fastest link out.", metavar="X"),
    ] = None,
    jitter: JitterOption = None,
    draws: Draws = 100,
    seed: Annotated[int, typer.Option(help="Seed of the jitter.", min=0)] = 0,
    trace: Annotated[
        Path | None, typer.Option(help="Write the time line as Chrome trace JSON.", metavar="FILE")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the time line: a .png, .svg or .pdf file.", metavar="FILE")
    ] = None,
    as_json: Json = False,
) -> int:
    """Play out an iteration event by event, apart from the referee's formulas. Exit status 1 if a plan cannot run."""
    from bench.cli.display import show_simulations
    from bench.simulation.draws import drawn_times
    from bench.simulation.simulate import simulate as play
    from instances.disk import check_writable
    from instances.files import read_plan

    if len(plan_files) > 1 and (trace or picture):
        raise InputError("--trace and --picture: show one plan, here are several")
    check_picture(picture)
    for file in (trace, picture):
        if file is not None:
            check_writable(file)
    rules, spreads = _rules(schedule, blocking, uplink), _jitter(jitter)
    instance = read_given(instance_file)
    plans = {str(file): read_plan(file, instance) for file in plan_files}
    reasons = _reasons(instance, plans)
    if reasons:
        print_json({"feasible": False, "violations": reasons}) if as_json else say("\n".join(reasons))
        return ANSWER_NO
    lines = {file: play(instance, plan, rules) for file, plan in plans.items()}
    rows = [_row(file, line) for file, line in lines.items()]
    answer: dict[str, Any] = {"instance": instance.name, "rules": asdict(rules), "plans": rows}
    if spreads is not None:
        answer["jitter"] = {**asdict(spreads), "draws": draws, "seed": seed}
        _under_jitter(answer, drawn_times(instance, list(plans.values()), rules, spreads, draws, seed))
    _write(lines[str(plan_files[0])], trace, picture)
    print_json(answer) if as_json else show_simulations(instance, plans, answer)
    return DONE


def sensitivity(
    folder: Annotated[Path, typer.Argument(help="Run folder.", metavar="DIR")],
    jitter: JitterOption = (0.05, 0.3, 0.2),
    draws: Draws = 20,
    seed: Annotated[int, typer.Option(help="Seed of the jitter.", min=0)] = 0,
    as_json: Json = False,
) -> int:
    """Play out a folder's plans under 1F1B, blocking sends, shared uplinks and jitter: does the ranking hold?"""
    import json

    from bench.studies.sensitivity import played, sensitivity_tables, sensitivity_text

    spreads = _jitter(jitter)
    assert spreads is not None
    costs, ranks = sensitivity_tables(played(folder, spreads, draws, seed))
    if as_json:
        rows = {"costs": costs, "ranks": ranks}
        print_json({key: json.loads(frame.to_json(orient="records")) for key, frame in rows.items()})
    else:
        say(sensitivity_text(costs, ranks, spreads, draws))
    return DONE


def fidelity(picture: Picture = None, as_json: Json = False) -> int:
    """Predict iterations that others measured on real clusters, and say how far off."""
    from bench.studies.fidelity.compare import fidelity_text, measured_rows, scores_of

    check_picture(picture)
    rows = measured_rows()
    if picture is not None:
        from bench.reporting.plots.fidelity import fidelity_figure
        from bench.reporting.plots.files import save

        save(fidelity_figure(rows), picture)
    if as_json:
        print_json({"scores": [asdict(score) for score in scores_of(rows)], "rows": [asdict(row) for row in rows]})
    else:
        say(fidelity_text(rows))
    return DONE


def _rules(schedule: str, blocking: bool, uplink: float | None) -> Rules:
    from bench.simulation.simulate import SCHEDULES, Rules

    known = [name for name in SCHEDULES if name == schedule]
    if not known:
        raise InputError(f"--schedule {schedule}: unknown; expected one of {', '.join(SCHEDULES)}")
    if uplink is not None and not 0 < uplink < float("inf"):
        raise InputError(f"--uplink {uplink:g}: must be above 0")
    return Rules(known[0], blocking, uplink)


def _jitter(spreads: tuple[float, float, float] | None) -> Jitter | None:
    from bench.simulation.jitter import Jitter

    if spreads is None:
        return None
    if not all(0 <= spread <= 3 for spread in spreads):
        raise InputError(f"--jitter {' '.join(f'{spread:g}' for spread in spreads)}: spreads are from 0 to 3")
    return Jitter(*spreads)


def _reasons(instance: Instance, plans: dict[str, Plan]) -> list[str]:
    """Why plans cannot run, whatever the memory."""
    from instances.referee.violations import violations

    return [
        f"{file}: infeasible: {why}" for file, plan in plans.items() for why in violations(instance, plan, memory=False)
    ]


def _row(file: str, line: TimeLine) -> dict[str, Any]:
    """What is said of a plan, beside what the referee says of it under fill-drain."""
    from instances.referee.evaluate import evaluate_feasible

    referee = evaluate_feasible(line.instance, line.plan)
    read = ("time_s", "pipeline_s", "sync_s", "energy_j", "network_energy_j", "in_flight", "memory")
    costs = {"referee_time_s": referee.time_s, "referee_energy_j": referee.energy_j}
    return {"plan": file, **{key: getattr(line, key) for key in read}, **costs}


def _write(line: TimeLine, trace: Path | None, picture: Path | None) -> None:
    if trace is not None:
        from bench.simulation.trace import chrome_trace
        from instances.disk import write_text

        write_text(trace, chrome_trace(line))
    if picture is not None:
        from bench.reporting.plots.files import save
        from bench.reporting.plots.timeline import timeline_figure

        save(timeline_figure(line), picture)


def _under_jitter(answer: dict[str, Any], times: Floats) -> None:
    """Add what draws of the iteration time, [plan, draw], say of plans that are there already."""
    import numpy as np

    from bench.simulation.draws import QUANTILES, share_in_order

    rows, fastest = answer["plans"], np.bincount(times.argmin(axis=0), minlength=len(times))
    for row, drawn, first in zip(rows, times, fastest, strict=True):
        row["quantiles_s"] = {f"{share:g}": float(np.quantile(drawn, share)) for share in QUANTILES}
        row["fastest_in"] = int(first)
    exact = np.array([row["time_s"] for row in rows])
    in_order = np.array([share_in_order(exact, draw) for draw in times.T])
    answer["pairs_in_order"] = None if np.isnan(in_order).all() else float(in_order.mean())
