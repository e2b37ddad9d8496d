"""Numbers and tables as text. Rounding happens here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import isinf, isnan
from typing import Any

NOTHING = "n/a"


def significant(value: float | None, digits: int = 4) -> str:
    """A number to so many significant digits, without an exponent where it is readable."""
    if value is None or isnan(value):
        return NOTHING
    if isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits - 1}e}"
    text = f"{value:#.{digits}g}"
    return f"{float(text):,.0f}" if "e" in text or text.endswith(".") else f"{text}"


def percent(value: float | None, signed: bool = False) -> str:
    """A share in per cent; what is not zero is never printed as zero."""
    if value is None or isnan(value) or isinf(value):
        return significant(value)
    if value == 0:
        return "0 %"
    hundredth = 0.0001
    if abs(value) < hundredth / 2:
        return f"{'>-' if value < 0 else '<'}0.01 %"
    return f"{100 * value:{'+' if signed else ''}.2f} %"


def about(value: float | None, signed: bool = False) -> str:
    """A share in per cent for a reader in a hurry: whole per cents, a digit more below ten; never 0 for what is not."""
    if value is None or isnan(value) or isinf(value) or abs(value) < 0.0095:
        return percent(value, signed)
    digits = 1 if abs(value) < 0.0995 else 0
    return f"{100 * value:{'+' if signed else ''},.{digits}f} %"


Cell = Callable[[Any], str]
"""Makes the text of a cell from a row: a mapping or a row of a frame."""


def as_text(key: str) -> Cell:
    """A cell that says what the row holds."""
    return lambda row: str(row[key])


def as_number(key: str, digits: int = 4, unit: float = 1.0) -> Cell:
    """A cell with a number to so many significant digits, in multiples of `unit`."""
    return lambda row: significant(row[key] if row[key] is None else row[key] / unit, digits)


def as_percent(key: str, signed: bool = False) -> Cell:
    """A cell with a share in per cent."""
    return lambda row: percent(row[key], signed)


def as_about(key: str) -> Cell:
    """A cell with a share in per cent, rounded for a summary."""
    return lambda row: about(row[key])


def of_all(part: str, whole: str) -> Cell:
    """A cell with a count of all there are, failures included."""
    return lambda row: f"{row[part]}/{row[whole]}" if row[whole] else NOTHING


def table(columns: Mapping[str, Cell], rows: Iterable[Any], left: Container[str] = ()) -> str:
    """A pipe table of these columns, by name; those in `left` are aligned to the left."""
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    return markdown(list(columns), cells, [name not in left for name in columns])


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A pipe table; `right` says which columns are aligned to the right."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "| "
        + " | ".join(f"{cell:>{w}}" if r else f"{cell:<{w}}" for cell, w, r in zip(row, widths, right, strict=True))
        + " |"
        for row in cells
    ]
    rule = "|" + "|".join("-" * (w + 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def seconds(value: float) -> str:
    """A duration, in the unit that suits it."""
    if isnan(value) or value == 0 or value >= 1:
        return NOTHING if isnan(value) else f"{significant(value, 3)} s"
    return f"{significant(1e3 * value, 3)} ms" if value >= 1e-3 else f"{significant(1e6 * value, 3)} µs"


def joules(value: float) -> str:
    """An energy, in the unit that suits it."""
    for size, unit in ((1e6, "MJ"), (1e3, "kJ")):
        if value >= size:
            return f"{significant(value / size, 4)} {unit}"
    return f"{significant(value, 4)} J"


def rate(bytes_per_s: float) -> str:
    """A bandwidth, in the unit that suits it."""
    for size, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if bytes_per_s >= size:
            return f"{significant(bytes_per_s / size, 3)} {unit}"
    return f"{significant(bytes_per_s, 3)} B/s"


def share_of(part: float, whole: float) -> str:
    """A share in whole per cent; what is not zero is not written as zero."""
    return "<1 %" if 0 < part < whole / 200 else f"{100 * part / whole:.0f} %"
