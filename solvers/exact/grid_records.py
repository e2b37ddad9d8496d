"""The proof's figures: for every legal grid its bound, how it was closed, and what it took."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from solvers.exact.grid_bounds import GridBound
from solvers.exact.leaf_model import Answer


@dataclass
class GridRecord:
    """One grid. It is closed when none of its parts is open."""

    cheap: GridBound
    open_parts: int = 0
    parts: int = 0  # that the grid was split into
    models: int = 0  # solved, finished or not
    closed_bound: float = math.inf  # least over the closed parts
    open_bound: float = math.inf  # least over the open parts; kept by the search
    variables: int = 0  # of the largest model
    rows: int = 0  # of the largest model
    nodes: int = 0
    seconds: float = 0.0
    started: bool = False

    @property
    def bound(self) -> float | None:
        """Proven for every plan on the grid; None if there is none."""
        if self.cheap.value is None:
            return None
        if not self.started:
            return self.cheap.value
        least = min(self.closed_bound, self.open_bound)
        return max(least, self.cheap.value) if least < math.inf else None

    def close_part(self, bound: float) -> None:
        """A part is done: no plan in it is below the bound."""
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
        if bound is None:
            return "infeasible"
        if not self.started:
            return "cheap bound" if bound >= target else "open"
        return "solved" if self.open_parts == 0 or bound >= target else "open"

    def as_json(self, target: float) -> dict[str, Any]:
        """The record as `solve --json` prints it."""
        grid = self.cheap.grid
        return {
            "replicas": grid.replicas,
            "stages": grid.stages,
            "micro_batch": grid.micro_batch,
            "cheap_bound": self.cheap.value,
            "bound": self.bound,
            "closed": self.closed(target),
            "parts": self.parts,
            "models": self.models,
            "variables": self.variables,
            "rows": self.rows,
            "nodes": self.nodes,
            "seconds": round(self.seconds, 3),
        }
