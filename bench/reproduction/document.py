"""The document of a reproduction: what the papers say beside what we get, and the tables behind it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import pandas as pd

from bench.reporting.by_solver import in_words
from bench.reporting.formatting import table
from bench.reporting.plots import Drawn, draw
from bench.reporting.report import Report, write_report
from bench.reproduction import claims, exact_methods, steps, trade_offs
from bench.reproduction.parts import PARTS
from bench.runs.store import Store
from bench.studies.fidelity.compare import fidelity_text, measured_rows
from bench.studies.fidelity.rows import Measured
from instances.disk import write_text

BASELINES = ("megatron", *claims.PUBLISHED_DTFM)
TITLE = "The papers' tables, reproduced"
STEPS = Drawn("steps", "Where the saving over megatron comes from, step by step.", "A waterfall and stacked bars.")
FIDELITY = Drawn("fidelity", "Iterations measured on real clusters beside their predictions.", "Points by a diagonal.")
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}
td, th {{ white-space: normal; min-width: 4rem; vertical-align: top; }}
</style>
</head>
<body>
{body}</body>
</html>
"""


def write_document(folder: Path, quick: bool) -> Path:
    """Write every part's report, tables as CSV, figures, a page, and reproduction.md, whose path is returned."""
    reports = {part.name: write_report(Store(folder / part.name), _baselines(part.name))[0] for part in PARTS}
    found = {
        "claims": pd.DataFrame(claims.claims(reports["savings"], reports["verification"])),
        "steps": steps.steps_table(reports["savings"].summary),
        "exact-methods": exact_methods.exact_table(reports["scaling"].runs),
        "trade-offs": trade_offs.trade_offs(reports["trade-off"].fronts),
    }
    for name, frame in found.items():
        write_text(folder / f"{name}.csv", frame.to_csv(index=False, na_rep="NA"))
    measured = measured_rows()
    _draw(folder, found["steps"], measured)
    text = "\n\n".join(_sections(reports, found, measured, quick)) + "\n"
    write_text(folder / "reproduction.md", text)
    write_text(folder / "reproduction.html", _page(text, folder))
    return folder / "reproduction.md"


def _baselines(part: str) -> tuple[str, ...]:
    """Against which a part's report measures savings; an empty tuple is the report's own choice."""
    return BASELINES if part == "savings" else ()


def _draw(folder: Path, found: pd.DataFrame, measured: list[Measured]) -> None:
    from bench.reporting.plots.fidelity import fidelity_figure
    from bench.reporting.plots.steps import steps_figure

    draw(steps_figure(steps.tidy_steps(found)) if len(found) else None, STEPS, folder)
    draw(fidelity_figure(measured) if measured else None, FIDELITY, folder)


def _sections(
    reports: Mapping[str, Report], found: Mapping[str, pd.DataFrame], measured: list[Measured], quick: bool
) -> Iterator[str]:
    titles = {part.name: part.title for part in PARTS}
    yield f"# {TITLE}"
    if quick:
        yield "A quick run: fewer problems and shorter searches than the full one."
    yield "## What the papers say, and what we get"
    yield table(claims.COLUMNS, found["claims"].to_dict("records"), claims.LEFT)
    for name, report in reports.items():
        yield f"## {titles[name]}"
        yield in_words(report.solvers, report.baselines)
        if name == "savings":
            yield from _where_from(found["steps"])
        elif name == "scaling":
            rows = found["exact-methods"]
            yield exact_methods.exact_text(rows) if len(rows) else "No exact method has a result yet."
            yield _listed(exact_methods.NOTES)
        elif name == "trade-off":
            yield trade_offs.trade_offs_text(found["trade-offs"]) if len(found["trade-offs"]) else "No front yet."
            yield _listed(trade_offs.NOTES)
        yield f"### By solver: {name}"
        yield report.brief.rpartition("\n\n")[0]
        done = len(report.runs) - len(report.missing)
        yield f"{done} of {len(report.runs)} runs are done; [every run, plan and figure]({name}/report.html)."
    yield "## Fidelity: is the cost model right?"
    if measured:
        yield f"![{FIDELITY.alt}]({FIDELITY.svg})"
    yield fidelity_text(measured)
    yield "## Made with"
    yield _listed(dict.fromkeys(line for report in reports.values() for line in report.origin))
    yield "Every run can be checked with `geotrain-bench verify`, given the folder of its part."


def _where_from(found: pd.DataFrame) -> Iterator[str]:
    yield "### Where the saving comes from"
    if not len(found):
        yield "There is no problem yet on which every step has a plan."
        return
    yield f"![{STEPS.alt}]({STEPS.svg})"
    yield steps.steps_text(found)
    yield _listed(steps.NOTES)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _page(text: str, folder: Path) -> str:
    """The document as a page, its pictures inside."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    for name in (STEPS.svg, FIDELITY.svg):
        if (folder / name).exists():
            content = b64encode((folder / name).read_bytes()).decode()
            body = body.replace(f'src="{name}"', f'src="data:image/svg+xml;base64,{content}"')
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    style = (files("bench.reporting") / "templates" / "page.css").read_text(encoding="utf-8")
    return PAGE.format(title=TITLE, style=style, body=body)
