"""The simulator against the referee's closed forms, and what it says where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.simulation import durations, timeline
from bench.simulation.draws import drawn_times, share_in_order
from bench.simulation.durations import BACKWARD, FORWARD, Durations
from bench.simulation.jitter import Jitter
from bench.simulation.one_f_one_b import all_schedules, one_f_one_b
from bench.simulation.simulate import SCHEDULES, Rules, Schedule, simulate
from bench.simulation.timeline import TimeLine
from instances.generator.family import generate
from instances.instance import Instance
from instances.plan import Plan
from instances.referee import evaluate as referee
from instances.referee.violations import slot_bytes, violations
from tests.editing import hand_instance
from tests.random_instances import random_instance
from tests.random_plans import drawn, random_plan, with_ample_memory

CLOSE = 1e-9
HUNDREDS = [*range(4), *(pytest.param(block, marks=pytest.mark.wide) for block in range(4, 52))]
"""Blocks of a hundred random plans: 5,200 in all."""
WORLD = {"scenario": "worldwide", "gpu-mix": "mixed"}


def plans(block: int) -> Iterator[tuple[Instance, Plan]]:
    """A hundred random plans; every tenth has two to three times as many GPUs as the others."""
    for seed in range(100 * block, 100 * block + 100):
        if seed % 10:
            yield drawn(seed)
        else:
            instance = with_ample_memory(random_instance(seed, gpus=9 + seed // 10 % 8))
            yield instance, random_plan(instance, seed)


def disagreements(instance: Instance, plan: Plan) -> dict[str, tuple[float, float]]:
    """What the simulator and the referee say differently of a plan, beyond 1e-9."""
    line, cost = simulate(instance, plan), referee.evaluate_feasible(instance, plan)
    pairs = {
        "pipelines": zip(line.pipeline_ends, (pipeline.seconds for pipeline in cost.pipelines), strict=True),
        "exchange": zip(line.exchange_ends - line.pipeline_s, cost.exchange_s, strict=True),
        "time": [(line.time_s, cost.time_s)],
        "energy": [(line.energy_j, cost.energy_j)],
        "network energy": [(line.network_energy_j, cost.network_energy_j)],
        "busy": zip(line.busy, (gpu.busy_s for gpu in cost.gpus), strict=True),
        "memory": zip(line.memory, slot_bytes(instance, plan), strict=True),
    }
    # An exchange is a difference of two times on the line, each rounded.
    slack = {"exchange": 1e-15 * line.time_s}
    return {
        what: (ours, theirs)
        for what, both in pairs.items()
        for ours, theirs in both
        if abs(ours - theirs) > CLOSE * abs(theirs) + slack.get(what, 0.0)
    }


@pytest.mark.parametrize("block", HUNDREDS)
def test_the_simulator_agrees_with_the_closed_forms(block: int) -> None:
    found = {plan: wrong for instance, plan in plans(block) if (wrong := disagreements(instance, plan))}
    assert found == {}


@pytest.mark.parametrize("options", [WORLD, {"scenario": "us-regions"}])
def test_it_agrees_on_pools_of_64_gpus(options: dict[str, str]) -> None:
    instance = generate("dtfm", 64, 0, options)
    for seed in range(5):
        assert disagreements(instance, random_plan(instance, seed)) == {}


# A fault on either side.

PLANTED: dict[str, Callable[[Any], Any]] = {
    "referee.stage_seconds": lambda kept: lambda *given, **named: (kept(*given, **named)[0] * (1 + 1e-8), 1.0),
    "referee._exchange": lambda kept: lambda *given: kept(*given) * (1 + 1e-7),
    "referee.slot_bytes": lambda kept: lambda *given: tuple(size + 1 for size in kept(*given)),
    "referee._energies": lambda kept: lambda *given: ([joules * 1.00001 for joules in kept(*given)[0]], 0.0),
    "durations.stage_compute": lambda kept: lambda *given: tuple(s * (1 + 1e-8) for s in kept(*given)),
    "durations._links": lambda kept: lambda *given: {**kept(*given), "latency": kept(*given)["latency"] * 1.001},
    "timeline.stage_memory": lambda kept: lambda *given: tuple(size * 1.00001 for size in kept(*given)),
}
HOME = {"referee": referee, "durations": durations, "timeline": timeline}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name = fault.split(".")
    if name == "slot_bytes":
        # The comparison reads the referee's memory from its own module.
        monkeypatch.setitem(globals(), name, PLANTED[fault](slot_bytes))
    else:
        monkeypatch.setattr(HOME[module], name, PLANTED[fault](getattr(HOME[module], name)))
    assert any(disagreements(*drawn(seed)) for seed in range(20))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda line: replace(line, compute=line.compute * (1 + 1e-8)),
        lambda line: replace(line, exchange=line.exchange[:, :, :, :1]),
        lambda line: replace(line, send=np.full_like(line.send, np.nan)),
    ],
    ids=["time runs fast", "one round of the exchange only", "messages that nobody counts"],
)
def test_a_fault_of_the_time_line_is_found(
    wrong: Callable[[TimeLine], TimeLine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "simulate", lambda *given: wrong(simulate_rightly(*given)))
    assert any(disagreements(*drawn(seed)) for seed in range(20))


simulate_rightly = simulate


# The rules, read off time lines.


def arrivals(line: TimeLine, slot: int, direction: int) -> np.ndarray:
    """When the micro-batches of a slot can be computed, or zeros if they are there from the beginning."""
    stage = slot % line.plan.stages
    if direction == FORWARD and stage == 0:
        return np.zeros(line.durations.count)
    if direction == BACKWARD and stage == line.plan.stages - 1:
        return line.compute[slot, FORWARD, :, 1]
    sender = slot - 1 if direction == FORWARD else slot + 1
    return line.send[sender, direction, :, 1] + line.durations.latency[sender, direction]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("uplink", [None, 0.5])
def test_no_time_line_breaks_a_rule(schedule: Schedule, blocking: bool, uplink: float | None) -> None:
    for seed in range(40):
        line = simulate(*drawn(seed), Rules(schedule, blocking, uplink))
        work, stages = line.durations, line.plan.stages
        assert np.isfinite(line.compute).all()
        assert (line.busy <= line.time_s).all()  # and no GPU does two things at once
        for slot in range(len(line.compute)):
            room = work.count if schedule == "gpipe" else min(work.count, stages - slot % stages)
            assert line.in_flight[slot % stages] <= room
            for direction in (FORWARD, BACKWARD):
                begin, end = line.compute[slot, direction].T
                assert (begin >= arrivals(line, slot, direction)).all()
                assert np.allclose(end - begin, work.compute[slot, direction], rtol=1e-9, atol=1e-12)
                if work.bandwidth[slot, direction]:
                    leaves, left = line.send[slot, direction].T
                    assert (leaves >= end).all()
                    assert (leaves[1:] >= left[:-1]).all()
                    shortest = work.message / work.bandwidth[slot, direction]
                    assert (left - leaves >= shortest * (1 - 1e-9) - 1e-12).all()
                    if blocking:
                        assert (leaves == end).all()


def test_blocking_sends_have_a_closed_form_too() -> None:
    """A GPU and its outgoing link are then one machine of the flow shop."""
    for seed in range(100):
        instance, plan = drawn(seed)
        line = simulate(instance, plan, Rules(blocking=True))
        work, shape = line.durations, (plan.replicas, plan.stages, 2)
        with np.errstate(divide="ignore"):
            send = np.where(work.bandwidth > 0, work.message / work.bandwidth, 0.0)
        machines = (work.compute + send).reshape(shape)
        expected = machines.sum(axis=(1, 2)) + work.latency.reshape(shape).sum(axis=(1, 2))
        expected += (work.count - 1) * machines.max(axis=1).sum(axis=1)
        assert line.pipeline_ends == pytest.approx(expected, rel=CLOSE)


@pytest.mark.parametrize("block", HUNDREDS)
def test_the_recursion_of_1f1b_agrees_with_the_event_heap(block: int) -> None:
    for instance, plan in plans(block):
        for schedule in SCHEDULES[1:]:
            line = simulate(instance, plan, Rules(schedule))
            cost = one_f_one_b(instance, plan, schedule, line.sync_s, line.network_energy_j)
            assert (cost.time_s, cost.energy_j) == pytest.approx((line.time_s, line.energy_j), rel=CLOSE)
            assert (cost.in_flight, cost.memory) == (line.in_flight, line.memory)


def test_1f1b_of_equal_stages_takes_as_long_as_fill_drain() -> None:
    """Without the time of messages and heads, both leave the same bubble: (M + S - 1)(x + y)."""
    given = hand_instance(
        groups__0__count=4,
        model__layers=8,
        model__vocab=1,
        network__latency=[[0.0] * 2] * 2,
        network__bandwidth=[[1e30] * 2] * 2,
    )
    instance, plan = with_ample_memory(given), Plan.from_groups(1, (2, 2, 2, 2), [(0, 0, 0, 0)])
    fill_drain, strict, eager = all_schedules(instance, plan)
    assert strict.time_s == pytest.approx(fill_drain.time_s, rel=1e-3)
    assert eager.time_s == pytest.approx(fill_drain.time_s, rel=1e-3)
    assert strict.in_flight == eager.in_flight == (4, 3, 2, 1)
    assert max(strict.memory) < max(fill_drain.memory)


def test_a_plan_that_fits_under_1f1b_only_is_said_to() -> None:
    found = set()
    for seed in range(200):
        instance = random_instance(seed)
        plan = random_plan(instance, seed)
        if not violations(instance, plan, memory=False):
            costs = all_schedules(instance, plan)
            assert costs[0].fits == (not violations(instance, plan))
            found.add(tuple(cost.fits for cost in costs))
    assert (False, True, True) in found
    assert (True, True, True) in found


# Shared uplinks and jitter.


def pairs_of_sites() -> tuple[Instance, Plan]:
    """Two pipelines of two stages from one site to another, over equal links."""
    instance = generate("dtfm", 4, 0, {"scenario": "us-regions"})
    instance = with_ample_memory(instance)
    network = instance.network.model_copy(update={"latency": ((0.0,) * 4,) * 4, "bandwidth": ((1e6,) * 4,) * 4})
    names = ("here", "here", "there", "there")
    groups = tuple(
        instance.groups[0].model_copy(update={"name": f"g{k}", "region": region, "count": 1})
        for k, region in enumerate(names)
    )
    instance = instance.model_copy(update={"network": network, "groups": groups, "sites": None})
    layers = instance.model.layers
    return instance, Plan.from_groups(1, (layers // 2, layers - layers // 2), [(0, 2), (1, 3)])


def test_two_pipelines_share_the_uplink_of_their_site() -> None:
    """Links of 1 MB/s and an uplink of 1 MB/s: every message takes twice as long; with 2 MB/s nothing changes."""
    instance, plan = pairs_of_sites()
    alone, ample, shared = (simulate(instance, plan, Rules(uplink=factor)) for factor in (None, 2.0, 1.0))
    assert ample.time_s == pytest.approx(alone.time_s, rel=CLOSE)
    assert ample.send[np.isfinite(ample.send)] == pytest.approx(alone.send[np.isfinite(alone.send)], rel=CLOSE)
    forward = np.diff(shared.send[[0, 2], FORWARD], axis=2)
    assert forward == pytest.approx(2 * alone.durations.message / 1e6, rel=CLOSE)
    # The exchange is between GPUs of one site, here.
    assert shared.sync_s == pytest.approx(alone.sync_s, rel=1e-6)


def test_more_uplink_is_never_slower_and_none_shared_is_fastest() -> None:
    for seed in range(60):
        instance, plan = drawn(seed)
        times = [simulate(instance, plan, Rules(uplink=factor)).time_s for factor in (0.25, 1.0, 1e6, None)]
        assert times[0] >= times[1] * (1 - CLOSE)
        assert times[1] >= times[2] * (1 - CLOSE)
        assert times[2] == pytest.approx(times[3], rel=CLOSE)


def test_jitter_is_seeded_and_the_same_for_all_plans_of_an_instance() -> None:
    instance, plan = drawn(3)
    jitter = Jitter(0.1, 0.3, 0.3)
    first = drawn_times(instance, [plan, plan], Rules(), jitter, 5, seed=1)
    assert (first[0] == first[1]).all()
    assert len(set(first[0])) == 5
    assert (first == drawn_times(instance, [plan, plan], Rules(), jitter, 5, seed=1)).all()
    assert (first != drawn_times(instance, [plan, plan], Rules(), jitter, 5, seed=2)).all()
    still = drawn_times(instance, [plan], Rules(), Jitter(), 2, seed=1)
    assert still == pytest.approx(simulate(instance, plan).time_s, rel=CLOSE)


def test_jitter_of_each_kind_changes_what_it_says() -> None:
    instance, plan = drawn(3)
    exact = Durations.of(instance, plan)
    for jitter, changed in (
        (Jitter(compute=0.2), {"compute"}),
        (Jitter(bandwidth=0.2), {"bandwidth", "peer_bandwidth", "uplink"}),
        (Jitter(latency=0.2), {"latency", "peer_latency"}),
    ):
        drawn_ones = Durations.of(instance, plan, jitter.speeds(instance, 0, 0))
        differ = {key for key, value in vars(exact).items() if not np.array_equal(value, getattr(drawn_ones, key))}
        assert differ <= changed
        assert min(changed - {"uplink"}) in differ


def test_the_share_of_pairs_in_order() -> None:
    before = np.array([1.0, 2.0, 3.0, 3.0])
    assert share_in_order(before, before) == 1
    assert share_in_order(before, np.array([2.0, 1.0, 3.0, 4.0])) == pytest.approx(4 / 5)  # the equal pair is left out
    assert np.isnan(share_in_order(np.ones(3), before[:3]))
