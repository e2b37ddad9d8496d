"""Write `results/hardness.csv`: what `describe` says of every shipped suite (`make hardness`)."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path

from bench.runs.suite import shipped
from bench.studies.describe import suite_rows
from bench.studies.hardness import Hardness
from instances.files import write_text

FILE = Path(__file__).parent.parent / "results" / "hardness.csv"


def hardness_text(rows: Iterable[tuple[str, Hardness]]) -> str:
    """The file: a line for each suite's problem; None is an empty cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, ["suite", *(field.name for field in fields(Hardness))], lineterminator="\n")
    writer.writeheader()
    writer.writerows({"suite": suite, **asdict(row)} for suite, row in rows)
    return out.getvalue()


def _all_rows() -> Iterable[tuple[str, Hardness]]:
    for suite in shipped():
        for row in suite_rows(suite):
            print(f"{suite}: {row.instance}, {row.objective}", file=sys.stderr)  # noqa: T201
            yield suite, row


if __name__ == "__main__":
    write_text(FILE, hardness_text(_all_rows()))
