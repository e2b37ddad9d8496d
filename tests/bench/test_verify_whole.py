"""Records of `whole=true` are believed where they are honest, and what solves a proof again depends on its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.records.record import Record, checksum, record_of
from bench.records.task import Task
from bench.runs.isolated import Ending, Termination
from bench.runs.store import Store
from bench.verification.folder import verify_folder, verify_store
from bench.verification.resolve import resolve, witness_of
from instances.files import model_from_json
from instances.instance import Instance
from instances.objective import parse_objective
from solvers.core.interface import Budget, Monitor, Problem, Status
from solvers.core.registry import make_solver
from tests.bench.folders import CODE
from tests.random_instances import random_instance

Content = dict[str, Any]
OPTIONS = {"whole": "true", "start": "none"}


def task(solver: str, objective: str = "time", instance: Instance | None = None, **more: Any) -> Task:
    options = more.pop("options", OPTIONS if solver in ("cpsat", "milp") else {})
    pool = instance or random_instance(3, 4)
    return Task(pool, solver, options, parse_objective(objective), None, Budget(**more), code=CODE)


def starved() -> Instance:
    """Nothing fits anywhere: every objective is infeasible, the front too."""
    pool = random_instance(1)
    return pool.model_copy(update={"groups": tuple(g.model_copy(update={"memory": 1.0}) for g in pool.groups)})


def folder(path: Path, tasks: list[Task]) -> Store:
    """A folder with the honest records of these tasks."""
    store = Store(path)
    with store.writing():
        store.plan("test", tasks)
        for asked in tasks:
            outcome = make_solver(asked.solver, asked.options).solve(asked.problem, asked.budget, Monitor())
            ended = Termination.TIME_LIMIT if outcome.limit_reached else Termination.FINISHED
            store.append(record_of(asked, Ending(outcome, ended, 60.0, 0.1, 0.1), jobs=1))
    return store


TASKS = [task("cpsat"), task("milp", "energy"), task("cpsat", evaluations=1, seed=4), task("cpsat", instance=starved())]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return folder(tmp_path_factory.mktemp("whole"), TASKS)


def test_honest_whole_records_have_no_findings(honest: Store) -> None:
    records = honest.records()
    assert [record.status for record in records] == ["optimal", "optimal", "feasible", "infeasible"]
    open_grids = [grid for grid in records[2].grids() or () if grid.closed == "open"]
    assert any(grid.bound is None for grid in open_grids)
    assert records[2].bound is None
    assert verify_store(honest) == []


def grid_of(record: Content, wanted: Callable[[Content], bool]) -> Content:
    return next(grid for grid in record["details"]["grids"] if wanted(grid))


def own_grid(record: Content) -> Content:
    plan = record["plan"]
    shape = len(plan["pipelines"]), len(plan["layers"]), plan["micro_batch"]
    return grid_of(record, lambda grid: (grid["replicas"], grid["stages"], grid["micro_batch"]) == shape)


def is_solved(grid: Content) -> bool:
    return bool(grid["closed"] == "solved")


def is_open(grid: Content) -> bool:
    return bool(grid["closed"] == "open")


FORGERIES: dict[str, tuple[int, Callable[[Content], object]]] = {
    "a grid left out": (0, lambda record: record["details"]["grids"].pop()),
    "a grid left open": (0, lambda record: grid_of(record, is_solved).update(closed="open", bound=None)),
    "solved without a bound": (0, lambda record: grid_of(record, is_solved).update(bound=None)),
    "a bound below the value": (
        0,
        lambda record: grid_of(record, is_solved).update(bound=record["value"] * 0.9),
    ),
    "its own grid's bound above the value": (0, lambda record: own_grid(record).update(bound=record["value"] * 1.1)),
    "its own grid infeasible": (0, lambda record: own_grid(record).update(closed="infeasible", bound=None)),
    "a cheap bound": (1, lambda record: grid_of(record, is_solved).update(cheap_bound=1.0)),
    "closed by a cheap bound": (1, lambda record: grid_of(record, is_solved).update(closed="cheap bound")),
    "a grid of the search": (1, lambda record: grid_of(record, is_solved).pop("whole")),
    "optimal with open grids": (
        2,
        lambda record: record.update(status="optimal", bound=record["value"], gap=0.0),
    ),
    "a bound with open grids": (
        2,
        lambda record: record.update(bound=record["value"] * 0.9, gap=1 - record["value"] * 0.9 / record["value"]),
    ),
    "infeasible with an open grid": (3, lambda record: record["details"]["grids"][0].update(closed="open")),
    "a word that is none": (0, lambda record: grid_of(record, is_solved).update(closed="surely")),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_whole_record_is_found_without_the_checksum(honest: Store, tmp_path: Path, name: str) -> None:
    number, forge = FORGERIES[name]
    records = [record.to_json() for record in honest.records()]
    forge(records[number])
    records[number]["checksum"] = checksum(records[number])
    store = Store(tmp_path)
    with store.writing():
        store.plan("test", TASKS)
        for record in records:
            store.append(model_from_json(Record, record, "changed"))
    assert verify_store(store)


def test_a_search_that_calls_its_grids_whole_is_found(tmp_path: Path) -> None:
    """Otherwise nobody would compare its cheap bounds."""
    asked = task("cpsat", options={"start": "none"})
    (record,) = (record.to_json() for record in folder(tmp_path / "honest", [asked]).records())
    for grid in record["details"]["grids"]:
        grid.update(whole=True, cheap_bound=None)
    record["checksum"] = checksum(record)
    store = Store(tmp_path / "forged")
    with store.writing():
        store.plan("test", [asked])
        store.append(model_from_json(Record, record, "changed"))
    assert any("whole" in finding for finding in verify_store(store))


def test_the_witness_shares_as_little_as_the_size_allows(honest: Store) -> None:
    by_cpsat = honest.records()[0]
    problem = TASKS[0].problem
    assert witness_of(by_cpsat, problem).name == "brute"
    assert witness_of(by_cpsat.model_copy(update={"solver": "brute"}), problem).name == "cpsat[whole]"
    larger = random_instance(4, 9)
    larger = larger.model_copy(update={"model": larger.model.model_copy(update={"layers": 7})})
    assert witness_of(by_cpsat, Problem(larger, problem.goal)).name == "milp[whole]"
    assert witness_of(by_cpsat.model_copy(update={"solver": "milp"}), Problem(larger, problem.goal)).name == (
        "cpsat[whole]"
    )
    huge = larger.model_copy(update={"model": larger.model.model_copy(update={"layers": 48})})
    assert witness_of(by_cpsat, Problem(huge, problem.goal)).name == "milp"


def test_every_proof_is_solved_again_and_the_witness_named(tmp_path: Path) -> None:
    """An infeasible front is a proof as well: there is no plan at all."""
    tasks = [task("cpsat"), task("brute"), task("brute", "front", starved())]
    folder(tmp_path, tasks)
    done = verify_folder(tmp_path, 60.0)
    assert done.findings == []
    assert (done.proofs, done.resolved) == (3, 3)
    assert done.witnesses == {"brute": 1, "cpsat[whole]": 2}


def test_a_false_optimum_is_contradicted_by_its_witness(tmp_path: Path) -> None:
    """The uniform plan, called optimal by enumeration: the whole model has a better one."""
    asked = task("brute")
    plan = make_solver("megatron").solve(asked.problem, Budget(), Monitor()).plan
    best = make_solver("brute").solve(asked.problem, Budget(), Monitor())
    assert plan is not None
    assert best.plan is not None
    value = asked.problem.value(plan)
    assert value is not None
    assert value > 1.001 * (asked.problem.value(best.plan) or 0.0)
    false = replace(best, plan=plan, bound=value, status=Status.OPTIMAL)
    record = record_of(asked, Ending(false, Termination.FINISHED, 60.0, 0.1, 0.1), jobs=1)
    done = resolve(record, asked.instance, 60.0)
    assert done.witness == "cpsat[whole]"
    assert any("cpsat[whole] has a plan" in finding for finding in done.findings)
