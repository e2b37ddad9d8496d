"""A run's record: what was asked, what came of it, how it ended and where it was made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.records import environment
from bench.runs.isolated import Ending
from bench.runs.judge import FrontPoint, Verdict, judge
from instances.files import plan_to_json
from instances.instance import COST_MODEL_VERSION, Instance
from instances.objective import Objective, Reference
from instances.plan import gpu_name
from instances.referee.evaluate import Evaluation
from solvers.core.interface import Budget, Problem

SCHEMA = "geotrain-bench/record/1"


@dataclass(frozen=True)
class Task:
    """One run that can be asked for: an instance, a solver with options, an objective and a budget."""

    instance: Instance
    solver: str
    options: Mapping[str, str]
    objective: Objective
    reference: Reference | None
    budget: Budget

    @property
    def key(self) -> str:
        """Names the run by all that can change its result; the order of options does not matter."""
        reference = self.reference if self.objective.needs_reference else None
        content = {
            "cost_model_version": COST_MODEL_VERSION,
            "instance": [self.instance.name, self.instance.content_hash],
            "solver": [self.solver, dict(self.options)],
            "objective": [str(self.objective), reference and [reference.time_s, reference.energy_j]],
            "budget": [self.budget.seconds, self.budget.evaluations, self.budget.threads, self.budget.seed],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]

    @property
    def problem(self) -> Problem:
        """What the solver gets."""
        return Problem(self.instance, self.objective.goal(self.reference))


def evaluation_to_json(instance: Instance, evaluation: Evaluation) -> dict[str, Any]:
    """The breakdown of a feasible plan, in the keys of `evaluate --json`."""
    return {
        "time_s": evaluation.time_s,
        "energy_j": evaluation.energy_j,
        "fill_s": evaluation.fill_s,
        "steady_s": evaluation.steady_s,
        "sync_s": evaluation.sync_s,
        "pipeline_s": evaluation.pipeline_s,
        "network_energy_j": evaluation.network_energy_j,
        "carbon_g": evaluation.carbon_g,
        "cost_usd": evaluation.cost_usd,
        "tokens_per_s": evaluation.tokens_per_s,
        "micro_batch_count": evaluation.micro_batch_count,
        "gpus": [
            {
                "gpu": gpu_name(instance, share.gpu),
                "busy_s": share.busy_s,
                "idle_s": share.idle_s,
                "energy_j": share.energy_j,
                "memory": share.memory,
                "memory_capacity": share.memory_capacity,
            }
            for share in evaluation.gpus
        ],
    }


def result_to_json(task: Task, ending: Ending, verdict: Verdict) -> dict[str, Any]:
    """The answer of `solve --json`."""
    evaluation, outcome, instance = verdict.evaluation, ending.outcome, task.instance
    reasons = [reason for reason in (ending.reason, verdict.reason) if reason]
    return {
        "solver": task.solver,
        "options": dict(task.options),
        "status": str(verdict.status),
        "ended": str(ending.termination),
        "reason": "; ".join(reasons) or None,
        "objective": str(task.objective),
        "reference": task.reference and {"time_s": task.reference.time_s, "energy_j": task.reference.energy_j},
        "value": verdict.value,
        "bound": verdict.bound,
        "gap": verdict.gap,
        "plan": verdict.plan and plan_to_json(verdict.plan, instance),
        "front": None if verdict.front is None else [_point_to_json(instance, point) for point in verdict.front],
        "time_s": evaluation and evaluation.time_s,
        "energy_j": evaluation and evaluation.energy_j,
        "wall_s": ending.wall_s,
        "cpu_s": ending.cpu_s,
        "warm_up_s": ending.warm_up_s,
        "evaluations": outcome.evaluations,
        "seed": task.budget.seed,
        "threads": task.budget.threads,
        "time_limit_s": task.budget.seconds,
        "evaluation_limit": task.budget.evaluations,
        "trace": [[point.seconds, point.evaluations, point.value] for point in outcome.trace],
        "details": dict(outcome.details),
        "instance": instance.name,
        "instance_hash": instance.content_hash,
        "cost_model_version": COST_MODEL_VERSION,
    }


def record_of(task: Task, ending: Ending, jobs: int) -> dict[str, Any]:
    """The record that a store keeps: the judged result, its breakdown and its origin."""
    verdict = judge(task.problem, ending.outcome)
    breakdown = evaluation_to_json(task.instance, verdict.evaluation) if verdict.evaluation else None
    record = {
        "schema": SCHEMA,
        "key": task.key,
        **result_to_json(task, ending, verdict),
        "gpus": task.instance.gpus,
        "breakdown": breakdown,
        "jobs": jobs,
        "timed_alone": jobs == 1,  # runs side by side skew each other's seconds
        "versions": environment.versions(),
        **environment.commit(),
        "machine": environment.machine(),
    }
    return {**record, "checksum": checksum(record)}


def checksum(record: Mapping[str, Any]) -> str:
    """Digest of a record without its checksum: shows that a stored figure was changed by accident or by hand."""
    content = {key: value for key, value in record.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]


def _point_to_json(instance: Instance, point: FrontPoint) -> dict[str, Any]:
    return {
        "time_s": point.evaluation.time_s,
        "energy_j": point.evaluation.energy_j,
        "plan": plan_to_json(point.plan, instance),
    }
