"""Tables on a terminal, fitted to its width; Markdown where nobody but a file or a pipe reads."""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.reporting.formatting import Cell, table

GAP = 2
"""Spaces between columns."""


class Answers(Console):
    """Standard output, with names and units as they are: "[s]" is seconds and no markup."""

    def __init__(self, width: int | None = None) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, width=width)

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which knows that a reader who has seen enough is no failure."""
        raise BrokenPipeError


def show_table(
    columns: Mapping[str, Cell],
    rows: Sequence[Any],
    left: Container[str],
    *,
    wanted: Sequence[str] = (),
    wide: bool = False,
    title: str | None = None,
) -> None:
    """Print a table.

    On a terminal that is too narrow for all columns those that are least `wanted` (named first, or else in their order,
    is most wanted) are left out, which a line below says; `wide` shows all, however long the lines.
    """
    if not sys.stdout.isatty():
        print(table(columns, rows, left))  # noqa: T201
        return
    cells = {name: [cell(row) for row in rows] for name, cell in columns.items()}
    least = {name: max(map(len, [*texts, *name.split()])) for name, texts in cells.items()}
    console = Answers()
    shown = list(columns) if wide else _fitting(least, [*wanted, *columns], console.width)
    widths = _spread({name: least[name] for name in shown}, console.width)
    if wide:
        console = Answers(max(console.width, sum(widths.values()) + GAP * len(widths)))
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for name, width in widths.items():
        made.add_column(name, justify="left" if name in left else "right", width=min(width, console.width))
    for row in zip(*(cells[name] for name in shown), strict=True):
        made.add_row(*row)
    console.print(made)
    hidden = [name for name in columns if name not in shown]
    if hidden:
        console.print(f"Left out for want of width: {', '.join(hidden)} (--wide shows all).", style="dim")


def _spread(widths: Mapping[str, int], across: int) -> dict[str, int]:
    """Wide enough for the whole heading where there is room for it, from the left."""
    spare = across - sum(widths.values()) - GAP * (len(widths) - 1)
    spread = {}
    for name, width in widths.items():
        more = max(0, len(name) - width)
        more = more if more <= spare else 0
        spread[name] = width + more
        spare -= more
    return spread


def _fitting(widths: Mapping[str, int], wanted: Sequence[str], width: int) -> list[str]:
    """The most wanted columns that fit side by side, in their own order; at least one."""
    taken: set[str] = set()
    used = 0
    for name in dict.fromkeys(wanted):
        if taken and used + widths[name] > width:
            break
        taken.add(name)
        used += widths[name] + GAP
    return [name for name in widths if name in taken]
