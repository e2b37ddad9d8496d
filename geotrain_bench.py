"""GeoTrain-Bench for notebooks and scripts: load, save, generate, evaluate, solve, compare and draw.

    import geotrain_bench as gb

    pool = gb.generate("cloud", gpus=8, seed=1)
    answer = gb.solve(pool, "memetic", time_limit_s=5)
    print(answer.value, gb.compare(pool, gb.solve(pool, "megatron").plan, answer.plan))

Everything here is a thin layer over what the command line uses; docs/model.md says what the numbers mean. Importing
this module is quick: solvers and their libraries load when they are first used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from types import ModuleType
from typing import TYPE_CHECKING, Any

from instances.errors import InputError
from instances.files import plan_of
from instances.files import read_instance as load_instance
from instances.files import read_plan as load_plan
from instances.files import write_instance as save_instance
from instances.files import write_plan as save_plan
from instances.generator.family import families as _families
from instances.generator.family import generate as _generate
from instances.instance import Instance
from instances.plan import Gpu, Plan, gpu_name
from instances.reduce import without as _without
from instances.referee.evaluate import Evaluation, evaluate
from instances.referee.violations import violations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Comparison",
    "Evaluation",
    "FrontPoint",
    "Gpu",
    "InputError",
    "Instance",
    "Plan",
    "Solution",
    "compare",
    "draw",
    "evaluate",
    "families",
    "generate",
    "load_instance",
    "load_plan",
    "save_instance",
    "save_plan",
    "solve",
    "solvers",
    "violations",
    "without",
]

Scalar = str | int | float | bool
"""A value of an option."""


def families() -> dict[str, str]:
    """The instance families: name and what each covers."""
    return {name: family.summary for name, family in _families().items()}


def solvers() -> dict[str, str]:
    """The solvers: name and what each is."""
    from solvers.core.registry import solver_types

    return {name: solver.summary for name, solver in solver_types().items()}


def generate(family: str, gpus: int, seed: int = 0, **options: Scalar) -> Instance:
    """An instance of a family; the same arguments give the same instance on every machine.

    Parameters
    ----------
    family
        One of `families()`.
    gpus
        Number of GPUs, 2 to 1,024.
    seed
        0 or more.
    options
        The family's options, hyphens written as underscores: `generate("dtfm", 64, gpu_mix="mixed")`.

    Raises
    ------
    InputError
        Family, size or an option is wrong; names it and the reason.
    """
    return _generate(family, gpus, seed, {key.replace("_", "-"): _text(value) for key, value in options.items()})


def without(instance: Instance, names: Sequence[str]) -> Instance:
    """The instance without some groups (`"group"`) or GPUs (`"group/0"`). InputError if there is none of a name.

    GPUs of a group are numbered anew. To solve such a problem and get the plan in the names of the whole instance,
    give the names to `solve` instead.
    """
    return _without(instance, names).instance


@dataclass(frozen=True)
class FrontPoint:
    """One nondominated plan of a front."""

    plan: Plan
    time_s: float
    energy_j: float


@dataclass(frozen=True)
class Solution:
    """A solver's answer after the referee, plans in the names of the instance given to `solve`. None is: there is none.

    Values and bounds are in the unit of the objective, `time_s` and `energy_j` those of an iteration of the plan.
    """

    status: str  # `optimal`, `feasible`, `infeasible` (proven), `unknown` or `error`
    # `finished`, `time_limit`, `evaluation_limit`, `crashed`, `out_of_memory`, `interrupted` or `not_started`
    ended: str
    reason: str | None  # why it did not finish, a claim was not accepted or there is no plan
    value: float | None
    bound: float | None  # proven lower bound
    gap: float | None  # certified: (value - bound) / value
    plan: Plan | None
    time_s: float | None
    energy_j: float | None
    front: tuple[FrontPoint, ...] | None  # for the objective `front`: the nondominated plans by rising time
    wall_s: float  # of the search, without compilation
    evaluations: int  # plans costed
    trace: tuple[tuple[float, int, float], ...]  # (seconds, evaluations, value) of each improvement
    details: Mapping[str, Any]  # figures of the solver's own


# Long for its parameters and their documentation.
def solve(
    instance: Instance,
    solver: str = "memetic",
    *,
    objective: str = "time",
    reference: tuple[float, float] | None = None,
    time_limit_s: float | None = None,
    evaluations: int | None = None,
    seed: int = 0,
    threads: int = 1,
    start: Plan | None = None,
    without: Sequence[str] = (),
    **options: Scalar,
) -> Solution:
    """Find a plan, in a process of its own, and have it judged by the referee.

    Parameters
    ----------
    instance
        The problem.
    solver
        One of `solvers()`.
    objective
        `time`, `energy`, `weighted:0.5`, `energy@20` (s), `time@9000` (J), `energy@0.8x`, `carbon`, `cost` or `front`.
    reference
        T (s) and E (J) that weights and relative caps refer to; by default those of the best uniform plan.
    time_limit_s, evaluations
        When to stop: seconds of search, plans costed.
    seed, threads
        Of random and of exact solvers.
    start
        A feasible plan to start from, for solvers that take one.
    without
        Groups or GPUs to leave out, as in `without`.
    options
        The solver's own: `solve(pool, "milp", backend="cbc")`.

    Raises
    ------
    InputError
        An argument does not exist or does not fit; names it and the reason. A solver that fails does not raise: its
        status is `error`.
    """
    from bench.runs.solve import solve_request
    from solvers.core.interface import Budget

    texts = {key: _text(value) for key, value in options.items()}
    budget = Budget(time_limit_s, evaluations, seed, threads)
    with _caller_not_run_again():
        result = solve_request(
            instance, solver, texts, objective, budget, reference=reference, start=start, left_out=without
        )
    front = None
    if result.front is not None:
        points = [(plan_of(point.plan, instance, "front"), point.time_s, point.energy_j) for point in result.front]
        front = tuple(FrontPoint(*point) for point in points)
    same = {field.name: getattr(result, field.name) for field in fields(Solution)}
    return Solution(**{**same, "front": front, "plan": result.plan and plan_of(result.plan, instance, "plan")})


@dataclass(frozen=True)
class Comparison:
    """Two feasible plans of one instance, side by side: what they cost and what the second saves of the first."""

    first: Evaluation
    second: Evaluation
    time_saving: float  # (first - second) / first; negative where the second costs more
    energy_saving: float
    only_first: tuple[str, ...]  # GPUs that only one of them uses, by name
    only_second: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.first.time_s:.6g} s -> {self.second.time_s:.6g} s ({self.time_saving:+.2%} saved), "
            f"{self.first.energy_j:.6g} J -> {self.second.energy_j:.6g} J ({self.energy_saving:+.2%} saved)"
        )


def compare(instance: Instance, first: Plan, second: Plan) -> Comparison:
    """What the second plan saves of the first. ValueError if one is infeasible."""
    before, after = evaluate(instance, first), evaluate(instance, second)
    used, reused = ({gpu for row in plan.pipelines for gpu in row} for plan in (first, second))
    return Comparison(
        before,
        after,
        time_saving=(before.time_s - after.time_s) / before.time_s,
        energy_saving=(before.energy_j - after.energy_j) / before.energy_j,
        only_first=tuple(gpu_name(instance, gpu) for gpu in sorted(used - reused)),
        only_second=tuple(gpu_name(instance, gpu) for gpu in sorted(reused - used)),
    )


def draw(instance: Instance, plan: Plan) -> Figure:
    """A picture of a feasible plan: its pipelines, layers, links and where the time goes."""
    from bench.reporting.plots.plan import plan_figure

    return plan_figure(instance, plan)


@contextmanager
def _caller_not_run_again() -> Iterator[None]:
    """Hide the caller's script from the child processes.

    multiprocessing lets each of them run the main module again, which a script without `if __name__ == "__main__"`
    does not survive. Ours need nothing from it.
    """
    caller = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = caller


def _text(value: Scalar) -> str:
    """An option as it is written on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)
