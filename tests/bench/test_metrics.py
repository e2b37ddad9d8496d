"""Gaps, savings and how numbers are printed."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.reporting.formatting import markdown, percent, significant
from bench.reporting.metrics import optimality_gap, saving
from solvers.core.gap import certified_gap


def test_from_120_to_100_is_a_saving_of_a_sixth() -> None:
    assert saving(120, 100) == pytest.approx(1 / 6)
    assert percent(saving(120, 100), signed=True) == "+16.67 %"


def test_a_plan_that_is_worse_has_a_negative_saving() -> None:
    assert saving(100, 120) == pytest.approx(-0.2)
    assert percent(saving(100, 120), signed=True) == "-20.00 %"
    assert percent(saving(100, 350), signed=True) == "-250.00 %"


@pytest.mark.parametrize("pair", [(None, 1.0), (1.0, None), (None, None)])
def test_what_is_missing_gives_no_figure(pair: tuple[float | None, float | None]) -> None:
    assert saving(*pair) is None
    assert optimality_gap(*pair) is None
    assert percent(None) == significant(None) == percent(float("nan")) == significant(float("nan")) == "n/a"


def test_the_denominators_are_those_of_the_specification() -> None:
    """Value 125, bound 100: certified (125 - 100) / 125; optimum 100: (125 - 100) / 100."""
    assert certified_gap(125, 100) == pytest.approx(0.2)
    assert optimality_gap(125, 100) == pytest.approx(0.25)
    assert certified_gap(100, 100) == optimality_gap(100, 100) == 0


def test_an_optimum_of_zero_is_met_by_zero_alone() -> None:
    values = pd.Series([0.0, 0.0, 2.0, float("nan")])
    optima = pd.Series([0.0, float("nan"), 0.0, 0.0])
    assert certified_gap(0.0, 0.0) == optimality_gap(0.0, 0.0) == 0
    gaps = optimality_gap(values, optima)
    assert gaps is not None
    assert gaps.iloc[[0, 2]].tolist() == [0, float("inf")]
    assert gaps.iloc[[1, 3]].isna().all()


@given(st.floats(-1e6, 1e6).filter(lambda value: value != 0), st.booleans())
def test_what_is_not_zero_is_never_printed_as_zero(value: float, signed: bool) -> None:
    text = percent(value, signed)
    assert float(re.sub(r"[<> %]", "", text)) != 0
    assert ("-" in text) == (value < 0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(
            (0, "0 %"),
            (0.0004, "0.04 %"),
            (1e-9, "<0.01 %"),
            (-1e-9, ">-0.01 %"),
            (0.12345, "12.35 %"),
            (1, "100.00 %"),
        ),
        *((-0.0004, "-0.04 %"), (0.00005, "0.01 %")),
    ],
)
def test_percentages(value: float, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0, "0"), (1, "1.000"), (3.14159, "3.142"), (12.3456, "12.35"), (1234.5, "1,234"), (12345.6, "12,350")),
        *((1e7, "1.000e+07"), (1e-5, "1.000e-05"), (0.00012345, "0.0001234"), (-2.5, "-2.500"), (9999.7, "10,000")),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert significant(value) == text


@given(st.floats(1e-20, 1e20))
def test_a_number_keeps_its_size_to_four_digits(value: float) -> None:
    assert float(significant(value).replace(",", "")) == pytest.approx(value, rel=6e-4)


def test_a_table_keeps_its_columns_whatever_the_cells_hold() -> None:
    text = markdown(("a", "b"), [("x|y", "1"), ("two\nlines", "22")], (False, True))
    lines = text.splitlines()
    assert len(lines) == 4
    assert lines[1].endswith(":|")
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in lines)
    assert markdown(("a",), [], (False,)).splitlines()[0] == "| a |"
