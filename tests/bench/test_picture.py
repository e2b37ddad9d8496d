"""`--picture`: drawn after the answer, refused in one line, never in its way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.test_cli import INSTANCE, PLAN, Call, call, crowded, file_with  # noqa: F401 - a fixture
from tests.editing import HAND_PLAN, edited

BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "PDF": b"%PDF"}


@pytest.mark.parametrize("suffix", BEGINNINGS)
def test_evaluate_draws_the_plan_in_the_format_of_the_suffix(call: Call, tmp_path: Path, suffix: str) -> None:  # noqa: F811
    picture = tmp_path / "new" / f"plan.{suffix}"
    answer = call("evaluate", INSTANCE, PLAN, "--picture", picture, "--json")
    assert (answer.code, answer.err, answer.json["time_s"]) == (0, "", pytest.approx(3.9))
    assert picture.read_bytes().startswith(BEGINNINGS[suffix])


@pytest.mark.parametrize("objective", ["time", "front"])
def test_solve_draws_the_plan_or_the_front_that_it_found(call: Call, tmp_path: Path, objective: str) -> None:  # noqa: F811
    picture = tmp_path / "found.png"
    answer = call("solve", INSTANCE, "--solver", "brute", "--objective", objective, "--picture", picture)
    assert (answer.code, answer.err) == (0, "")
    assert picture.read_bytes().startswith(BEGINNINGS["png"])


@pytest.mark.parametrize("command", [["evaluate", INSTANCE, PLAN], ["solve", INSTANCE, "--solver", "brute"]])
def test_an_unknown_suffix_is_refused_before_any_work(call: Call, tmp_path: Path, command: list[str]) -> None:  # noqa: F811
    picture = tmp_path / "plan.gif"
    answer = call(*command, "--picture", picture)
    assert (answer.code, answer.complaint) == (2, f"{picture}: a picture is a .png, .svg or .pdf file")


@pytest.mark.parametrize("command", [["evaluate", INSTANCE, PLAN], ["solve", INSTANCE, "--solver", "brute"]])
def test_a_file_that_cannot_be_written_is_refused_after_the_answer(
    call: Call,  # noqa: F811
    tmp_path: Path,
    command: list[str],
) -> None:
    (tmp_path / "taken").write_text("")
    answer = call(*command, "--picture", tmp_path / "taken" / "plan.png", "--json")
    assert (answer.code, json.loads(answer.out)["time_s"]) == (2, pytest.approx(3.9))
    (line,) = answer.err.splitlines()
    assert line.startswith(f"geotrain-bench: {tmp_path / 'taken' / 'plan.png'}: cannot be written: ")


def test_without_a_plan_there_is_no_picture_and_the_answer_stays_no(call: Call, tmp_path: Path) -> None:  # noqa: F811
    picture = tmp_path / "plan.png"
    bad = file_with(tmp_path, edited(HAND_PLAN, {"layers": [0, 2]}))
    for command in (["evaluate", INSTANCE, bad], ["solve", crowded(tmp_path), "--solver", "megatron"]):
        answer = call(*command, "--picture", picture)
        assert answer.code == 1
        assert "not drawn" in answer.err
        assert not picture.exists()
