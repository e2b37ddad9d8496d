"""What every solver keeps to, checked on a tiny instance whose optima are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from itertools import pairwise
from math import isclose
from typing import Any, NamedTuple

from bench.runs.isolated import IsolatedRun
from bench.runs.judge import Verdict, judge
from instances.contract import Rule, require
from instances.errors import InputError
from instances.generator.family import generate
from instances.instance import Instance
from instances.objective import parse_objective
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Proof, Solver, Status
from solvers.core.registry import make_solver, solver_types
from solvers.placements.uniform import reference_of

CLOSE = 1e-9
PROVERS = (Proof.OPTIMUM, Proof.OPTIMUM_AND_BOUND)


@dataclass(frozen=True)
class Known:
    """An instance and what is true of it.

    Attributes
    ----------
    optima
        By objective.
    front
        All nondominated (s, J).
    best
        A plan of least time and one of least energy, by objective.
    infeasible
        Instances without a plan.
    """

    instance: Instance
    optima: Mapping[str, float]
    front: tuple[tuple[float, float], ...]
    best: Mapping[str, Plan]
    infeasible: tuple[Instance, ...]

    def problem(self, objective: str, start: Plan | None = None) -> Problem:
        """The problem of an objective, relative to the uniform plan where that is needed."""
        return Problem(self.instance, parse_objective(objective).goal(reference_of(self.instance)), start)


class Ran(NamedTuple):
    """A run: the outcome, the referee's word on it, and what the monitor heard."""

    outcome: Outcome
    verdict: Verdict
    plans: list[Plan]
    bounds: list[float]


@dataclass(frozen=True)
class Subject:
    """A solver with the options to check it with."""

    name: str
    options: Mapping[str, str]
    known: Known

    @property
    def kind(self) -> type[Solver]:
        """Its class."""
        return solver_types()[self.name]

    @property
    def proves(self) -> bool:
        """Whether it proves optima."""
        return self.kind.proves in PROVERS

    def made(self, **options: str) -> Solver:
        """The solver, with more options."""
        return make_solver(self.name, {**self.options, **options})

    def run(self, problem: Problem, budget: Budget | None = None) -> Ran:
        """Solve here, in this process. Broken if the referee has to correct the outcome."""
        # Searches end by evaluations, what proves by its proof: the seconds only stop a runaway.
        budget = budget or Budget(seconds=60, evaluations=None if self.proves else 400, seed=1)
        plans: list[Plan] = []
        bounds: list[float] = []
        monitor = Monitor(on_plan=plans.append, on_bound=lambda bound, _: bounds.append(bound))
        outcome = self.made().solve(problem, budget, monitor)
        require(isinstance(outcome, Outcome), f"solve returned {type(outcome).__name__}, expected an Outcome")
        verdict = judge(problem, outcome)
        require(verdict.status is not Status.ERROR, f"the referee rejects the answer: {verdict.reason}")
        require(verdict.reason is None, f"the referee corrects the answer: {verdict.reason}")
        return Ran(outcome, verdict, plans, bounds)


def known_by_enumeration() -> Known:
    """A pool of three GPUs with carbon, prices and a power cap, solved by `brute`."""
    instance = generate("federation", 3, 1, {})
    groups = tuple(group.model_copy(update={"memory": 1.0}) for group in instance.groups)
    hopeless = instance.model_copy(update={"groups": groups})
    known = Known(instance, {}, (), {}, (hopeless,))
    brute = make_solver("brute")
    optima: dict[str, float] = {}
    best: dict[str, Plan] = {}
    for objective in ("time", "energy", "carbon", "cost", "weighted:0.5", "energy@1x"):
        problem = known.problem(objective)
        plan = brute.solve(problem, Budget(), Monitor()).plan
        assert plan is not None, objective
        optima[objective] = judge(problem, Outcome(Status.FEASIBLE, plan)).value or 0.0
        best[objective] = plan
    front = brute.solve(known.problem("front"), Budget(), Monitor()).front or ()
    costs = [evaluate(instance, plan) for plan in front]
    return replace(known, optima=optima, best=best, front=tuple((cost.time_s, cost.energy_j) for cost in costs))


def says_what_it_is(subject: Subject) -> None:
    """Name, summary, flags and a docstring."""
    kind, name = subject.kind, subject.name
    require(kind.name == name.lower(), f"its name, {kind.name!r}, is not in small letters")
    require(bool(kind.summary) and "\n" not in kind.summary, f"its summary, {kind.summary!r}, is not one line")
    require(isinstance(kind.proves, Proof), f"`proves` is {kind.proves!r}, expected a Proof")
    for flag in ("random", "takes_seed", "fronts", "takes_start", "shows_grids"):
        require(isinstance(getattr(kind, flag), bool), f"`{flag}` is {getattr(kind, flag)!r}, expected True or False")
    require(bool((kind.__doc__ or "").strip()), "its class has no docstring")


def reads_its_options(subject: Subject) -> None:
    """Each option has a default that reads back from text."""
    require(is_dataclass(subject.kind), "its class is no dataclass")
    kind: Any = subject.kind
    options = [option for option in fields(kind) if option.name not in subject.options]
    bare = [option.name for option in options if option.default is MISSING]
    require(not bare, f"options without a default: {', '.join(bare)}")
    again = subject.made(**{option.name: str(option.default) for option in options})
    require(again == subject.made(), "its defaults, written as text and read again, give another solver")


def refuses_unknown_options(subject: Subject) -> None:
    """By name."""
    try:
        subject.made(colour="red")
    except InputError as error:
        require("'colour'" in str(error), f"an unknown option is refused without its name: {error}")
    else:
        require(False, "an unknown option is accepted")


def is_honest(subject: Subject) -> None:
    """No value below the optimum, no bound above it, no claim beyond what it declares."""
    for objective, optimum in subject.known.optima.items():
        ran = subject.run(subject.known.problem(objective))
        _fits(subject, ran, objective, optimum)


def _fits(subject: Subject, ran: Ran, objective: str, optimum: float) -> None:
    outcome, value = ran.outcome, ran.verdict.value
    require(outcome.status is not Status.INFEASIBLE, f"{objective}: calls a feasible instance infeasible")
    require(value is None or value >= optimum * (1 - CLOSE), f"{objective}: value {value} is below the optimum")
    claims = outcome.bound is not None or outcome.status is Status.OPTIMAL
    require(not claims or subject.kind.proves is not Proof.NOTHING, f"{objective}: claims more than `proves` says")
    for bound in [*ran.bounds, *([] if outcome.bound is None else [outcome.bound])]:
        require(bound <= optimum * (1 + CLOSE), f"{objective}: bound {bound!r} is above the optimum, {optimum!r}")
    if outcome.status is Status.OPTIMAL:
        fine = value is not None and isclose(value, optimum, rel_tol=CLOSE)
        require(fine, f"{objective}: {value!r} is called optimal, the optimum is {optimum!r}")
    for plan in ran.plans:
        broken = violations(subject.known.instance, plan)
        require(not broken, f"{objective}: a plan that it told of is infeasible: {broken[0] if broken else ''}")


def proves_what_it_declares(subject: Subject) -> None:
    """What proves optima proves those of a tiny instance."""
    for objective, optimum in subject.known.optima.items() if subject.proves else ():
        ran = subject.run(subject.known.problem(objective))
        value = ran.verdict.value
        proven = (ran.outcome.status, ran.verdict.status) == (Status.OPTIMAL, Status.OPTIMAL)
        require(proven, f"{objective}: {ran.verdict.status} within 60 s, expected a proof")
        require(
            value is not None and isclose(value, optimum, rel_tol=CLOSE), f"{objective}: {value!r}, not {optimum!r}"
        )
        require(not ran.outcome.limit_reached, f"{objective}: a proof that says that the budget ended before")


def tells_what_it_finds(subject: Subject) -> None:
    """The trace falls to the value, and what searches tells its plans while it searches."""
    problem = subject.known.problem("energy")
    ran = subject.run(problem)
    trace, value = ran.outcome.trace, ran.verdict.value
    require(all(b.value < a.value for a, b in pairwise(trace)), "the values of its trace do not fall")
    rising = all(b.seconds >= a.seconds and b.evaluations >= a.evaluations for a, b in pairwise(trace))
    require(rising, "the seconds or evaluations of its trace fall")
    if value is None:
        return
    require(bool(trace), "has a plan and an empty trace: call Deadline.note(value) for each better plan")
    require(isclose(trace[-1].value, value, rel_tol=CLOSE), f"its trace ends at {trace[-1].value!r}, not at {value!r}")
    if subject.kind.random or subject.proves:
        told = [problem.value(plan) for plan in ran.plans]
        require(value in told, "its best plan was not told to the monitor: lost when it is stopped from outside")


def gives_true_fronts(subject: Subject) -> None:
    """Points of a front lie on the true one or behind it; one that is called complete has all."""
    if not subject.kind.fronts:
        return
    ran = subject.run(subject.known.problem("front"))
    require(ran.outcome.plan is None and ran.outcome.bound is None, "a front has no single plan and no bound")
    require(bool(ran.verdict.front), "finds no point of the front")
    for point in ran.verdict.front or ():
        time, energy = point.evaluation.time_s * (1 + CLOSE), point.evaluation.energy_j * (1 + CLOSE)
        behind = any(t <= time and e <= energy for t, e in subject.known.front)
        require(behind, f"point ({time:g} s, {energy:g} J) lies before the true front")
    if ran.outcome.status is Status.OPTIMAL:
        require(subject.kind.proves is not Proof.NOTHING, "calls a front complete without proving anything")
        require(len(ran.verdict.front or ()) == len(subject.known.front), "calls a front complete that is not")


def makes_nothing_up(subject: Subject) -> None:
    """No plan where none fits, and `infeasible` only where it is proven."""
    for instance in subject.known.infeasible:
        for objective in ("time", "front") if subject.kind.fronts else ("time",):
            ran = subject.run(replace(subject.known, instance=instance).problem(objective))
            nothing = ran.verdict.plan is None and ran.verdict.value is None and ran.verdict.front is None
            require(nothing, f"{objective}: has an answer where no plan is feasible")
            _infeasible(subject, ran, objective)


def keeps_caps(subject: Subject) -> None:
    """A cap that no plan keeps leaves no plan."""
    ran = subject.run(subject.known.problem(f"energy@{subject.known.optima['time'] * 0.99!r}"))
    require(ran.verdict.plan is None, "has a plan where the cap on time allows none")
    _infeasible(subject, ran, "energy@T")


def _infeasible(subject: Subject, ran: Ran, objective: str) -> None:
    expected = (Status.INFEASIBLE,) if subject.proves and objective != "front" else (Status.INFEASIBLE, Status.UNKNOWN)
    require(ran.outcome.status in expected, f"{objective}: {ran.outcome.status} where there is no plan")
    silent = ran.outcome.status is not Status.INFEASIBLE or subject.kind.proves is not Proof.NOTHING
    require(silent, f"{objective}: calls it infeasible, but `proves` is nothing: say unknown")


def survives_no_budget(subject: Subject) -> None:
    """Next to no budget gives an honest answer too."""
    budgets = (Budget(0.0), Budget(60.0, 0), Budget(0.0, 0), Budget(60.0, 1))
    for objective in ("time", "front") if subject.kind.fronts else ("time",):
        for budget in budgets:
            for instance in (subject.known.instance, *subject.known.infeasible):
                ran = subject.run(replace(subject.known, instance=instance).problem(objective), budget)
                if ran.outcome.status in (Status.OPTIMAL, Status.INFEASIBLE):
                    where = f"{objective} with {budget.seconds} s and {budget.evaluations} evaluations"
                    require(subject.proves, f"{where}: {ran.outcome.status} without proving anything")
                    require(not ran.outcome.limit_reached, f"{where}: a proof that says that the budget ended before")


def is_no_worse_than_its_start(subject: Subject) -> None:
    """For solvers that take a start plan."""
    for objective in ("time", "energy") if subject.kind.takes_start else ():
        problem = subject.known.problem(objective, subject.known.best[objective])
        for budget in (Budget(seconds=0), Budget(evaluations=0), Budget(evaluations=1), None):
            value, optimum = subject.run(problem, budget).verdict.value, subject.known.optima[objective]
            fine = value is not None and isclose(value, optimum, rel_tol=CLOSE)
            require(fine, f"{objective}: {value!r} from a start of {optimum!r}")


def repeats_itself(subject: Subject) -> None:
    """The same seed gives the same answer."""
    for objective in ("time", "energy"):
        first, again = (subject.run(subject.known.problem(objective)) for _ in range(2))
        require(first.outcome.status == again.outcome.status, f"{objective}: two runs differ in status")
        require(first.verdict.value == again.verdict.value, f"{objective}: two runs of one seed differ in value")
        require(first.outcome.bound == again.outcome.bound, f"{objective}: two runs of one seed differ in bound")
        if not subject.proves:  # two proofs may take different ways to plans of one value
            require(first.outcome.plan == again.outcome.plan, f"{objective}: two runs of one seed differ in their plan")


def uses_seeds_as_declared(subject: Subject) -> None:
    """What is not `random` ignores the seed."""
    if subject.kind.random:
        return
    first, other = (
        subject.run(subject.known.problem("time"), Budget(60.0, None if subject.proves else 400, seed))
        for seed in (0, 7)
    )
    require(first.verdict.value == other.verdict.value, "its value depends on the seed: declare `random`")
    if not subject.kind.takes_seed:
        require(first.outcome.plan == other.outcome.plan, "its plan depends on the seed: declare `takes_seed`")


def keeps_limits_from_outside(subject: Subject) -> None:
    """In a process of its own, as every run has one, it starts and ends within its limit."""
    run = IsolatedRun(subject.name, subject.options, subject.known.problem("time"), Budget(2.0, seed=1))
    ending = run.wait()
    require(ending.outcome.status is not Status.ERROR, f"fails in a process of its own: {ending.reason}")
    stopped = "stopped from outside" in (ending.reason or "")
    require(not stopped, "does not stop at its time limit, and had to be killed")


RULES: tuple[Rule[Subject], ...] = (
    Rule("says what it is", says_what_it_is, "set name, summary, proves and the flags as class variables"),
    Rule("options read back from text", reads_its_options, "make it a frozen dataclass; every field has a default"),
    Rule("refuses unknown options", refuses_unknown_options, "leave reading options to `make_solver`"),
    Rule(
        "honest about values and bounds",
        is_honest,
        "Status.FEASIBLE with a feasible plan, UNKNOWN without one, bounds only if proven; `problem.value(plan)` is "
        "the referee, None if the plan is infeasible",
    ),
    Rule("proves what it declares", proves_what_it_declares, "lower `proves`, or see why the proof takes so long"),
    Rule(
        "tells what it finds",
        tells_what_it_finds,
        "deadline = Deadline.of(budget, monitor); for each better plan deadline.note(value) and monitor.on_plan(plan); "
        "return trace=tuple(deadline.trace)",
    ),
    Rule("fronts are true", gives_true_fronts, "declare `fronts` only for an answer to the objective `front`"),
    Rule("makes nothing up", makes_nothing_up, "return Outcome(Status.UNKNOWN) where no feasible plan was found"),
    Rule("keeps caps", keeps_caps, "`problem.value(plan)` is None where a cap is broken"),
    Rule("honest with next to no budget", survives_no_budget, "ask `deadline.passed` before each plan"),
    Rule("never worse than its start", is_no_worse_than_its_start, "begin with `problem.start`"),
    Rule(
        "repeats itself",
        repeats_itself,
        "draw all random numbers from one generator, seeded by `budget.seed`; sort what comes from sets",
    ),
    Rule("uses seeds as declared", uses_seeds_as_declared, "declare `random = True`, or leave the seed alone"),
    Rule("keeps limits", keeps_limits_from_outside, "ask `deadline.passed` in the inner loop"),
)
