"""A run's identity: the task that was asked for, as its record states it, and the key made from that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from instances.files import FileModel
from instances.instance import COST_MODEL_VERSION, Instance
from instances.objective import Objective, Reference, parse_objective
from solvers.core.interface import Budget, Problem


class Named(FileModel):
    """What names a run for a reader, and what computed it."""

    instance: str
    instance_hash: str
    objective: str
    solver: str
    options: dict[str, str]
    seed: int
    code: str | None = None  # digest of what computes it; None in folders older than that

    @property
    def label(self) -> str:
        """The solver with the options that were set."""
        return label(self.solver, self.options)

    @property
    def title(self) -> str:
        """The run in words."""
        return f"{self.instance}, {self.objective}, {self.label}, seed {self.seed}"


class Asked(Named):
    """All that was asked of a run."""

    reference: Reference | None
    threads: int
    time_limit_s: float | None
    evaluation_limit: int | None
    cost_model_version: int

    @property
    def needed_reference(self) -> Reference | None:
        """The reference, where the objective is relative to one."""
        return self.reference if parse_objective(self.objective).needs_reference else None

    @property
    def key_without_code(self) -> str:
        """Names the run by all that can change its result but the code; the order of options does not matter."""
        reference = self.needed_reference
        return digest(
            {
                "cost_model_version": self.cost_model_version,
                "instance": [self.instance, self.instance_hash],
                "solver": [self.solver, self.options],
                "objective": [self.objective, reference and [reference.time_s, reference.energy_j]],
                "budget": [self.time_limit_s, self.evaluation_limit, self.threads, self.seed],
            }
        )

    @property
    def run_key(self) -> str:
        """Names the run by all that can change its result; in old records, which name no code, all but that."""
        return self.key_without_code if self.code is None else digest([self.key_without_code, self.code])


@dataclass(frozen=True)
class Task:
    """One run that can be asked for: an instance, a solver with options, an objective and a budget.

    `code` is the digest of what will compute it (`solvers.core.sources.solver_digest`).
    """

    instance: Instance
    solver: str
    options: Mapping[str, str]
    objective: Objective
    reference: Reference | None
    budget: Budget
    code: str

    @cached_property
    def asked(self) -> Asked:
        """What its record says of it."""
        return Asked(
            instance=self.instance.name,
            instance_hash=self.instance.content_hash,
            objective=str(self.objective),
            solver=self.solver,
            options=dict(self.options),
            seed=self.budget.seed,
            code=self.code,
            reference=self.reference,
            threads=self.budget.threads,
            time_limit_s=self.budget.seconds,
            evaluation_limit=self.budget.evaluations,
            cost_model_version=COST_MODEL_VERSION,
        )

    @property
    def key(self) -> str:
        """Names the run by all that can change its result, the code included."""
        return self.asked.run_key

    @property
    def problem(self) -> Problem:
        """What the solver gets."""
        return Problem(self.instance, self.objective.goal(self.reference))


def label(solver: str, options: Mapping[str, str]) -> str:
    """A solver's name with the options that were set."""
    words = ",".join(f"{key}={value}" for key, value in sorted(options.items()))
    return f"{solver}[{words}]" if words else solver


def digest(content: Any) -> str:
    """A short hash of content that can be written as JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]
