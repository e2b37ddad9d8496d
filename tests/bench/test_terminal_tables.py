"""Tables on a terminal: whole words, the most wanted columns, Markdown in a pipe."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from bench.cli.tables import show_table
from bench.reporting.formatting import as_text

COLUMNS = {name: as_text(name) for name in ("instance", "solver", "gap to best known", "value")}
ROWS = [
    {"instance": "a-long-name-of-an-instance", "solver": "memetic", "gap to best known": "0 %", "value": "12.2768 s"},
    {"instance": "another", "solver": "contiguous", "gap to best known": "n/a", "value": "9470.56 J"},
]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Says that standard output is a terminal of the given width."""

    def of_width(width: int) -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(width))

    return of_width


def shown(capsys: pytest.CaptureFixture[str], **options: Any) -> str:
    show_table(COLUMNS, ROWS, ("instance", "solver"), **options)
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_no_word_is_broken_and_no_line_is_too_long(
    width: int, terminal: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal(width)
    said = shown(capsys)
    assert max(map(len, said.splitlines())) <= width
    table = said.partition("Left out")[0]
    words = {
        word
        for row in [dict(zip(COLUMNS, COLUMNS, strict=True)), *ROWS]
        for text in row.values()
        for word in text.split()
    }
    assert set(table.split()) <= words


def test_the_most_wanted_columns_stay_and_the_others_are_named(
    terminal: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal(44)
    said = shown(capsys, wanted=("instance", "value"))
    assert "12.2768 s" in said
    assert "contiguous" not in said
    assert "Left out for want of width: solver, gap to best known" in " ".join(said.split())


def test_wide_shows_all(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    terminal(30)
    said = shown(capsys, wide=True)
    assert "Left out" not in said
    assert all(text in said for row in ROWS for text in row.values())


def test_a_pipe_gets_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys).startswith("| instance ")
