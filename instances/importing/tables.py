"""Tables of text with units in their headers; every complaint names the file, the row and what to do."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from instances.disk import read_text
from instances.errors import InputError, shortened

SECONDS = {"ms": 1e-3, "s": 1.0, "us": 1e-6}
BYTES_PER_S = {"gbit/s": 1e9 / 8, "mbit/s": 1e6 / 8, "kbit/s": 1e3 / 8, "gb/s": 1e9, "mb/s": 1e6}
SPELLINGS = {"gbps": "gbit/s", "mbps": "mbit/s", "gbits/s": "gbit/s", "mbits/s": "mbit/s", "gb/sec": "gb/s"}


class Row(NamedTuple):
    """A row of a table by column, and where it stands."""

    where: str
    cells: dict[str, str]

    def text(self, column: str) -> str:
        """What a cell says. InputError if it is empty."""
        text = self.cells[column]
        if not text:
            raise InputError(f"{self.where}: {column}: is empty")
        return text

    def number(self, column: str, least: float = 0.0) -> float:
        """What a cell counts. InputError if it is none, or below `least`."""
        text = self.text(column)
        if re.fullmatch(r"\d+,\d+", text):
            raise InputError(f"{self.where}: {column}: {text!r} has a decimal comma; write {text.replace(',', '.')}")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (value >= least and math.isfinite(value)):
            what = f"a number of {least:g} or more"
            raise InputError(f"{self.where}: {column}: found {shortened(text)}, expected {what}")
        return value


def read_rows(path: Path, needed: Sequence[str]) -> list[Row]:
    """The rows of a CSV file, separated by commas or semicolons. InputError if a needed column or all rows are missing.

    Column names are in small letters, units in brackets left on; empty lines and lines that begin with # do not count.
    """
    text = read_text(path).removeprefix("\ufeff")
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip(" ,;") and line.strip()[0] != "#"]
    if not lines:
        raise InputError(f"{path}: is empty; the first line names its columns: {', '.join(needed)}")
    separator = ";" if lines[0][1].count(";") > lines[0][1].count(",") else ","
    header = [name.strip().lower() for name in next(csv.reader([lines[0][1]], delimiter=separator))]
    twice = [name for name in header if header.count(name) > 1]
    if twice:
        raise InputError(f"{path}: row {lines[0][0]}: has two columns {twice[0]!r}; leave one")
    missing = [name for name in needed if name not in header]
    if missing:
        raise InputError(f"{path}: row {lines[0][0]}: has no column {missing[0]!r}, but {', '.join(header)}")
    rows = []
    for number, line in lines[1:]:
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
        if len(cells) != len(header):
            raise InputError(f"{path}: row {number}: has {len(cells)} cells, the header has {len(header)}")
        rows.append(Row(f"{path}: row {number}", dict(zip(header, cells, strict=True))))
    if not rows:
        raise InputError(f"{path}: has a header and no rows")
    return rows


def unit_of(column: str) -> str:
    """The unit in a column's name, in brackets or after its last blank or underscore: `rtt [ms]`, `rtt_ms`."""
    match = re.search(r"[\[(](.+)[\])]$", column.strip()) or re.search(r"[ _]([^ _]+)$", column.strip())
    unit = (match[1] if match else "").lower().replace("µ", "u")
    return SPELLINGS.get(unit, unit)


def column_with(row: Row, names: Sequence[str], units: dict[str, float]) -> tuple[str, float]:
    """The one column that begins with one of the names, and how many of our units one of its units is.

    InputError if there is none, if there are two, or if its unit is not known.
    """
    found = [column for column in row.cells if column.startswith(tuple(names))]
    where, wanted = row.where.rpartition(":")[0], f"such as {names[0]} [{next(iter(units))}]"
    if not found:
        raise InputError(f"{where}: has no column {wanted}, but {', '.join(row.cells)}")
    if len(found) > 1:
        raise InputError(f"{where}: has two such columns, {found[0]} and {found[1]}; leave one")
    unit = unit_of(found[0])
    if unit not in units:
        raise InputError(f"{where}: column {found[0]!r}: has no known unit; write one of {', '.join(units)}, {wanted}")
    return found[0], units[unit]
