"""What makes a problem hard: what a good plan looks like on it, and what the usual plans cost more.

The command `describe` says it of an instance or a suite, the README of all suites.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import pandas as pd

from bench.records.best_known import best_known, problem_key
from bench.reporting.formatting import NOTHING, Cell, as_number, as_percent, as_text, table
from bench.reporting.metrics import optimality_gap
from bench.runs.suite import entries_of, read_suite
from instances.errors import InputError
from instances.files import plan_of, read_instance
from instances.instance import Instance, Network
from instances.objective import Objective, parse_objective
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.tables import Tables
from instances.workload import Workload
from solvers.core.interface import Budget, Monitor, Problem
from solvers.core.registry import make_solver
from solvers.placements.uniform import reference_of

SEARCH = Budget(evaluations=300_000, seed=0)
"""For `memetic` where no best known value is committed: a second or two."""


MEASURES: Mapping[str, Cell] = {
    "left out": as_percent("left_out"),
    "compute spread": as_number("compute_spread", 3),
    "bandwidth spread": as_number("bandwidth_spread", 3),
    "memory slack": as_percent("memory_slack"),
    "comm/comp": as_number("communication", 3),
    "megatron gap": as_percent("megatron_gap"),
    "contiguous gap": as_percent("contiguous_gap"),
}
DESCRIBED: Mapping[str, Cell] = {
    "instance": as_text("instance"),
    "GPUs": as_text("gpus"),
    "objective": as_text("objective"),
    "best plan": lambda row: f"{row['pipelines']} x {row['stages']}" if row["known"] else NOTHING,
    "from": lambda row: row["known"] or NOTHING,
    "grids": as_text("grids"),
    **MEASURES,
}
"""Of the table of `describe`."""
SUITES: Mapping[str, Cell] = {
    "suite": as_text("suite"),
    "family": as_text("family"),
    "problems": as_text("problems"),
    "GPUs": lambda row: f"{row['least']}-{row['most']:,}" if row["least"] < row["most"] else str(row["most"]),
    "proven": as_text("proven"),
    "1/4 left out": as_text("quarter_left_out"),
    "pipelines > 1": as_text("several_pipelines"),
    **MEASURES,
}
"""Of the table of all suites in docs/measuring.md."""
LEFT = ("instance", "objective", "best plan", "from", "suite", "family")
"""Columns that are no numbers."""
QUARTER = 0.25
NOTES = (
    f"best plan: pipelines x stages; `optimum` is proven, `best known` committed, `search` memetic with "
    f"{SEARCH.evaluations:,} evaluations and seed {SEARCH.seed}.",
    "left out: share of the GPUs that the best plan does not use. grids: legal shapes of a plan.",
    "spread: fastest over slowest GPU (seconds a block) and link. memory slack: share of the pool's memory that "
    "one pipeline with the whole model leaves free.",
    "comm/comp: what free links would save of the best plan's iteration, over what would be left of it.",
    "gap: (value - best) / best; n/a where that solver has no plan.",
)


@dataclass(frozen=True)
class Hardness:
    """Facts of an instance under one objective, as `NOTES` defines them; shares and gaps are fractions.

    What belongs to the best plan is None where there is none.
    """

    instance: str
    gpus: int
    objective: str
    known: str | None  # where the plan comes from: `optimum` (proven), `best known` (committed) or `search` (of now)
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
    entry = best_known().get(problem_key(instance.content_hash, str(objective), reference))
    if entry is not None:
        plan: Plan | None = plan_of(entry.plan, instance, f"best known value of {instance.name}")
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
    rows = instance.network.bandwidth  # a missing link stays missing
    free = Network(
        latency=((0.0,) * len(rows),) * len(rows),
        bandwidth=tuple(tuple(None if b is None else 1e30 for b in row) for row in rows),
    )
    computing = evaluate(instance.model_copy(update={"network": free}), plan).time_s
    return (evaluate(instance, plan).time_s - computing) / computing


def described(
    name: str, objectives: Sequence[str], read: Callable[[Path], Instance] = read_instance
) -> Iterator[Hardness]:
    """One row for each instance and objective of a file (`*.json`, by `read`) or suite, whose fronts are left out."""
    if Path(name).suffix == ".json":
        instance = read(Path(name))
        yield from (hardness_of(instance, parse_objective(text)) for text in objectives or ["time"])
        return
    suite, folder = read_suite(name)
    for entry, instance in entries_of(suite, folder, name):
        for text in objectives or entry.objectives or suite.objectives:
            objective = parse_objective(text)
            if objective.kind != "front":
                yield hardness_of(instance, objective)


def counts(rows: Sequence[Hardness]) -> dict[str, int]:
    """How many problems there are, and how many have a best plan of which kind."""
    found = [row for row in rows if row.left_out is not None]
    return {
        "problems": len(rows),
        "with_a_plan": len(found),
        "proven": sum(row.known == "optimum" for row in rows),
        "quarter_left_out": sum(row.left_out is not None and row.left_out >= QUARTER for row in found),
        "several_pipelines": sum(row.pipelines is not None and row.pipelines > 1 for row in found),
        "single_gpu": sum(row.pipelines == row.stages == 1 for row in found),
    }


def in_words(rows: Sequence[Hardness]) -> str:
    """What the problems have in common."""
    found = counts(rows)
    return (
        f"Of {found['problems']} problems {found['with_a_plan']} have a plan, {found['proven']} a proven optimum; "
        f"the best plan leaves a quarter of the GPUs out in {found['quarter_left_out']}, has several pipelines in "
        f"{found['several_pipelines']} and is a single GPU in {found['single_gpu']}."
    )


def hardness_csv(rows: Iterable[tuple[str, Hardness]]) -> str:
    """The file `results/hardness.csv`: a line for each suite's problem; None is an empty cell."""
    columns = ["suite", *(field.name for field in fields(Hardness))]
    table = pd.DataFrame([{"suite": suite, **asdict(row)} for suite, row in rows], columns=columns, dtype=object)
    return table.to_csv(index=False)


def suites_table(file: Path) -> str:
    """`results/hardness.csv` in brief: a row per suite and family, counts and medians."""
    problems = pd.read_csv(file)
    problems["family"] = problems["instance"].str.partition("-")[0]
    rows = [
        {
            "suite": suite,
            "family": family,
            "problems": len(group),
            "least": group["gpus"].min(),
            "most": group["gpus"].max(),
            "proven": (group["known"] == "optimum").sum(),
            "quarter_left_out": (group["left_out"] >= QUARTER).sum(),
            "several_pipelines": (group["pipelines"] > 1).sum(),
            **group.drop(columns="gpus").median(numeric_only=True),
        }
        for (suite, family), group in problems.groupby(["suite", "family"], sort=False)
    ]
    return table(SUITES, rows, LEFT)
