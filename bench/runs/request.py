"""One question, one answer: what `evaluate` and `solve` say, as the objects of their `--json`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from bench.records.record import Task, evaluation_to_json, result_to_json
from bench.runs.isolated import solve_isolated
from bench.runs.judge import Verdict, judge
from instances.errors import InputError
from instances.files import plan_to_json
from instances.instance import COST_MODEL_VERSION, Instance
from instances.objective import Reference, parse_objective
from instances.plan import Plan
from instances.rates import Rates
from instances.reduce import Reduced, without
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from solvers.core.interface import Budget, Problem, Solver
from solvers.core.registry import make_solver
from solvers.placements.uniform import reference_of

COMPILING = "{} is compiled first, once for each version: up to a minute, which is not part of the search"
_NO_METRICS = [
    "time_s",
    "energy_j",
    "fill_s",
    "steady_s",
    "sync_s",
    "pipeline_s",
    "network_energy_j",
    "carbon_g",
    "cost_usd",
    "tokens_per_s",
    "micro_batch_count",
]


def evaluation_answer(instance: Instance, plan: Plan) -> dict[str, Any]:
    """Feasibility, cost and breakdown of a plan; metrics are null and `gpus` empty if it is infeasible."""
    reasons = violations(instance, plan)
    if reasons:
        metrics: dict[str, Any] = {**dict.fromkeys(_NO_METRICS), "gpus": []}
    else:
        metrics = evaluation_to_json(instance, evaluate(instance, plan))
    return {
        "feasible": not reasons,
        "reason": reasons[0] if reasons else None,
        "violations": reasons,
        **metrics,
        "stages": plan.stages,
        "replicas": plan.replicas,
        "micro_batch": plan.micro_batch,
        "layers": list(plan.layers),
        "instance": instance.name,
        "instance_hash": instance.content_hash,
        "cost_model_version": COST_MODEL_VERSION,
    }


@dataclass(frozen=True)
class Request:
    """The arguments of `solve`, as given."""

    instance: Instance
    solver: str
    options: Mapping[str, str]
    objective: str
    reference: tuple[float, float] | None
    time_limit: float | None
    evaluations: int | None
    seed: int
    threads: int
    start: Plan | None
    without: tuple[str, ...]
    start_name: str = "start"  # what messages call the start plan: its file, where it has one


def solve_request(request: Request, live: bool = False) -> dict[str, Any]:
    """Solve and judge. InputError for what does not fit; `live` shows that work goes on."""
    solver = make_solver(request.solver, request.options)
    objective = parse_objective(request.objective)
    if objective.kind == "front" and not solver.fronts:
        raise InputError(f"--objective front: solver {request.solver} has no front; see `geotrain-bench solvers`")
    reduced = without(request.instance, request.without) if request.without else None
    instance = reduced.instance if reduced else request.instance
    reference = _reference(request.reference, instance) if objective.needs_reference else None
    goal = objective.goal(reference)
    Rates.of(instance, goal.figure)  # refuses a figure that a site lacks, before any work
    start = _start(request, solver, Problem(request.instance, goal), reduced)
    task = Task(instance, request.solver, request.options, objective, reference, _budget(request))
    problem = Problem(instance, goal, start)
    if live:
        from rich.console import Console

        words = f"{request.solver} on {instance.name}; Ctrl-C keeps the best plan"
        with Console(file=sys.stderr).status(words) as status:

            def on_compiling() -> None:
                status.console.print(COMPILING.format(request.solver), highlight=False)

            ending = solve_isolated(request.solver, request.options, problem, task.budget, on_compiling)
    else:
        ending = solve_isolated(request.solver, request.options, problem, task.budget)
    verdict = judge(problem, ending.outcome)
    result = result_to_json(task, ending, verdict)
    result["instance_hash"] = request.instance.content_hash
    if reduced:
        result |= {"without": list(request.without), **_restored(request.instance, reduced, verdict)}
    return result


def _budget(request: Request) -> Budget:
    for name, value, least in (
        ("--time-limit", request.time_limit, 0.0),
        ("--evaluations", request.evaluations, 0),
        ("--seed", request.seed, 0),
        ("--threads", request.threads, 1),
    ):
        if value is not None and not (isfinite(value) and value >= least):
            raise InputError(f"{name} {value}: must be {least:g} or more")
    return Budget(request.time_limit, request.evaluations, request.seed, request.threads)


def _reference(given: tuple[float, float] | None, instance: Instance) -> Reference | None:
    if given is None:
        return reference_of(instance)
    if not all(isfinite(value) and 1e-30 <= value <= 1e30 for value in given):
        raise InputError(f"--reference {given[0]} {given[1]}: both must be above 0 and finite")
    return Reference(*given)


def _start(request: Request, solver: Solver, problem: Problem, reduced: Reduced | None) -> Plan | None:
    """The start plan, checked against the instance that is solved."""
    if request.start is None:
        return None
    if not solver.takes_start:
        raise InputError(f"--start: solver {request.solver} takes no start plan")
    if problem.goal.front:
        raise InputError("--start: the objective front takes no start plan")
    plan = request.start
    reasons = violations(request.instance, plan)
    if not reasons:
        reasons = problem.goal.cap_violations(evaluate(request.instance, plan))
    if reasons:
        raise InputError(f"{request.start_name}: the start plan is infeasible: {reasons[0]}")
    if reduced is None:
        return plan
    back = {gpu: (k, i) for k, gpus in enumerate(reduced.left) for i, gpu in enumerate(gpus)}
    gone = [gpu for row in plan.pipelines for gpu in row if gpu not in back]
    if gone:
        raise InputError(f"{request.start_name}: the start plan uses a GPU that --without takes away")
    groups = [[back[gpu][0] for gpu in row] for row in plan.pipelines]
    return Plan.from_groups(plan.micro_batch, plan.layers, groups)


def _restored(instance: Instance, reduced: Reduced, verdict: Verdict) -> dict[str, Any]:
    """The plans in the names of the whole instance; GPUs of a group are equal, so nothing else changes."""
    plan = verdict.plan and plan_to_json(reduced.restore(verdict.plan), instance)
    if verdict.front is None:
        return {"plan": plan}
    points = [replace(point, plan=reduced.restore(point.plan)) for point in verdict.front]
    return {
        "plan": plan,
        "front": [
            {
                "time_s": point.evaluation.time_s,
                "energy_j": point.evaluation.energy_j,
                "plan": plan_to_json(point.plan, instance),
            }
            for point in points
        ],
    }
