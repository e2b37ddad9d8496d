"""Holds the plans of all runs on an instance against what others claim of it: no plan may do what is proven impossible.

Offline this is what tells of points removed from a front and of grids that were closed for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.records.record import GridProof, Record
from bench.runs.store import Store
from instances.files import plan_of
from instances.instance import Instance
from instances.plan import Plan
from instances.referee.check import Infeasible, check
from instances.referee.evaluate import Evaluation
from solvers.core.gap import TOLERANCE
from solvers.core.interface import Status


class Known(NamedTuple):
    """A plan that some run found, and the run's title."""

    title: str
    plan: Plan
    evaluation: Evaluation

    @property
    def grid(self) -> tuple[int, int, int]:
        """Pipelines, stages, micro-batch size."""
        return len(self.plan.pipelines), len(self.plan.layers), self.plan.micro_batch


def check_together(store: Store, records: Sequence[Record]) -> Iterator[str]:
    """Claims of complete fronts and of grids' bounds that the plan of another run refutes."""
    for content in dict.fromkeys(record.instance_hash for record in records):
        of_one = [record for record in records if record.instance_hash == content]
        claims = [record for record in of_one if record.grids() is not None or _complete(record)]
        if claims:
            instance = store.instance(of_one[0])
            known = [each for record in of_one for each in _plans(record, instance)]
            for record in claims:
                yield from (f"{record.title}: {text}" for text in _refuted(record, instance, known))


def _complete(record: Record) -> bool:
    return record.front is not None and record.status is Status.OPTIMAL


def _plans(record: Record, instance: Instance) -> Iterator[Known]:
    files = [record.plan] if record.plan else [point.plan for point in record.front or ()]
    for file in files:
        plan = plan_of(file, instance, "plan")
        checked = check(instance, plan)
        if not isinstance(checked, Infeasible):
            yield Known(record.title, plan, checked)


def _refuted(record: Record, instance: Instance, known: Sequence[Known]) -> Iterator[str]:
    slack = 1 + 10 * TOLERANCE
    for each in known if _complete(record) else ():
        time, energy = each.evaluation.time_s * slack, each.evaluation.energy_j * slack
        if not any(point.time_s <= time and point.energy_j <= energy for point in record.front or ()):
            yield f"is called a complete front, but the plan of {each.title} lies outside it"
    goal = record.problem(instance).goal
    grids = {grid.grid: grid for grid in record.grids() or ()}
    for each in known:
        grid = grids.get(each.grid)
        if grid is not None and not goal.cap_violations(each.evaluation):
            value = goal.value(each.evaluation)
            if _above(grid, value):
                yield (
                    f"grid {grid.grid}: closed as {grid.closed!r} with the bound {grid.bound!r}, "
                    f"but the plan of {each.title} has {value!r} there"
                )


def _above(grid: GridProof, value: float) -> bool:
    return grid.closed == "infeasible" or (grid.bound is not None and grid.bound > value * (1 + TOLERANCE))
