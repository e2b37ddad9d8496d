"""What makes one problem hard: what a good plan looks like on it, and what the usual plans cost more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.records.best_known import best_known, key_of
from bench.reporting.metrics import optimality_gap
from instances.errors import InputError
from instances.files import plan_from_json
from instances.instance import Instance, Network
from instances.objective import Objective
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.tables import Tables
from instances.workload import Workload
from solvers.core.interface import Budget, Monitor, Problem
from solvers.core.registry import make_solver
from solvers.placements.uniform import reference_of

SEARCH = Budget(evaluations=300_000, seed=0)
"""For `memetic` where no best known value is committed: a second or two."""


@dataclass(frozen=True)
class Hardness:
    """Facts of an instance under one objective; None where there is no plan. Shares and gaps are fractions.

    Attributes
    ----------
    known
        Where the plan comes from: `optimum` (proven), `best known` (committed) or `search` (of now).
    left_out
        Share of the GPUs that the plan does not use.
    grids
        Legal shapes of a plan (pipelines, stages, micro-batch size), whether or not they fit.
    compute_spread, bandwidth_spread
        Fastest over slowest: seconds a block, links between two GPUs.
    memory_slack
        Share of the pool's memory that one pipeline with the whole model leaves free.
    communication
        Seconds that free links would save, over the seconds that are left then: of the plan's iteration.
    megatron_gap, contiguous_gap
        (value - value of the plan) / value of the plan.
    """

    instance: str
    gpus: int
    objective: str
    known: str | None
    pipelines: int | None
    stages: int | None
    left_out: float | None
    grids: int
    compute_spread: float
    bandwidth_spread: float
    memory_slack: float
    communication: float | None
    megatron_gap: float | None
    contiguous_gap: float | None


def hardness_of(instance: Instance, objective: Objective) -> Hardness:
    """The facts of one problem. InputError if the instance does not have what the objective needs."""
    if objective.kind == "front":
        raise InputError("objective front: has no one best plan to describe; give another")
    reference = reference_of(instance) if objective.needs_reference else None
    problem = Problem(instance, objective.goal(reference))
    usual = {name: make_solver(name).solve(problem, Budget(), Monitor()).plan for name in ("megatron", "contiguous")}
    entry = best_known().get(key_of(instance.content_hash, str(objective), reference))
    if entry is not None:
        plan: Plan | None = plan_from_json(entry.plan, instance, f"best known value of {instance.name}")
        known = "optimum" if entry.proven else "best known"
    else:
        plan, known = _searched(problem, [found for found in usual.values() if found]), "search"
    best = _value(problem, plan)
    tables = problem.tables
    return Hardness(
        instance=instance.name,
        gpus=instance.gpus,
        objective=str(objective),
        known=known if plan else None,
        pipelines=plan.replicas if plan else None,
        stages=plan.stages if plan else None,
        left_out=1 - plan.replicas * plan.stages / instance.gpus if plan else None,
        grids=len(tables.grids()),
        compute_spread=_compute_spread(tables),
        bandwidth_spread=_bandwidth_spread(tables),
        memory_slack=_memory_slack(instance),
        communication=_communication(instance, plan) if plan else None,
        megatron_gap=optimality_gap(_value(problem, usual["megatron"]), best),
        contiguous_gap=optimality_gap(_value(problem, usual["contiguous"]), best),
    )


def _searched(problem: Problem, others: list[Plan]) -> Plan | None:
    """The best plan of a short search and of others that are at hand."""
    found = make_solver("memetic").solve(problem, SEARCH, Monitor()).plan
    valued = [(value, plan) for plan in [found, *others] if plan and (value := problem.value(plan)) is not None]
    return min(valued, key=lambda pair: pair[0])[1] if valued else None


def _value(problem: Problem, plan: Plan | None) -> float | None:
    return problem.value(plan) if plan else None


def _compute_spread(tables: Tables) -> float:
    """Of seconds a block and sequence, each group at the micro-batch size that suits it best."""
    seconds = (tables.forward[:, :, 0, 1] + tables.backward[:, :, 0, 1]) / np.array(tables.micro_batches)[:, None]
    best = seconds.min(axis=0)
    return float(best.max() / best.min())


def _bandwidth_spread(tables: Tables) -> float:
    """Over the links that there are: none from a GPU to itself."""
    there = ~np.eye(len(tables.counts), dtype=bool) | (tables.counts > 1)[:, None]
    links = tables.bandwidth[there]
    return float(links.max() / links.min()) if len(links) else 1.0


def _memory_slack(instance: Instance) -> float:
    training, work = instance.training, Workload.of(instance.model, instance.training)
    layers, batch = instance.model.layers, training.global_batch
    state = training.state_bytes_per_parameter * work.stage_parameters(layers, first=True, last=True)
    stash = batch * (layers * work.stash_bytes + work.head_input_bytes)
    return 1 - (state + stash) / sum(group.count * group.memory for group in instance.groups)


def _communication(instance: Instance, plan: Plan) -> float:
    size = len(instance.groups)
    free = Network(latency=((0.0,) * size,) * size, bandwidth=((1e30,) * size,) * size)
    computing = evaluate(instance.model_copy(update={"network": free}), plan).time_s
    return (evaluate(instance, plan).time_s - computing) / computing
