"""Joules as grams of CO2e and dollars, by the site where they are drawn."""

from __future__ import annotations

import pytest

from instances.errors import InputError
from instances.files import plan_from_json
from instances.rates import Rates, check_metric, has_metric
from instances.referee.evaluate import evaluate
from solvers.core.interface import Status
from tests.editing import HAND_PLAN, hand_instance
from tests.solving import solved

SITES = {"west": {"carbon": 360, "price": 0.36}, "east": {"carbon": 720, "price": 0.036}}


def test_energy_is_counted_as_it_is() -> None:
    rates = Rates.of(hand_instance(), "energy")
    assert rates.active == (100, 200)
    assert rates.idle == (10, 20)
    assert rates.per_byte == ((0, 0.001), (0.002, 0))


def test_links_without_energy_are_free() -> None:
    instance = hand_instance()
    free = instance.network.model_copy(update={"energy_per_byte": None})
    assert Rates.of(instance.model_copy(update={"network": free}), "energy").per_byte == ((0, 0), (0, 0))


def test_carbon_and_cost_worked_by_hand() -> None:
    """The plan of test_evaluate: 255 J on a (west), 438 J on b (east), 12 J on the links between them.

    west has 360 g/kWh, that is 0.0001 g/J, east 0.0002 g/J, a link between them the mean, 0.00015 g/J:
    255 * 0.0001 + 438 * 0.0002 + 12 * 0.00015 = 0.0255 + 0.0876 + 0.0018 = 0.1149 g.
    west costs 0.36 USD/kWh, that is 1e-7 USD/J, east 1e-8 USD/J, the link 5.5e-8 USD/J:
    255e-7 + 43.8e-7 + 6.6e-7 = 305.4e-7 USD.
    """
    instance = hand_instance(sites=SITES)
    found = evaluate(instance, plan_from_json(HAND_PLAN, instance, "plan"))
    assert found.carbon_g == pytest.approx(0.1149, rel=1e-12)
    assert found.cost_usd == pytest.approx(305.4e-7, rel=1e-12)
    assert found.energy_as("carbon") == found.carbon_g
    assert found.energy_as("energy") == found.energy_j


@pytest.mark.parametrize("figure", ["carbon", "cost"])
def test_a_site_without_the_figure_is_refused_by_name(figure: str) -> None:
    key = {"carbon": "carbon", "cost": "price"}[figure]
    instance = hand_instance(sites={"west": SITES["west"], "east": {**SITES["east"], key: None}})
    assert not has_metric(instance, figure)
    with pytest.raises(InputError, match=rf"^two-gpus-two-layers: sites\.east\.{key}: missing; .* needs it$"):
        check_metric(instance, figure)
    # The other figure is not touched by it.
    assert has_metric(instance, {"carbon": "cost", "cost": "carbon"}[figure])


@pytest.mark.parametrize("figure", ["carbon", "cost"])
def test_0_is_a_figure_unless_it_is_0_everywhere(figure: str) -> None:
    key = {"carbon": "carbon", "cost": "price"}[figure]
    hydro = hand_instance(sites={"west": SITES["west"], "east": {**SITES["east"], key: 0}})
    check_metric(hydro, figure)
    plan = plan_from_json(HAND_PLAN, hydro, "plan")
    assert 0 < evaluate(hydro, plan).energy_as(figure) < evaluate(hand_instance(sites=SITES), plan).energy_as(figure)
    nothing = hand_instance(sites={name: {**site, key: 0} for name, site in SITES.items()})
    assert evaluate(nothing, plan).energy_as(figure) == 0
    with pytest.raises(
        InputError, match=f"^two-gpus-two-layers: sites: the objective {figure} would be 0 for every plan$"
    ):
        check_metric(nothing, figure)


@pytest.mark.parametrize("given", [1e-318, 1e-31])
def test_a_figure_that_would_underflow_is_refused(given: float) -> None:
    with pytest.raises(InputError, match=r"sites\.east\.carbon.*expected 0 or at least 1e-30"):
        hand_instance(sites={"west": SITES["west"], "east": {**SITES["east"], "carbon": given}})


def test_no_sites_at_all_are_refused_too() -> None:
    with pytest.raises(InputError, match=r"sites\.west\.carbon"):
        check_metric(hand_instance(), "carbon")


def test_the_cleanest_plan_is_not_the_cheapest_where_the_sites_differ_so() -> None:
    instance = hand_instance(sites={"west": {"carbon": 1, "price": 1000}, "east": {"carbon": 1000, "price": 1}})
    carbon, cost = (solved("brute", instance, name) for name in ("carbon", "cost"))
    assert carbon.status is cost.status is Status.OPTIMAL
    assert carbon.evaluation is not None
    assert cost.evaluation is not None
    assert carbon.value == carbon.evaluation.carbon_g
    assert cost.value == cost.evaluation.cost_usd
    assert cost.value < carbon.evaluation.cost_usd  # type: ignore[operator]
