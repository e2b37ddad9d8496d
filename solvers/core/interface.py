"""The interface of every method: a problem and a budget go in, an outcome comes out.

Running out of time, finding nothing and proving infeasibility are outcomes; only bad input raises.
`None` means that there is none: no zero bounds, no infinite values, no empty plans.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from instances.instance import Instance
from instances.objective import Goal
from instances.plan import Plan
from instances.referee.check import Infeasible, check
from instances.tables import Tables


class Status(StrEnum):
    """What an outcome says of the problem."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"  # no plan, nothing proven
    ERROR = "error"


class Proof(Enum):
    """What a method can prove, in the words of `geotrain-bench solvers`."""

    NOTHING = "nothing"
    OPTIMUM = "optimum"
    OPTIMUM_AND_BOUND = "optimum, bound"
    BOUND = "bound"


@dataclass(frozen=True)
class Problem:
    """One instance with one goal, and the plan to start from, if any."""

    instance: Instance
    goal: Goal
    start: Plan | None = None

    @cached_property
    def tables(self) -> Tables:
        """The instance as arrays, energies in the unit of the goal."""
        return Tables.of(self.instance, self.goal.metric)

    def value(self, plan: Plan) -> float | None:
        """The referee's objective value; None if the plan is infeasible or breaks a cap."""
        checked = check(self.instance, plan, self.goal)
        return None if isinstance(checked, Infeasible) else self.goal.value(checked)


@dataclass(frozen=True)
class Budget:
    """When to stop: wall seconds, evaluations of plans, or both; None is no limit."""

    seconds: float | None = None
    evaluations: int | None = None
    seed: int = 0
    threads: int = 1


class TracePoint(NamedTuple):
    """The best value known after so many seconds and evaluations."""

    seconds: float
    evaluations: int
    value: float


@dataclass(frozen=True)
class Outcome:
    """What a method found and proved.

    `bound` is a proven lower bound on the objective. `front` (goal `front` only) holds the nondominated
    plans by rising time. `details` are figures of the method's own, as JSON.
    """

    status: Status
    plan: Plan | None = None
    bound: float | None = None
    front: tuple[Plan, ...] | None = None
    evaluations: int = 0
    trace: tuple[TracePoint, ...] = ()
    limit_reached: bool = False  # the budget ended before the method was done
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.status in (Status.OPTIMAL, Status.FEASIBLE)) != bool(self.plan or self.front):
            raise ValueError(f"an outcome that is {self.status} has {'no' if self.plan is None else 'a'} plan")


@dataclass(frozen=True)
class Monitor:
    """Hears of progress while a method runs, so that what was found outlives a kill from outside."""

    on_plan: Callable[[Plan], None] = lambda plan: None
    # A bound and the figures that prove it, as JSON: together, so that they always fit each other.
    on_bound: Callable[[float, Mapping[str, Any]], None] = lambda bound, proof: None
    on_details: Callable[[Mapping[str, Any]], None] = lambda details: None
    # These two are told by the deadline.
    on_trace: Callable[[TracePoint], None] = lambda point: None
    on_evaluations: Callable[[int], None] = lambda count: None


class Solver(ABC):
    """A method. Subclasses are frozen dataclasses whose fields are the options, each with a default.

    Attributes
    ----------
    name, summary
        As `geotrain-bench solvers` lists it.
    proves
        What its outcomes can prove.
    random
        Whether it searches at random: suites run it once for each of their seeds.
    takes_seed
        Whether the seed steers a library behind it: which of several best plans it returns and how far it gets within
        a limit, but not what is true. Suites run it once, or for each seed that its own entry lists.
    fronts
        Whether it answers the objective `front`.
    takes_start
        Whether it makes use of a start plan.
    shows_grids
        Whether `details.grids` gives the bound of every legal grid behind its claims: they are not believed without.
    calls
        Other solvers that it calls by name: their code can change its answers.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    proves: ClassVar[Proof] = Proof.NOTHING
    random: ClassVar[bool] = False
    takes_seed: ClassVar[bool] = False
    fronts: ClassVar[bool] = False
    takes_start: ClassVar[bool] = False
    shows_grids: ClassVar[bool] = False
    calls: ClassVar[tuple[str, ...]] = ()

    def files(self) -> Iterable[Path]:
        """Files, beside the solver's sources, whose contents can change its answers."""
        return ()

    def warm_up(self) -> None:  # noqa: B027 - most methods have nothing to prepare
        """Import and compile all that `solve` needs; called before the budget begins. Nothing is searched."""

    @abstractmethod
    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """Work on the problem until solved or the budget is spent."""
