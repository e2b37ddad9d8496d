"""The tables in README.md and in the notes on `memetic` are what the kept results give."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.studies.hardness import SUITES, hardness_csv, suites_table
from instances.errors import InputError
from scripts.write_readme import BLOCK, PAGES, SOURCES, rewritten


def cells(table: str) -> list[dict[str, str]]:
    """A pipe table's rows by column."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]


def test_the_blocks_are_what_the_data_give() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert {match["name"] for text in texts for match in BLOCK.finditer(text)} == set(SOURCES)
    for text in texts:
        assert rewritten(text) == text, "run `make readme`"


def test_a_block_is_filled_and_the_rest_is_kept(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    text = "before\n<!-- table: a -->\nold\n<!-- end -->\nafter\n"
    sources = {"a": (tmp_path / "data", lambda path: f"table of {path.read_text()}")}
    expected = text.replace("old", "table of x")
    assert rewritten(text, sources) == expected
    assert rewritten(expected, sources) == expected


def test_a_block_without_data_is_refused(tmp_path: Path) -> None:
    sources = {"b": (tmp_path / "missing", lambda path: path.read_text())}
    with pytest.raises(InputError, match="table b: its data"):
        rewritten("<!-- table: b -->\n<!-- end -->", sources)


def test_a_block_that_nobody_makes_is_refused() -> None:
    with pytest.raises(InputError, match="table other"):
        rewritten("<!-- table: other -->\n<!-- end -->")


def test_the_suites_table_counts_and_takes_medians(tmp_path: Path) -> None:
    header = hardness_csv([]).strip()
    names = header.split(",")
    row = dict.fromkeys(names, "1") | {"suite": "mine", "known": "optimum", "objective": "time"}
    first = row | {"instance": "cloud-3gpus-seed0", "gpus": "3", "left_out": "0.25", "pipelines": "2"}
    second = row | {"instance": "cloud-6gpus-seed0", "gpus": "6", "left_out": "0.75", "known": "", "megatron_gap": ""}
    content = [header, *(",".join(each[name] for name in names) for each in (first, second))]
    (tmp_path / "hardness.csv").write_text("\n".join(content) + "\n")
    (found,) = cells(suites_table(tmp_path / "hardness.csv"))
    assert list(found) == list(SUITES)
    expected = {
        "suite": "mine",
        "family": "cloud",
        "problems": "2",
        "GPUs": "3-6",
        "proven": "1",
        "1/4 left out": "2",
        "pipelines > 1": "1",
        "left out": "50.00 %",
        "megatron gap": "100.00 %",
    }
    assert {name: found[name] for name in expected} == expected
