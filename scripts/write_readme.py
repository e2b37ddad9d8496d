"""Rewrites the tables in README.md and in docs/ from kept results (`make readme`).

No number there is typed by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.reporting.report import make_report
from bench.runs.store import Store
from bench.studies.ablation import FILE as ABLATION
from bench.studies.ablation import ablation_table
from bench.studies.hardness import suites_table
from bench.studies.proofs import proofs_table
from instances.disk import write_text
from instances.errors import InputError

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "measuring.md", ROOT / "docs" / "memetic.md")
BLOCK = re.compile(r"<!-- table: (?P<name>[a-z-]+) -->\n.*?<!-- end -->", re.DOTALL)
Source = tuple[Path, Callable[[Path], str]]

SOURCES: Mapping[str, Source] = {
    "demo": (ROOT / "results" / "reference" / "demo", lambda folder: make_report(Store(folder)).brief),
    "proofs": (ROOT / "results" / "reference" / "proofs", proofs_table),
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
