"""What is minimised, how it is written, and which caps a plan breaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instances.errors import InputError
from instances.files import plan_from_json
from instances.objective import CAP_SLACK, LEAST_WEIGHT, Goal, Objective, Reference, parse_objective
from instances.referee.evaluate import evaluate
from tests.editing import HAND_PLAN, hand_instance

NUMBERS = st.floats(1e-30, 1e30)


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        ("time", Objective("time")),
        ("energy", Objective("energy")),
        ("carbon", Objective("carbon")),
        ("cost", Objective("cost")),
        ("front", Objective("front")),
        ("weighted:0", Objective("weighted", 0.0)),
        ("weighted:.5", Objective("weighted", 0.5)),
        ("weighted:1", Objective("weighted", 1.0)),
        ("energy@12", Objective("energy@", 12.0)),
        ("energy@1.5e-3", Objective("energy@", 0.0015)),
        ("energy@0.8x", Objective("energy@", 0.8, relative=True)),
        ("time@7E5", Objective("time@", 7e5)),
        ("time@2x", Objective("time@", 2.0, relative=True)),
    ],
)
def test_every_form_is_read(text: str, objective: Objective) -> None:
    assert parse_objective(text) == objective


@pytest.mark.parametrize(
    "text",
    [
        *("", "Time", " time", "time ", "speed", "weighted", "weighted:", "weighted:a", "weighted:-0.1"),
        *("weighted:1.01", "weighted:nan", "weighted:0.5x", "weighted:1e999", "energy@", "energy@x", "energy@0"),
        *("energy@-1", "energy@inf", "energy@nan", "energy@1e999", "energy@0x", "time@1xx", "carbon@5", "time@1_0"),
        *("time@٣", "weighted: 0.5", "front@1"),
    ],
)
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match=r"^objective ") as caught:
        parse_objective(text)
    assert repr(text) in str(caught.value)


@given(kind=st.sampled_from(["energy@", "time@"]), number=NUMBERS, relative=st.booleans())
def test_a_cap_reads_back_from_its_text(kind: str, number: float, relative: bool) -> None:
    objective = Objective(kind, number, relative)
    assert parse_objective(str(objective)) == objective


@given(weight=st.just(0.0) | st.floats(LEAST_WEIGHT, 1))
def test_a_weight_reads_back_from_its_text(weight: float) -> None:
    assert parse_objective(str(Objective("weighted", weight))) == Objective("weighted", weight)


def test_goals_of_all_forms() -> None:
    """With a reference of 4 s and 700 J."""
    reference = Reference(4.0, 700.0)
    goals = {
        "time": Goal(time_weight=1),
        "energy": Goal(energy_weight=1),
        "carbon": Goal("carbon", energy_weight=1),
        "cost": Goal("cost", energy_weight=1),
        "front": Goal(front=True),
        "weighted:0.25": Goal(time_weight=0.25 / 4, energy_weight=0.75 / 700),
        "energy@5": Goal(energy_weight=1, time_cap=5),
        "energy@0.5x": Goal(energy_weight=1, time_cap=2),
        "time@600": Goal(time_weight=1, energy_cap=600),
        "time@0.5x": Goal(time_weight=1, energy_cap=350),
    }
    for text, goal in goals.items():
        assert parse_objective(text).goal(reference) == goal


@pytest.mark.parametrize("text", ["weighted:0.5", "weighted:1", "energy@0.8x", "time@0.8x"])
def test_what_needs_a_reference_says_so(text: str) -> None:
    assert parse_objective(text).needs_reference
    with pytest.raises(InputError, match="--reference T E"):
        parse_objective(text).goal()


@pytest.mark.parametrize("text", ["time", "energy", "carbon", "cost", "front", "energy@5", "time@5"])
def test_what_needs_no_reference_takes_none(text: str) -> None:
    assert not parse_objective(text).needs_reference
    assert parse_objective(text).goal() == parse_objective(text).goal(Reference(1, 1))


def test_values_of_the_plan_worked_by_hand() -> None:
    """3.9 s and 705 J: weighted by 0.25 against 4 s and 700 J that is 0.25*3.9/4 + 0.75*705/700."""
    instance = hand_instance()
    found = evaluate(instance, plan_from_json(HAND_PLAN, instance, "plan"))
    assert parse_objective("time").goal().value(found) == pytest.approx(3.9)
    assert parse_objective("energy").goal().value(found) == pytest.approx(705)
    weighted = parse_objective("weighted:0.25").goal(Reference(4, 700))
    assert weighted.value(found) == pytest.approx(0.25 * 3.9 / 4 + 0.75 * 705 / 700)


def test_a_cap_holds_up_to_rounding_and_is_reported_as_a_sentence() -> None:
    instance = hand_instance()
    found = evaluate(instance, plan_from_json(HAND_PLAN, instance, "plan"))
    for cap, broken in ((1.0, False), (1 - CAP_SLACK / 2, False), (1 - 2 * CAP_SLACK, True), (0.5, True)):
        time = parse_objective("energy@1").goal()
        assert bool(Goal(energy_weight=1, time_cap=found.time_s * cap).cap_violations(found)) is broken
        assert bool(Goal(time_weight=1, energy_cap=found.energy_j * cap).cap_violations(found)) is broken
    assert time.cap_violations(found) == [f"the plan takes {found.time_s!r} s, the cap is 1.0 s"]
    joules = parse_objective("time@1").goal().cap_violations(found)
    assert joules == [f"the plan takes {found.energy_j!r} J, the cap is 1.0 J"]


def test_a_weight_that_would_underflow_is_refused() -> None:
    with pytest.raises(InputError, match=r"'weighted:1e-156': a weight above 0 is at least 1e-30"):
        parse_objective("weighted:1e-156")
