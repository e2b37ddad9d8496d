"""CP-SAT: proves optima and bounds by OR-Tools models of subproblems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from solvers.core.interface import Budget, Monitor, Outcome, Problem, Proof, Solver
from solvers.core.registry import register
from solvers.exact.initial_plans import check_start
from solvers.exact.leaf_model import Model
from solvers.exact.prove import solve_exactly, warm_up_exact


@register
@dataclass(frozen=True)
class CpSat(Solver):
    """Whole numbers inside, rounded the safe way; every plan is valued by the referee.

    Options: `start` names the solver whose plan is the first cut-off: memetic, megatron or none.
    """

    start: str = "memetic"
    whole: bool = False

    name: ClassVar[str] = "cpsat"
    summary: ClassVar[str] = "CP-SAT on what branch and bound leaves of each grid"
    proves: ClassVar[Proof] = Proof.OPTIMUM_AND_BOUND
    takes_seed: ClassVar[bool] = True
    takes_start: ClassVar[bool] = True
    shows_grids: ClassVar[bool] = True
    calls: ClassVar[tuple[str, ...]] = ("memetic", "megatron")

    def __post_init__(self) -> None:
        check_start(self.start)

    def warm_up(self) -> None:
        """Load OR-Tools; compile the relaxations and the solver to start from, or load what was compiled."""
        import solvers.exact.cpsat_model.model  # noqa: F401

        warm_up_exact(self.start)

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """Prove the optimum, or the best bound that the budget allows."""

        def make() -> Model:
            from solvers.exact.cpsat_model.model import CpSatModel  # OR-Tools loads late

            return CpSatModel(budget.threads, budget.seed)

        return solve_exactly(problem, budget, monitor, make, ("ortools",), self.start, self.whole)
