"""The recommended way for one's own pool: plans at once, then a proof or a bound for what is left of the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.records.record import Result
from bench.runs.isolated import Termination
from bench.runs.solve import solve_request
from instances.files import plan_of
from instances.instance import Instance
from instances.plan import Plan
from solvers.core.interface import Budget

BASELINES = ("megatron", "dtfm")
"""What people launch, and the strongest published scheduler."""
SHARES = {"dtfm": 0.1, "memetic": 0.25}
"""Of the time; `cpsat` gets what is left."""


@dataclass(frozen=True)
class Recommendation:
    """The best plan found, what proves how good it is, and what it is compared with.

    Attributes
    ----------
    answer
        The result with the best plan: that of `cpsat`, unless it was interrupted or failed.
    baselines
        Results of `BASELINES`, by solver.
    """

    instance: Instance
    answer: Result
    baselines: Mapping[str, Result]

    @property
    def plan(self) -> Plan | None:
        """The plan, in terms of the instance."""
        return plan_of(self.answer.plan, self.instance, "plan") if self.answer.plan else None

    @property
    def interrupted(self) -> bool:
        """Whether the caller ended it early."""
        return self.answer.ended is Termination.INTERRUPTED


def recommend(
    instance: Instance,
    objective: str,
    seconds: float,
    seed: int = 0,
    threads: int = 1,
    left_out: Sequence[str] = (),
    on_step: Callable[[str, Result], None] = lambda solver, result: None,
    live: bool = False,
) -> Recommendation:
    """Run the baselines, `memetic` and `cpsat` within so many seconds of search; `on_step` hears of each result.

    `cpsat` starts from the best plan found before, so its answer is never worse. What interrupts a solver ends the
    whole; what was found until then is the answer. InputError for what does not fit.
    """
    found: dict[str, Result] = {}
    left = seconds
    for solver in (*BASELINES, "memetic", "cpsat"):
        best = _best(found)
        start = plan_of(best.plan, instance, solver) if best and best.plan else None
        found[solver] = solve_request(
            instance,
            solver,
            {},
            objective,
            Budget(SHARES[solver] * seconds if solver in SHARES else left, None, seed, threads),
            start=start if solver == "cpsat" else None,
            left_out=left_out,
            live=live,
        )
        left = max(0.0, left - found[solver].wall_s)
        on_step(solver, found[solver])
        if found[solver].ended is Termination.INTERRUPTED:
            break
    answer = _best(found) or list(found.values())[-1]
    return Recommendation(instance, answer, {solver: found[solver] for solver in BASELINES if solver in found})


def _best(found: Mapping[str, Result]) -> Result | None:
    """The result with the least value; of equals the latest, which knows most."""
    values = {solver: result.value for solver, result in found.items() if result.value is not None}
    return found[min(reversed(values), key=values.__getitem__)] if values else None
