"""Rewrites the tables in README.md and in docs/ from kept results (`make readme`).

No number there is typed by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from bench.reporting.formatting import table
from bench.reporting.report import Report, make_report
from bench.reproduction.claims import COLUMNS, LEFT, claims
from bench.reproduction.document import BASELINES
from bench.reproduction.steps import steps_table, steps_text
from bench.runs.store import Store
from bench.studies.ablation import FILE as ABLATION
from bench.studies.ablation import ablation_table
from bench.studies.hardness import suites_table
from bench.studies.proofs import proofs_table
from instances.disk import write_text
from instances.errors import InputError

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("measuring", "memetic", "reproduction")))
BLOCK = re.compile(r"<!-- table: (?P<name>[a-z-]+) -->\n.*?<!-- end -->", re.DOTALL)
Source = tuple[Path, Callable[[Path], str]]

REFERENCE = ROOT / "results" / "reference"
REPRODUCTION = REFERENCE / "reproduction"


def claims_table(folder: Path) -> str:
    """What the papers say beside what we get; why they differ stands in docs/reproduction.md."""
    columns = {name: cell for name, cell in COLUMNS.items() if name != "why they differ"}
    return table(columns, rows_of_claims(folder), LEFT)


def reasons_table(folder: Path) -> str:
    """As `claims_table`, with the reasons."""
    return table(COLUMNS, rows_of_claims(folder), LEFT)


@cache
def rows_of_claims(folder: Path) -> list[dict[str, str]]:
    """The claims on the kept runs."""
    savings, verification = savings_report(folder), make_report(Store(folder / "verification"))
    return [claim._asdict() for claim in claims(savings, verification)]


@cache
def savings_report(folder: Path) -> Report:
    """The report of the part on savings."""
    return make_report(Store(folder / "savings"), BASELINES)


def steps_of(folder: Path) -> str:
    """Where the saving comes from."""
    return steps_text(steps_table(savings_report(folder).summary))


SOURCES: Mapping[str, Source] = {
    "claims": (REPRODUCTION, claims_table),
    "reasons": (REPRODUCTION, reasons_table),
    "savings": (REPRODUCTION, lambda folder: savings_report(folder).brief),
    "steps": (REPRODUCTION, steps_of),
    "verification": (REPRODUCTION, lambda folder: make_report(Store(folder / "verification")).brief),
    "proofs": (REFERENCE / "proofs", proofs_table),
    "suites": (ROOT / "results" / "hardness.csv", suites_table),
    "ablation": (ABLATION, ablation_table),
}
"""By name of a block: the data, and what makes a table of them."""


def rewritten(text: str, sources: Mapping[str, Source] = SOURCES) -> str:
    """The text with every block's table made anew; InputError if one is unknown or has no data."""

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in sources:
            raise InputError(f"unknown table {name}; expected one of {', '.join(sources)}")
        data, make = sources[name]
        if not data.exists():
            raise InputError(f"table {name}: its data, {data}, do not exist")
        return f"<!-- table: {name} -->\n{make(data)}\n<!-- end -->"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    for page in PAGES:
        write_text(page, rewritten(page.read_text(encoding="utf-8")))
