"""Answers for people: tables on standard output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from bench.reporting.formatting import NOTHING, percent, significant

if TYPE_CHECKING:
    from bench.reporting.report import Report


def show_evaluation(answer: dict[str, Any]) -> None:
    """What a plan costs, and what each GPU does."""
    console = _console()
    if not answer["feasible"]:
        for reason in answer["violations"]:
            console.print(f"infeasible: {reason}")
        return
    shape = f"{answer['replicas']} x {answer['stages']} (pipelines x stages), micro-batch {answer['micro_batch']}"
    table = _plain(answer["instance"], ("", ""))
    for name, text in (
        ("plan", f"{shape}, layers {' '.join(map(str, answer['layers']))}"),
        ("iteration time", f"{significant(answer['time_s'], 6)} s"),
        ("  fill", f"{significant(answer['fill_s'], 6)} s"),
        ("  steady", f"{significant(answer['steady_s'], 6)} s"),
        ("  gradient exchange", f"{significant(answer['sync_s'], 6)} s"),
        ("energy", f"{significant(answer['energy_j'], 6)} J"),
        ("  on the network", f"{significant(answer['network_energy_j'], 6)} J"),
        ("tokens per second", significant(answer["tokens_per_s"], 6)),
        ("carbon", f"{significant(answer['carbon_g'], 6)} gCO2e"),
        ("cost", f"{significant(answer['cost_usd'], 6)} USD"),
    ):
        if NOTHING not in text:
            table.add_row(name, text)
    console.print(table)
    gpus = _plain(None, ("GPU", "busy [s]", "idle [s]", "energy [J]", "memory used"))
    for share in answer["gpus"]:
        used = share["memory"] / share["memory_capacity"]
        numbers = (significant(share[key]) for key in ("busy_s", "idle_s", "energy_j"))
        gpus.add_row(share["gpu"], *numbers, percent(used))
    console.print(gpus)


def show_result(result: dict[str, Any]) -> None:
    """The answer of a solver: status, value, bound and plan."""
    console = _console()
    table = _plain(f"{result['solver']} on {result['instance']}", ("", ""))
    table.add_row("status", result["status"] + (f" ({result['reason']})" if result["reason"] else ""))
    table.add_row("ended", result["ended"])
    table.add_row("objective", result["objective"])
    for name, text in (
        ("value", significant(result["value"], 8)),
        ("bound", significant(result["bound"], 8)),
        ("gap", percent(result["gap"])),
        ("iteration time", f"{significant(result['time_s'], 6)} s"),
        ("energy", f"{significant(result['energy_j'], 6)} J"),
        ("search time", f"{significant(result['wall_s'], 3)} s"),
        ("evaluations", f"{result['evaluations']:,}"),
    ):
        if NOTHING not in text:
            table.add_row(name, text)
    plan = result["plan"]
    if plan:
        table.add_row("micro-batch", str(plan["micro_batch"]))
        table.add_row("layers", " ".join(map(str, plan["layers"])))
        for number, row in enumerate(plan["pipelines"]):
            table.add_row(f"pipeline {number}", " ".join(row))
    console.print(table)
    if result["front"]:
        front = _plain(None, ("time [s]", "energy [J]", "shape", "micro-batch"))
        for point in result["front"]:
            rows = point["plan"]["pipelines"]
            shape = f"{len(rows)} x {len(rows[0])}"
            front.add_row(
                significant(point["time_s"], 6),
                significant(point["energy_j"], 6),
                shape,
                str(point["plan"]["micro_batch"]),
            )
        console.print(front)


def show_report(report: Report, path: Path) -> None:
    """The report's main table and where the whole of it lies."""
    # Plain text: a table as wide as it must be, which a terminal may scroll and a file keeps.
    print(report.table)  # noqa: T201
    if report.missing:
        print(f"\n{len(report.missing)} of {len(report.runs)} runs are missing.")  # noqa: T201
    print(f"\nReport: {path}, {path.with_suffix('.html')}")  # noqa: T201


def show_list(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """One line for each thing there is, however wide the terminal."""
    texts = [[", ".join(v) if isinstance(v, list) else str(v) for v in row.values()] for row in rows]
    cells = [list(columns), *texts]
    widths = [max(len(line[column]) for line in cells) for column in range(len(columns))]
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())  # noqa: T201


def solver_rows() -> list[dict[str, Any]]:
    """Name, proof, summary and options of every solver."""
    from solvers.core.registry import solver_types

    return [
        {
            "name": name,
            "proves": solver.proves.value,
            "summary": solver.summary,
            "options": [f"{option.name}={option.default}" for option in fields(solver)],
        }
        for name, solver in solver_types().items()
    ]


def family_rows() -> list[dict[str, Any]]:
    """Name, summary and options of every family."""
    from instances.generator.family import families

    return [
        {
            "name": name,
            "summary": family.summary,
            "options": [f"{key}={option.default}" for key, option in family.options.items()],
        }
        for name, family in families().items()
    ]


def suite_rows() -> list[dict[str, Any]]:
    """Name and summary of every shipped suite."""
    from bench.runs.suite import shipped

    return [{"name": name, "summary": suite.summary} for name, suite in shipped().items()]


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which knows that a reader who has seen enough is no failure."""
        raise BrokenPipeError


def _console() -> Console:
    # Names and units are printed as they are: "[s]" is seconds and not the markup for struck-out text.
    return _Console(highlight=False, markup=False, emoji=False)


def _plain(title: str | None, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
