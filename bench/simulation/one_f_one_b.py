"""What a plan costs under 1F1B (Narayanan et al. 2019, PipeDream-Flush): time, energy and memory, by recursion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.simulation.durations import Durations
from bench.simulation.simulate import SCHEDULES, Schedule, simulate
from bench.simulation.timeline import stage_memory
from instances.instance import Instance
from instances.plan import Plan


@dataclass(frozen=True)
class ScheduleCost:
    """An iteration under some schedule. `memory` is bytes of the GPUs of each stage at their fullest."""

    schedule: Schedule
    time_s: float
    energy_j: float
    memory: tuple[float, ...]
    in_flight: tuple[int, ...]  # micro-batches kept by each stage at most
    fits: bool  # whether every GPU has that memory


def all_schedules(instance: Instance, plan: Plan) -> tuple[ScheduleCost, ...]:
    """Fill-drain, as it is played out, and both orders of 1F1B, for a plan without `violations`, its memory apart."""
    line = simulate(instance, plan)
    fill_drain = ScheduleCost(
        "gpipe", line.time_s, line.energy_j, line.memory, line.in_flight, _fits(instance, plan, line.memory)
    )
    rest = (one_f_one_b(instance, plan, name, line.sync_s, line.network_energy_j) for name in SCHEDULES[1:])
    return fill_drain, *rest


def one_f_one_b(instance: Instance, plan: Plan, schedule: Schedule, sync_s: float, network_j: float) -> ScheduleCost:
    """The cost of a plan without `violations` (its memory apart), under `1f1b` or `1f1b-eager`.

    The gradient exchange, `sync_s`, and the energy of links, `network_j`, are those of fill-drain: neither depends on
    the schedule.
    """
    from bench.simulation.recursion import run_eager, run_strict

    run = run_strict if schedule == "1f1b" else run_eager
    work = Durations.of(instance, plan)
    shape = plan.replicas, plan.stages, 2
    compute, latency = work.compute.reshape(shape), work.latency.reshape(shape)
    with np.errstate(divide="ignore"):
        send = (work.message / work.bandwidth).reshape(shape)
    kept, ends = np.zeros(plan.stages, np.int64), []
    alike: dict[tuple[int, ...], float] = {}
    for number, row in enumerate(plan.groups):
        if row not in alike:
            alike[row] = run(compute[number], send[number], latency[number], work.count, kept)
        ends.append(alike[row])
    time = max(ends) + sync_s
    busy = work.count * compute.sum(axis=2)
    used = [[instance.groups[k] for k in row] for row in plan.groups]
    active, idle = np.array([[(group.power_active, group.power_idle) for group in row] for row in used]).T
    joules = (active.T * busy + idle.T * (time - busy)).sum()
    in_flight = tuple(int(most) for most in kept)
    memory = stage_memory(instance, plan, in_flight)
    fits = _fits(instance, plan, memory)
    return ScheduleCost(schedule, float(time), float(joules) + network_j, memory, in_flight, fits)


def _fits(instance: Instance, plan: Plan, memory: tuple[float, ...]) -> bool:
    """Whether every GPU has the memory of its stage, but for a thousandth of a byte of rounding."""
    return all(
        need <= instance.groups[k].memory + 1e-3 for row in plan.groups for need, k in zip(memory, row, strict=True)
    )
