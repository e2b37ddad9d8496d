"""One question, one answer: what `evaluate` and `solve` say."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from rich.console import Console

from bench.records.record import Breakdown, Result, Task, result_fields
from bench.runs.isolated import solve_isolated
from bench.runs.judge import Verdict, judge
from instances.errors import InputError
from instances.instance import COST_MODEL_VERSION, Instance
from instances.objective import Goal, Reference, parse_objective
from instances.plan import Plan
from instances.rates import Rates
from instances.reduce import Reduced, without
from instances.referee.check import Infeasible, check
from instances.referee.evaluate import Evaluation
from solvers.core.interface import Budget, Problem
from solvers.core.registry import make_solver
from solvers.core.sources import solver_digest
from solvers.placements.uniform import reference_of

COMPILING = "{} is compiled first, once for each version: up to a minute, which is not part of the search"


def evaluation_answer(instance: Instance, plan: Plan, checked: Evaluation | Infeasible) -> dict[str, Any]:
    """The object of `evaluate --json`; metrics are null and `gpus` empty if the plan is infeasible."""
    reasons = list(checked.reasons) if isinstance(checked, Infeasible) else []
    metrics: dict[str, Any] = {**dict.fromkeys(Breakdown.model_fields), "gpus": []}
    if isinstance(checked, Evaluation):
        metrics = Breakdown.of(instance, checked).model_dump(mode="json")
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

    def budget(self) -> Budget:
        """The limits. InputError names the option that is none."""
        for name, value, least in (
            ("--time-limit", self.time_limit, 0.0),
            ("--evaluations", self.evaluations, 0),
            ("--seed", self.seed, 0),
            ("--threads", self.threads, 1),
        ):
            if value is not None and not (isfinite(value) and value >= least):
                raise InputError(f"{name} {value}: must be {least:g} or more")
        return Budget(self.time_limit, self.evaluations, self.seed, self.threads)

    def reference_for(self, instance: Instance) -> Reference | None:
        """T_ref and E_ref as given, or else those of the instance's best uniform plan, if it has one."""
        if self.reference is None:
            return reference_of(instance)
        try:
            return Reference(*self.reference)
        except ValueError:
            time, energy = self.reference
            raise InputError(f"--reference {time} {energy}: both must be above 0 and finite") from None


def solve_request(request: Request, live: bool = False) -> Result:
    """Solve and judge. InputError for what does not fit; `live` shows that work goes on."""
    solver = make_solver(request.solver, request.options)
    objective = parse_objective(request.objective)
    if objective.kind == "front" and not solver.fronts:
        raise InputError(f"--objective front: solver {request.solver} has no front; see `geotrain-bench solvers`")
    if request.start is not None and not solver.takes_start:
        raise InputError(f"--start: solver {request.solver} takes no start plan")
    reduced = without(request.instance, request.without) if request.without else None
    instance = reduced.instance if reduced else request.instance
    reference = request.reference_for(instance) if objective.needs_reference else None
    goal = objective.goal(reference)
    Rates.of(instance, goal.figure)  # refuses a figure that a site lacks, before any work
    problem = Problem(instance, goal, _start(request, goal, reduced))
    budget = request.budget()
    console = Console(file=sys.stderr)
    waiting = f"{request.solver} on {instance.name}; Ctrl-C keeps the best plan"

    def on_compiling() -> None:
        if live:
            console.print(COMPILING.format(request.solver), highlight=False)

    with console.status(waiting) if live else nullcontext():
        ending = solve_isolated(request.solver, request.options, problem, budget, on_compiling)
    verdict = judge(problem, ending.outcome)
    code = solver_digest(request.solver)
    # The answer is one for the whole instance, whatever was taken away before.
    task = Task(request.instance, request.solver, request.options, objective, reference, budget, code)
    fields = result_fields(task, ending, _restored(verdict, reduced) if reduced else verdict)
    return Result(**fields, without=request.without) if reduced else Result(**fields)


def _start(request: Request, goal: Goal, reduced: Reduced | None) -> Plan | None:
    """The start plan, checked against the whole instance, in terms of the one that is solved."""
    plan, name = request.start, request.start_name
    if plan is None:
        return None
    if goal.front:
        raise InputError("--start: the objective front takes no start plan")
    checked = check(request.instance, plan, goal)
    if isinstance(checked, Infeasible):
        raise InputError(f"{name}: the start plan is infeasible: {checked.reasons[0]}")
    if reduced is None:
        return plan
    smaller = {gpu: k for k, gpus in enumerate(reduced.left) for gpu in gpus}
    if any(gpu not in smaller for row in plan.pipelines for gpu in row):
        raise InputError(f"{name}: the start plan uses a GPU that --without takes away")
    return Plan.from_groups(plan.micro_batch, plan.layers, [[smaller[gpu] for gpu in row] for row in plan.pipelines])


def _restored(verdict: Verdict, reduced: Reduced) -> Verdict:
    """The verdict with its plans in terms of the whole instance; GPUs of a group are equal, so nothing else changes."""
    front = verdict.front and tuple(replace(point, plan=reduced.restore(point.plan)) for point in verdict.front)
    return replace(verdict, plan=verdict.plan and reduced.restore(verdict.plan), front=front)
