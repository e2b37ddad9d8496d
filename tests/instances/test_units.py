"""Figures in another unit than the file's are pointed out, with the unit that was likely meant."""

from __future__ import annotations

from typing import Any

import pytest

from instances.units import unlikely_units
from tests.bench.shipped import instances_by_suite
from tests.editing import hand_instance
from tests.random_instances import random_instance

SLIPS: dict[str, tuple[dict[str, Any], str]] = {
    "GB": ({"groups__0__memory": 80}, "groups[0].memory: 80 bytes is unlikely; if GB are meant, write 8e+10"),
    "MiB": (
        {"groups__1__memory": 81_559},
        "groups[1].memory: 81559 bytes is unlikely; if MiB are meant, write 8.55208e+10",
    ),
    "TFLOP/s": (
        {"groups__0__flops": 312, "groups__1__flops": 989},
        "groups[0].flops (and 1 more): 312 FLOP/s is unlikely; if TFLOP/s are meant, write 3.12e+14",
    ),
    "ms": (
        {"network__latency": [[0, 40], [40, 0]]},
        "network.latency[0][1] (and 1 more): 40 s is unlikely; if ms are meant, write 0.04",
    ),
    "Gbit/s": (
        {"network__bandwidth": [[1e9, 10], [1e9, 1e9]]},
        "network.bandwidth[0][1]: 10 bytes/s is unlikely; if Gbit/s are meant, write 1.25e+09",
    ),
    "no link": (
        {"network__bandwidth": [[1e9, 1e-6], [1e9, 1e9]]},
        "network.bandwidth[0][1]: 1e-06 bytes/s is unlikely; if there is no link, write null",
    ),
    "kW": (
        {"groups__0__power_active": 0.4, "groups__0__power_idle": 0.1},
        "groups[0].power_active: 0.4 W is unlikely; if kW are meant, write 400",
    ),
    "kW of a site": (
        {"sites": {"west": {"power_cap": 20}}},
        "sites.west.power_cap: 20 W allows no GPU, the least draws 100 W; if kW are meant, write 20000",
    ),
    "kg": (
        {"sites": {"west": {"carbon": 0.4}}},
        "sites.west.carbon: 0.4 gCO2e/kWh is unlikely; if kgCO2e/kWh are meant, write 400",
    ),
    "MWh": (
        {"sites": {"west": {"price": 80}}},
        "sites.west.price: 80 USD/kWh is unlikely; if USD/MWh are meant, write 0.08",
    ),
}


@pytest.mark.parametrize(("changes", "words"), SLIPS.values(), ids=SLIPS)
def test_a_slip_of_unit_is_pointed_out_once(changes: dict[str, Any], words: str) -> None:
    assert unlikely_units(hand_instance(**changes)) == [words]


@pytest.mark.parametrize("suite", instances_by_suite())
def test_shipped_instances_are_fine(suite: str) -> None:
    assert [line for instance in instances_by_suite()[suite] for line in unlikely_units(instance)] == []


def test_toy_problems_and_zeros_are_fine() -> None:
    zeros = {"carbon": 0, "price": 0}
    assert unlikely_units(hand_instance(sites={"west": zeros}, network__latency=[[0, 0], [0, 0]])) == []
    assert [
        line for seed in range(50) for line in unlikely_units(random_instance(seed)) if "power_cap" not in line
    ] == []
