"""A run's record: its task, what was found, how the run ended and where it was made.

The fields are the keys of the file, one flat object a line (docs/formats.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, JsonValue

from bench.records import environment
from bench.records.environment import Machine
from bench.records.task import Asked, Task, digest
from bench.runs.isolated import Ending, Termination
from bench.runs.judge import JudgedPlan, Verdict, judge
from bench.runs.no_plan import explained
from instances.errors import InputError
from instances.files import FileModel, FrontPoint, PlanFile, model_from_json
from instances.instance import COST_MODEL_VERSION, Instance
from instances.objective import parse_objective
from instances.plan import gpu_name
from instances.referee.evaluate import Evaluation
from solvers.core.interface import Problem, Proof, Status, TracePoint
from solvers.core.registry import origin_of, solver_types

SCHEMA: Literal["geotrain-bench/record/1"] = "geotrain-bench/record/1"


class GpuUse(FileModel):
    """One used GPU of a breakdown."""

    gpu: str
    busy_s: float
    idle_s: float
    energy_j: float
    memory: float
    memory_capacity: float


class Breakdown(FileModel):
    """What a feasible plan costs, part by part; the keys of `evaluate --json`."""

    time_s: float
    energy_j: float
    fill_s: float
    steady_s: float
    sync_s: float
    pipeline_s: float
    network_energy_j: float
    carbon_g: float | None
    cost_usd: float | None
    tokens_per_s: float
    micro_batch_count: int
    gpus: tuple[GpuUse, ...]

    @classmethod
    def of(cls, instance: Instance, evaluation: Evaluation) -> Breakdown:
        """The breakdown of an evaluation, GPUs by name."""
        uses = [GpuUse(**{**vars(share), "gpu": gpu_name(instance, share.gpu)}) for share in evaluation.gpus]
        totals = {name: getattr(evaluation, name) for name in cls.model_fields}
        return cls(**{**totals, "gpus": tuple(uses)})


class GridProof(FileModel, extra="allow"):
    """One grid in the proof of an exact method: its bounds, and why it is closed (or `open`)."""

    replicas: int
    stages: int
    micro_batch: int
    cheap_bound: float | None
    bound: float | None
    closed: str
    whole: bool = False  # solved by one plain model of the grid, which knows no cheap bound

    @property
    def grid(self) -> tuple[int, int, int]:
        """Pipelines, stages, micro-batch size."""
        return self.replicas, self.stages, self.micro_batch


class Result(Asked):
    """The answer of `solve --json`: what was asked and what the referee says of the outcome.

    Metrics are None where there is no plan. `details` are the solver's own.
    """

    status: Status
    ended: Termination
    reason: str | None
    value: float | None
    bound: float | None
    gap: float | None
    plan: PlanFile | None
    front: tuple[FrontPoint, ...] | None
    time_s: float | None
    energy_j: float | None
    wall_s: float
    cpu_s: float | None
    warm_up_s: float | None = None  # until the search began; None if it never did, and in older records
    compile_s: float | None = None  # of older records only
    evaluations: int
    trace: tuple[TracePoint, ...]  # lists of three in the file
    details: dict[str, JsonValue]
    without: tuple[str, ...] | None = None  # GPUs that `solve --without` took away

    @classmethod
    def of(cls, task: Task, ending: Ending, verdict: Verdict, **more: Any) -> Self:
        """The result of a task, with `more` fields; the verdict's plans are of the task's instance."""
        evaluation, outcome, instance = verdict.evaluation, ending.outcome, task.instance
        front = None
        if verdict.front is not None:
            front = tuple(_point(each, instance) for each in verdict.front)
        return cls(
            **dict(task.asked),
            status=verdict.status,
            ended=ending.termination,
            reason="; ".join(reason for reason in (ending.reason, verdict.reason) if reason) or None,
            value=verdict.value,
            bound=verdict.bound,
            gap=verdict.gap,
            plan=PlanFile.of(verdict.plan, instance) if verdict.plan else None,
            front=front,
            time_s=evaluation.time_s if evaluation else None,
            energy_j=evaluation.energy_j if evaluation else None,
            wall_s=ending.wall_s,
            cpu_s=ending.cpu_s,
            warm_up_s=ending.warm_up_s,
            evaluations=outcome.evaluations,
            trace=outcome.trace,
            details=json.loads(json.dumps(dict(outcome.details))),
            **more,
        )

    def to_json(self) -> dict[str, Any]:
        """The object of the file or answer; what was never set (see the fields with a default) is left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @property
    def final(self) -> bool:
        """Whether the run has a result; what crashed, ran out of memory or never started is tried again."""
        ends = (Termination.FINISHED, Termination.TIME_LIMIT, Termination.EVALUATION_LIMIT)
        return self.ended in ends and self.status is not Status.ERROR

    def problem(self, instance: Instance) -> Problem:
        """What the solver got. InputError if this is another instance or another cost model."""
        if self.cost_model_version != COST_MODEL_VERSION:
            raise InputError(f"cost-model version {self.cost_model_version}, this is {COST_MODEL_VERSION}")
        if self.instance_hash != instance.content_hash:
            raise InputError("the stored instance has another content hash than the record")
        return Problem(instance, parse_objective(self.objective).goal(self.reference))

    def grids(self) -> tuple[GridProof, ...] | None:
        """The grids of an exact method's proof, if it gives them. InputError if they are malformed."""
        grids = self.details.get("grids")
        if grids is None:
            return None
        if not isinstance(grids, list):
            raise InputError("details.grids: is not a list")
        return tuple(model_from_json(GridProof, grid, f"details.grids[{i}]") for i, grid in enumerate(grids))


class Record(Result):
    """A line of a run folder: a result, its breakdown and its origin."""

    schema_: Literal["geotrain-bench/record/1"] = Field(alias="schema")
    key: str
    gpus: int
    breakdown: Breakdown | None
    jobs: int
    timed_alone: bool  # runs side by side skew each other's seconds
    versions: dict[str, str | None]
    commit: str | None
    dirty: bool | None
    machine: Machine
    checksum: str

    def sealed(self) -> Record:
        """The same record with the checksum of its content."""
        return self.model_copy(update={"checksum": checksum(self.to_json())})


def record_of(task: Task, ending: Ending, jobs: int) -> Record:
    """The record that a store keeps: the judged result, its breakdown and its origin."""
    solver = solver_types().get(task.solver)
    problem = task.problem
    verdict = judge(problem, ending.outcome, solver.proves if solver else Proof.OPTIMUM_AND_BOUND)
    verdict = explained(problem, ending.outcome, verdict)
    commit, dirty = environment.commit()
    return Record.of(
        task,
        ending,
        verdict,
        schema=SCHEMA,
        key=task.key,
        gpus=task.instance.gpus,
        breakdown=Breakdown.of(task.instance, verdict.evaluation) if verdict.evaluation else None,
        jobs=jobs,
        timed_alone=jobs == 1,
        versions=environment.versions() | dict([origin] if (origin := origin_of(task.solver)) else []),
        commit=commit,
        dirty=dirty,
        machine=environment.machine(),
        checksum="",
    ).sealed()


def _point(judged: JudgedPlan, instance: Instance) -> FrontPoint:
    plan, evaluation = judged.plan, judged.evaluation
    return FrontPoint(time_s=evaluation.time_s, energy_j=evaluation.energy_j, plan=PlanFile.of(plan, instance))


def checksum(content: Mapping[str, Any]) -> str:
    """Digest of a record's JSON without its checksum: shows that a stored figure was changed after it was written."""
    return digest({key: value for key, value in content.items() if key != "checksum"})
