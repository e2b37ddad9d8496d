"""The report as one HTML page that needs nothing else: tables that sort, filter and fold, figures, runs and plans."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.records.record import Record
from bench.reporting.by_solver import QUALITY, in_words, savings_columns
from bench.reporting.formatting import NOTHING, Cell, percent, significant
from instances.files import plan_of
from instances.objective import parse_objective

if TYPE_CHECKING:
    from bench.reporting.plots import Drawn
    from bench.reporting.report import Report
    from bench.runs.store import Store

PICTURES = 40
"""Problems whose best plan is drawn: a picture takes up to half a second and 200 kB."""
Row = tuple[str, str, str]
"""Instance, objective and solver: a row of the table of every problem, and its runs."""


class Shown(NamedTuple):
    """A table: heading, cells as text, and which columns are numbers."""

    header: list[str]
    rows: list[list[str]]
    right: list[bool]


def shown(columns: Mapping[str, Cell], rows: Sequence[Mapping[Any, Any]], left: Sequence[str]) -> Shown:
    """A table of these columns."""
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    return Shown(list(columns), cells, [name not in left for name in columns])


def page(
    report: Report,
    columns: Mapping[str, Cell],
    left: Sequence[str],
    figures: Sequence[Drawn],
    store: Store,
) -> str:
    """The page; `columns` are those of the table of every problem, `left` those that are no numbers."""
    from jinja2 import Environment, PackageLoader

    records = _records(report, store)
    solvers = report.solvers.to_dict("records")
    environment = Environment(loader=PackageLoader("bench.reporting"), autoescape=True, trim_blocks=True)
    return environment.get_template("report.html.j2").render(
        report=report,
        words=in_words(report.solvers, report.baselines),
        quality=shown(QUALITY, solvers, ("solver",)),
        savings=shown(savings_columns(report.baselines), solvers, ("solver",)),
        header=[name for name in columns if name not in ("instance", "GPUs", "objective")],
        left=left,
        problems=list(_problems(report, columns, records, store)),
        figures=[(figure, _embedded(store.folder / figure.svg)) for figure in figures],
        folder=store.folder,
    )


def _records(report: Report, store: Store) -> dict[Row, list[Record]]:
    """The records of the runs that the report is about, by row."""
    found: dict[Row, list[Record]] = {}
    asked = {run.key for run in store.asked().runs}
    for record in store.records():
        if record.key in asked:
            found.setdefault((record.instance, record.objective, record.label), []).append(record)
    return found


def _problems(
    report: Report, columns: Mapping[str, Cell], records: Mapping[Row, list[Record]], store: Store
) -> Iterator[dict[str, Any]]:
    """For each instance and objective its rows, each with its runs, and the picture of the best plan."""
    if report.summary.empty:
        return
    alike = report.summary.groupby(["instance", "objective"], sort=False)
    for number, ((instance, objective), group) in enumerate(alike):
        entries: list[dict[str, Any]] = []
        best: Record | None = None
        for row in group.to_dict("records"):
            own = records.get((str(instance), str(objective), row["solver"]), [])
            cells = [
                (name, cell(row)) for name, cell in columns.items() if name not in ("instance", "GPUs", "objective")
            ]
            entries.append(
                {"id": f"runs-{number}-{len(entries)}", "cells": cells, "runs": [_run(each) for each in own]}
            )
            best = min([each for each in (best, *own) if each and each.value is not None], key=_value, default=None)
        yield {
            "id": f"problem-{number}",
            "instance": instance,
            "gpus": group["gpus"].iloc[0],
            "objective": objective,
            "truth": columns["optimum or bound"](group.iloc[0]),
            "rows": entries,
            "best": best and best.title,
            "picture": _picture(best, store) if best and best.plan and number < PICTURES else None,
        }


def _value(record: Record) -> float:
    return record.value if record.value is not None else float("inf")


def _run(record: Record) -> dict[str, Any]:
    """What a run says of itself: its figures, its plan as the plan file has it, and what it proves."""
    unit = parse_objective(record.objective).unit
    grids = record.details.get("grids")
    proof = None
    if record.bound is not None:
        proof = f"no plan is below {_figure(record.bound, unit)}, {percent(record.gap)} below this one"
        proof += f"; bounds of {len(grids)} grids" if isinstance(grids, list) else ""
    plans = [point.plan for point in record.front or ()] or ([record.plan] if record.plan else [])
    return {
        "title": record.title,
        "figures": {
            "seed": str(record.seed),
            "status": str(record.status),
            "ended": str(record.ended),
            "value": _figure(record.value, unit),
            "bound": _figure(record.bound, unit),
            "time": _figure(record.time_s, "s"),
            "energy": _figure(record.energy_j, "J"),
            "search": _figure(record.wall_s, "s", 3),
            "evaluations": f"{record.evaluations:,}",
        },
        "reason": record.reason,
        "proof": proof,
        "plans": [json.dumps(plan.model_dump(mode="json")) for plan in plans],
        "key": record.key,
    }


def _figure(value: float | None, unit: str, digits: int = 6) -> str:
    text = significant(value, digits)
    return text if text == NOTHING else f"{text} {unit}".rstrip()


def _picture(record: Record, store: Store) -> str:
    from bench.reporting.plots.plan import plan_figure

    assert record.plan is not None
    instance = store.instance(record)
    content = BytesIO()
    plan_figure(instance, plan_of(record.plan, instance, record.title)).savefig(content, format="svg")
    return _as_uri(content.getvalue(), "image/svg+xml")


def _embedded(path: Path) -> str:
    return _as_uri(path.read_bytes(), "image/svg+xml" if path.suffix == ".svg" else "image/png")


def _as_uri(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"
