"""Write `results/hardness.csv`: what `describe` says of every shipped suite (`make hardness`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from bench.runs.suite import shipped
from bench.studies.hardness import Hardness, described, hardness_csv
from instances.disk import write_text

FILE = Path(__file__).parent.parent / "results" / "hardness.csv"


def _all_rows() -> Iterator[tuple[str, Hardness]]:
    for suite in shipped():
        for row in described(suite, ()):
            print(f"{suite}: {row.instance}, {row.objective}", file=sys.stderr)  # noqa: T201
            yield suite, row


if __name__ == "__main__":
    write_text(FILE, hardness_csv(_all_rows()))
