"""Tables as LaTeX with booktabs, to be input into a paper."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import pandas as pd

from bench.reporting.formatting import Cell

ROWS = 40
"""Of a table on a page."""


def latex(columns: Mapping[str, Cell], rows: Sequence[Mapping[Any, Any]], left: Container[str]) -> str:
    """A `tabular` of these columns; a `longtable` if it would not fit on a page. Needs booktabs (and longtable)."""
    cells = pd.DataFrame([[cell(row) for cell in columns.values()] for row in rows], columns=list(columns))
    return cells.to_latex(
        index=False,
        escape=True,
        column_format="".join("l" if name in left else "r" for name in columns),
        longtable=len(rows) > ROWS,
    )
