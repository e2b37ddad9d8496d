"""MILP: proves optima and bounds by mixed-integer programs of subproblems, through PuLP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from solvers.core.interface import Budget, Monitor, Outcome, Problem, Proof, Solver
from solvers.core.registry import register
from solvers.exact.initial_plans import check_start
from solvers.exact.leaf_model import Model
from solvers.exact.prove import solve_exactly, warm_up_exact

PACKAGES = {"highs": ("pulp", "highspy"), "cbc": ("pulp",)}
"""The Python package of each back end."""


@register
@dataclass(frozen=True)
class Milp(Solver):
    """Gaps are set to 0, bounds are lowered by the solver's tolerance, every plan is valued by the referee.

    Options: `backend` is highs or cbc; `start` names the solver whose plan is the first cut-off: memetic,
    megatron or none. CBC proves optima, but gives no bound on a grid that it does not finish.
    """

    backend: str = "highs"
    start: str = "memetic"
    whole: bool = False

    name: ClassVar[str] = "milp"
    summary: ClassVar[str] = "mixed-integer programs on what branch and bound leaves of each grid"
    proves: ClassVar[Proof] = Proof.OPTIMUM_AND_BOUND
    takes_seed: ClassVar[bool] = True
    takes_start: ClassVar[bool] = True
    shows_grids: ClassVar[bool] = True
    calls: ClassVar[tuple[str, ...]] = ("memetic", "megatron")

    def __post_init__(self) -> None:
        check_start(self.start)
        if self.backend not in PACKAGES:
            raise ValueError(f"backend: {self.backend!r} is neither highs nor cbc")

    def warm_up(self) -> None:
        """Load PuLP and HiGHS; compile the relaxations and the solver to start from, or load what was compiled."""
        import highspy  # noqa: F401

        import solvers.exact.milp_model.model  # noqa: F401

        warm_up_exact(self.start)

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """Prove the optimum, or the best bound that the budget allows."""

        def make() -> Model:
            from solvers.exact.milp_model.model import MilpModel  # PuLP and HiGHS load late

            return MilpModel(self.backend, budget.threads, budget.seed)

        return solve_exactly(problem, budget, monitor, make, PACKAGES[self.backend], self.start, self.whole)
