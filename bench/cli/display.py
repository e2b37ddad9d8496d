"""Answers for people: tables on standard output."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

from rich.table import Table

from bench.cli.options import say
from bench.cli.tables import Answers, show_table
from bench.reporting.formatting import percent, significant
from instances.objective import parse_objective
from instances.plan import gpu_name
from instances.referee.check import Infeasible

if TYPE_CHECKING:
    from bench.records.record import Result
    from bench.reporting.report import Report
    from bench.simulation.one_f_one_b import ScheduleCost
    from instances.instance import Instance
    from instances.plan import Plan
    from instances.referee.evaluate import Evaluation


def show_evaluation(instance: Instance, plan: Plan, checked: Evaluation | Infeasible) -> None:
    """What a plan costs, and what each GPU does; or why it is infeasible."""
    console = Answers()
    if isinstance(checked, Infeasible):
        for reason in checked.reasons:
            console.print(f"infeasible: {reason}")
        return
    shape = f"{plan.replicas} x {plan.stages} (pipelines x stages), micro-batch {plan.micro_batch}"
    console.print(
        _facts(
            instance.name,
            ("plan", f"{shape}, layers {' '.join(map(str, plan.layers))}"),
            ("iteration time", as_figure(checked.time_s, "s")),
            ("  fill", as_figure(checked.fill_s, "s")),
            ("  steady", as_figure(checked.steady_s, "s")),
            ("  gradient exchange", as_figure(checked.sync_s, "s")),
            ("energy", as_figure(checked.energy_j, "J")),
            ("  on the network", as_figure(checked.network_energy_j, "J")),
            ("tokens per second", as_figure(checked.tokens_per_s)),
            ("carbon", as_figure(checked.carbon_g, "gCO2e")),
            ("cost", as_figure(checked.cost_usd, "USD")),
        )
    )
    gpus = _plain(None, ("GPU", "busy [s]", "idle [s]", "energy [J]", "memory used"))
    for share in checked.gpus:
        numbers = map(significant, (share.busy_s, share.idle_s, share.energy_j))
        gpus.add_row(gpu_name(instance, share.gpu), *numbers, percent(share.memory / share.memory_capacity))
    console.print(gpus)


def show_schedules(costs: Sequence[ScheduleCost]) -> None:
    """A plan under several schedules."""
    shown = _plain("schedules", ("schedule", "time [s]", "energy [J]", "most memory [GiB]", "in flight", "fits"))
    for cost in costs:
        numbers = significant(cost.time_s, 6), significant(cost.energy_j, 6), significant(max(cost.memory) / 2**30)
        flying = " ".join(map(str, cost.in_flight))
        shown.add_row(cost.schedule, *numbers, flying, "yes" if cost.fits else "no")
    Answers().print(shown)


def show_simulations(instance: Instance, plans: Mapping[str, Plan], answer: Mapping[str, Any]) -> None:
    """What `simulate --json` says, a table for each plan, and how their ranking fares under jitter."""
    console = Answers()
    for plan, row in zip(plans.values(), answer["plans"], strict=True):
        shape = f"{plan.replicas} x {plan.stages} (pipelines x stages), micro-batch {plan.micro_batch}"
        capacity = [min(instance.groups[k].memory for k in column) for column in zip(*plan.groups, strict=True)]
        fullest = max(need / there for need, there in zip(row["memory"], capacity, strict=True))
        quantiles = ", ".join(f"{significant(value)} s" for value in row.get("quantiles_s", {}).values())
        console.print(
            _facts(
                row["plan"],
                ("plan", f"{shape}, layers {' '.join(map(str, plan.layers))}"),
                ("iteration time", as_figure(row["time_s"], "s")),
                ("  pipelines", as_figure(row["pipeline_s"], "s")),
                ("  gradient exchange", as_figure(row["sync_s"], "s")),
                ("  by the referee", f"{as_figure(row['referee_time_s'], 's')} (fill-drain)"),
                ("energy", as_figure(row["energy_j"], "J")),
                ("  by the referee", f"{as_figure(row['referee_energy_j'], 'J')} (fill-drain)"),
                ("micro-batches in flight", " ".join(map(str, row["in_flight"]))),
                ("memory, fullest GPU", percent(fullest) + (" (does not fit)" if fullest > 1 else "")),
                ("5, 50, 95 % of draws", quantiles or None),
                ("fastest plan in", _of_draws(row, answer)),
            )
        )
    if answer.get("pairs_in_order") is not None:
        console.print(f"Pairs of plans in the same order as without jitter: {percent(answer['pairs_in_order'])}")


def _of_draws(row: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """In how many draws a plan is the fastest of several."""
    several = "jitter" in answer and len(answer["plans"]) > 1
    return f"{row['fastest_in']} of {answer['jitter']['draws']} draws" if several else None


def show_result(result: Result) -> None:
    """The answer of a solver: status, value, bound and plan."""
    console = Answers()
    plan, unit = result.plan, parse_objective(result.objective).unit
    console.print(
        _facts(
            f"{result.solver} on {result.instance}",
            ("status", result.status + (f" ({result.reason})" if result.reason else "")),
            ("ended", result.ended),
            ("objective", result.objective),
            ("value", as_figure(result.value, unit, 8)),
            ("bound", as_figure(result.bound, unit, 8)),
            ("gap", None if result.gap is None else percent(result.gap)),
            ("iteration time", as_figure(result.time_s, "s")),
            ("energy", as_figure(result.energy_j, "J")),
            ("search time", as_figure(result.wall_s, "s", 3)),
            ("evaluations", f"{result.evaluations:,}"),
            ("micro-batch", str(plan.micro_batch) if plan else None),
            ("layers", " ".join(map(str, plan.layers)) if plan else None),
            *((f"pipeline {r}", " ".join(row)) for r, row in enumerate(plan.pipelines if plan else ())),
        )
    )
    if result.front:
        front = _plain(None, ("point", "time [s]", "energy [J]", "shape", "micro-batch"))
        for number, point in enumerate(result.front):
            shape = f"{len(point.plan.pipelines)} x {len(point.plan.layers)}"
            figures = significant(point.time_s, 6), significant(point.energy_j, 6)
            front.add_row(str(number), *figures, shape, str(point.plan.micro_batch))
        console.print(front)


def show_report(report: Report, path: Path, wide: bool = False) -> None:
    """The summary by solver and what it says, every problem, and where the whole of it lies."""
    from bench.reporting.by_solver import QUALITY, in_words, savings_columns
    from bench.reporting.names import short_names
    from bench.reporting.report import LEFT, WANTED, columns_against

    solvers = report.solvers.to_dict("records")
    say(f"{fill(in_words(report.solvers, report.baselines))}\n")
    show_table(QUALITY, solvers, LEFT, wide=wide)
    say()
    show_table(savings_columns(report.baselines), solvers, LEFT, wide=wide)
    say()
    columns = columns_against(report.baselines[0])
    summary = report.summary
    if sys.stdout.isatty() and not wide:
        summary = summary.assign(instance=summary["instance"].map(short_names(summary["instance"])))
    show_table(columns, summary.to_dict("records"), LEFT, wanted=WANTED, wide=wide)
    if report.missing:
        say(f"\n{len(report.missing)} of {len(report.runs)} runs are missing.")
    for line in report.beyond:
        say(f"\nAlso in the folder: {line}.")
    say(f"\nReport: {path}, {path.with_suffix('.html')}")
    say(f"Next: geotrain-bench verify {path.parent}")


def fill(text: str, indent: int = 0) -> str:
    """Words folded to the width of a terminal; as they are where nobody but a file or a pipe reads."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    return TextWrapper(width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False).fill(text)


def show_list(columns: Sequence[str], rows: Sequence[Sequence[str | list[str]]]) -> None:
    """One line for each thing there is; on a terminal that is too narrow for it, folded between words."""
    cells = [list(columns), *([", ".join(v) if isinstance(v, list) else v for v in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    across = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    fold = TextWrapper(across, subsequent_indent=" " * 4, break_long_words=False, break_on_hyphens=False)
    for line in cells:
        say(fold.fill("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()))


def _plain(title: str | None, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _facts(title: str, *rows: tuple[str, str | None]) -> Table:
    """A table of what is known; None is left out."""
    table = _plain(title, ("", ""))
    for name, text in rows:
        if text is not None:
            table.add_row(name, text)
    return table


def as_figure(value: float | None, unit: str = "", digits: int = 6) -> str | None:
    return None if value is None else f"{significant(value, digits)} {unit}".rstrip()
