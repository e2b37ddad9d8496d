"""The results of an ablation as CSV: one line per finished run, so that it goes on where it stopped."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path

from bench.studies.ablation import Run
from instances.errors import InputError
from instances.files import write_text

FILE = Path(__file__).parents[2] / "results" / "ablation.csv"
COLUMNS = tuple(field.name for field in fields(Run))


def read_runs(path: Path) -> list[Run]:
    """The runs of a file, none if there is no file; a line that was cut short is left out."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    reader = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1]))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise InputError(f"{path}: header: is not {','.join(COLUMNS)}")
    return [_read(row) for row in reader]


def append_run(path: Path, run: Run) -> None:
    """Add a whole line at once."""
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(_lines([run]))


def write_runs(path: Path, runs: Iterable[Run]) -> None:
    """The header and these runs, in place of what was there."""
    write_text(path, ",".join(COLUMNS) + "\n" + _lines(runs))


def _lines(runs: Iterable[Run]) -> str:
    out = io.StringIO()
    csv.DictWriter(out, COLUMNS, lineterminator="\n").writerows(asdict(run) for run in runs)
    return out.getvalue()


def _read(row: dict[str, str]) -> Run:
    return Run(
        instance=row["instance"],
        hash=row["hash"],
        objective=row["objective"],
        variant=row["variant"],
        seed=int(row["seed"]),
        budget=row["budget"],
        sources=row["sources"],
        value=float(row["value"]) if row["value"] else None,
        evaluations=int(row["evaluations"]),
        seconds=float(row["seconds"]),
    )
