"""DT-FM's runs on 64 V100s in its five networks, scheduled and not.

Source: results/NeurIPS2022_submission.md of DS3Lab/Decentralized_FM_alpha. The log does not name placements: scheduled
runs are predicted with the plan that our `dtfm` finds on their grid of eight pipelines of eight stages, once for each
network, and unscheduled ones with the mean over 20 seeded random placements. Speed and payload are those of the sweeps
over uniform networks, so no row here is used for calibration.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

import numpy as np

from bench.simulation.simulate import Rules, simulate
from bench.studies.fidelity.clusters import AMPLE
from bench.studies.fidelity.dtfm_uniform import STAGES, calibration, model_of, training_of
from bench.studies.fidelity.rows import Measured, table
from instances.generator.family import generate
from instances.instance import Instance
from instances.plan import Gpu, Plan
from instances.referee.evaluate import evaluate_feasible
from instances.seeds import seed_for
from instances.tables import Tables

SOURCE = "DT-FM, five networks"
GPUS, REPLICAS = 64, 8
RANDOM_PLACEMENTS, SAMPLED = 20, 5
"""Of unscheduled runs; the second prediction is the mean over the first few of them."""
PLANNED = (24, 1024)
"""Layers and batch for which `dtfm` plans; its plan serves the other sizes, too."""
CARD_GBIT = {"datacenter": 25, "spot": 10}
"""Of the networks that were not emulated: the network card of a machine, which its GPUs share."""
SINGLES = "singles"
"""What the family calls machines of one GPU."""


def instance_of(scenario: str, layers: int, batch: int, flops: float, payload: float) -> Instance:
    """Their 64 V100s in one of their networks as their scheduler saw it, with the sizes of a row."""
    made = generate("dtfm", GPUS, 0, {"scenario": scenario, "model": "gpt3-1.3b"})
    plain = {"flops": flops, "half_batch": None, "memory": AMPLE}
    bandwidth = tuple(tuple(rate * payload for rate in row) for row in made.links.bandwidth)
    return made.model_copy(
        update={
            "model": model_of(layers),
            "training": training_of(batch),
            "groups": tuple(group.model_copy(update=plain) for group in made.groups),
            "network": made.network.model_copy(update={"bandwidth": bandwidth}),
        }
    )


def machines_of(scenario: str, instance: Instance, payload: float) -> Instance:
    """The same GPUs with a group and a site for each machine, and links as fast as its network card.

    Their scheduler divides the card by eight; in truth its GPUs share it when they send at the same time.
    """
    counts: dict[str, int] = {}
    for group in instance.groups:
        if group.name.startswith(SINGLES):
            counts.update({f"{group.name}-{number}": 1 for number in range(group.count)})
        else:
            counts[group.name] = group.count
    groups = tuple(
        instance.groups[0].model_copy(update={"name": name, "region": name, "count": count})
        for name, count in counts.items()
    )
    inside, between = instance.network.bandwidth[0][0], CARD_GBIT[scenario] * 1e9 / 8 * payload
    size = range(len(groups))
    bandwidth = tuple(tuple(inside if i == j else between for j in size) for i in size)
    latency = tuple((0.0,) * len(groups) for _ in size)
    network = instance.network.model_copy(update={"latency": latency, "bandwidth": bandwidth, "energy_per_byte": None})
    return instance.model_copy(update={"groups": groups, "network": network, "sites": None})


def scheduled(instance: Instance) -> Plan:
    """The plan that `dtfm` finds on their grid."""
    from solvers.core.deadline import Deadline
    from solvers.core.interface import Budget, Monitor
    from solvers.dtfm.grid_search import GridSearch, shapes_within_memory

    tables = Tables.of(instance)
    search = GridSearch(instance, tables, 5000, False, 0)
    shapes = shapes_within_memory(instance, tables, GPUS)
    (shape,) = (shape for shape in shapes if (shape.replicas, shape.stages) == (REPLICAS, STAGES))
    plan = search.run(shape, Deadline.of(Budget(), Monitor()), grids_left=1).plan
    assert plan is not None
    return plan


def unscheduled(instance: Instance, number: int) -> Plan:
    """A random placement."""
    order = np.random.default_rng(seed_for("fidelity", instance.name, number)).permutation(GPUS)
    gpus = [Gpu(k, each) for k, group in enumerate(instance.groups) for each in range(group.count)]
    rows = tuple(tuple(gpus[slot] for slot in line) for line in order.reshape(REPLICAS, STAGES))
    return Plan(1, (STAGES,) * STAGES, rows)


def fitted(plan: Plan, seen: Instance, played: Instance) -> Plan:
    """The same placement with equal layers, in the groups of `played`, which lists its GPUs in the same order."""
    order = [(k, number) for k, group in enumerate(seen.groups) for number in range(group.count)]
    there = [Gpu(k, number) for k, group in enumerate(played.groups) for number in range(group.count)]
    where = dict(zip(order, there, strict=True))
    rows = tuple(tuple(where[gpu.group, gpu.number] for gpu in row) for row in plan.pipelines)
    return Plan(1, (played.model.layers // STAGES,) * STAGES, rows)


def measured() -> list[Measured]:
    """Every network, size and way of placing, the mean over their seeds.

    Where machines share a network card the prediction is the simulator's with shared uplinks, and `other` the closed
    form with the card divided by eight; elsewhere the closed form, and the simulator's with sends that block.
    """
    runs = defaultdict(list)
    for row in table("dtfm_scenarios"):
        runs[row["scenario"], int(row["layers"]), int(row["batch"]), row["placement"]].append(float(row["iteration_s"]))
    flops, payload = calibration()
    placements: dict[tuple[str, str], list[Plan]] = {}
    found = []
    for (scenario, layers, batch, way), seconds in runs.items():
        seen = instance_of(scenario, layers, batch, flops, payload)
        if (scenario, way) not in placements:
            known = instance_of(scenario, *PLANNED, flops, payload)
            placements[scenario, way] = (
                [scheduled(known)]
                if way == "scheduled"
                else [unscheduled(known, number) for number in range(RANDOM_PLACEMENTS)]
            )
        played = machines_of(scenario, seen, payload) if scenario in CARD_GBIT else seen
        plans = placements[scenario, way]
        predicted = fmean(_seconds(plan, seen, played) for plan in plans)
        other = fmean(_other_seconds(plan, seen, played) for plan in plans[:SAMPLED])
        name = f"{scenario}, {layers} layers, batch {batch}, {way}"
        found.append(Measured(SOURCE, name, fmean(seconds), predicted, other=other))
    return found


def _seconds(plan: Plan, seen: Instance, played: Instance) -> float:
    if played is seen:
        return evaluate_feasible(seen, fitted(plan, seen, seen)).time_s
    return simulate(played, fitted(plan, seen, played), Rules(uplink=1.0)).time_s


def _other_seconds(plan: Plan, seen: Instance, played: Instance) -> float:
    here = fitted(plan, seen, seen)
    return simulate(seen, here, Rules(blocking=True)).time_s if played is seen else evaluate_feasible(seen, here).time_s
