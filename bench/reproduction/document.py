"""The document of a reproduction: what the papers say beside what we get, and the tables behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd

from bench.reporting.formatting import table
from bench.reporting.report import Report, write_report
from bench.reproduction import claims, exact_methods, steps, trade_offs
from bench.reproduction.parts import PARTS
from bench.runs.store import Store
from bench.studies.fidelity.compare import fidelity_text, measured_rows
from instances.disk import write_text

BASELINES = ("megatron", *claims.PUBLISHED_DTFM)


def write_document(folder: Path, quick: bool) -> Path:
    """Write every part's report, the tables as CSV, and reproduction.md, whose path is returned."""
    reports = {part.name: write_report(Store(folder / part.name), _baselines(part.name))[0] for part in PARTS}
    found = {
        "claims": pd.DataFrame(claims.claims(reports["savings"], reports["verification"])),
        "steps": steps.steps_table(reports["savings"].summary),
        "exact-methods": exact_methods.exact_table(reports["scaling"].runs),
        "trade-offs": trade_offs.trade_offs(reports["trade-off"].fronts),
    }
    for name, frame in found.items():
        write_text(folder / f"{name}.csv", frame.to_csv(index=False, na_rep="NA"))
    text = "\n\n".join(_sections(reports, found, quick))
    write_text(folder / "reproduction.md", f"{text}\n")
    return folder / "reproduction.md"


def _baselines(part: str) -> tuple[str, ...]:
    """Against which a part's report measures savings; an empty tuple is the report's own choice."""
    return BASELINES if part == "savings" else ()


def _sections(reports: Mapping[str, Report], found: Mapping[str, pd.DataFrame], quick: bool) -> Iterator[str]:
    titles = {part.name: part.title for part in PARTS}
    yield "# The papers' tables, reproduced"
    if quick:
        yield "A quick run: fewer problems and shorter searches than the full one. Every run can be checked: `verify`."
    yield "## What the papers say, and what we get"
    yield table(claims.COLUMNS, found["claims"].to_dict("records"), claims.LEFT)
    yield f"## {titles['savings']}"
    yield reports["savings"].brief
    yield "### Where the saving comes from"
    yield steps.steps_text(found["steps"]) if len(found["steps"]) else "No problem on which every step has a plan."
    yield _listed(steps.NOTES)
    yield f"## {titles['verification']}"
    yield reports["verification"].brief
    yield f"## {titles['scaling']}"
    yield exact_methods.exact_text(found["exact-methods"]) if len(found["exact-methods"]) else "No run of one yet."
    yield _listed(exact_methods.NOTES)
    yield f"## {titles['trade-off']}"
    yield trade_offs.trade_offs_text(found["trade-offs"]) if len(found["trade-offs"]) else "No front yet."
    yield _listed(trade_offs.NOTES)
    yield "## Fidelity: is the cost model right?"
    yield fidelity_text(measured_rows())
    yield "## Every run"
    yield _listed(
        f"[{name}]({name}/report.html): {len(report.runs) - len(report.missing)} of {len(report.runs)} runs"
        for name, report in reports.items()
    )
    yield "## Made with"
    yield _listed(dict.fromkeys(line for report in reports.values() for line in report.origin))


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
