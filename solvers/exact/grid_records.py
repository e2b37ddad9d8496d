"""The record of a proof: for every legal grid its bound, how it was closed, and the work it took."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from instances.tables import Grid
from solvers.exact.leaf_model import Answer


@dataclass
class GridRecord:
    """One grid. It is closed when all of its subproblems are."""

    grid: Grid
    cheap: float | None  # the cheap bound; None in whole models, or if no plan can be feasible
    whole: bool = False  # solved by one plain model, without bounds of our own
    feasible: bool = True  # whether a plan may be feasible on it
    started: bool = False
    open_parts: int = 0
    parts: int = 0  # subproblems that the grid was split into
    models: int = 0  # solved, finished or not
    closed_bound: float = math.inf  # least over the closed subproblems
    open_bound: float = math.inf  # least over the open ones; kept by the search
    variables: int = 0  # of the largest model
    rows: int = 0  # of the largest model
    nodes: int = 0
    seconds: float = 0.0

    @property
    def bound(self) -> float | None:
        """Proven for every plan on the grid; None if there is none, or if nothing is proven."""
        if not self.feasible or not self.started:
            return self.cheap
        least = min(self.closed_bound, self.open_bound)
        if self.cheap is not None:
            least = max(least, self.cheap) if least < math.inf else least
        return least if -math.inf < least < math.inf else None

    def close_part(self, bound: float) -> None:
        """A subproblem is done: no plan in it is below the bound."""
        self.open_parts -= 1
        self.closed_bound = min(self.closed_bound, bound)

    def add(self, answer: Answer) -> None:
        """Count a model's work."""
        self.models += 1
        self.variables = max(self.variables, answer.variables)
        self.rows = max(self.rows, answer.rows)
        self.nodes += answer.nodes

    def closed(self, target: float) -> str:
        """How the grid was closed."""
        bound = self.bound
        if not self.feasible or (self.started and not self.open_parts and bound is None):
            return "infeasible"
        if not self.started:
            return "cheap bound" if bound is not None and bound >= target else "open"
        return "solved" if self.open_parts == 0 or (bound is not None and bound >= target) else "open"

    def as_json(self, target: float) -> dict[str, Any]:
        """The record as `solve --json` prints it."""
        return {
            "replicas": self.grid.replicas,
            "stages": self.grid.stages,
            "micro_batch": self.grid.micro_batch,
            **({"whole": True} if self.whole else {}),
            "cheap_bound": self.cheap,
            "bound": self.bound,
            "closed": self.closed(target),
            "parts": self.parts,
            "models": self.models,
            "variables": self.variables,
            "rows": self.rows,
            "nodes": self.nodes,
            "seconds": round(self.seconds, 3),
        }
