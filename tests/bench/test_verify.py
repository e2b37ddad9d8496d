"""Changing one digit of what a run folder claims is noticed, even by somebody who mends the checksum."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.records.record import Record, checksum, record_of
from bench.records.task import Task
from bench.runs.isolated import Ending, IsolatedRun, Termination
from bench.runs.store import Store
from bench.verification.folder import verify_store
from instances.files import model_from_json
from instances.objective import parse_objective
from solvers.core.interface import Budget, Monitor
from solvers.core.registry import make_solver
from tests.bench.folders import CODE
from tests.random_instances import random_instance

Content = dict[str, Any]


def task(solver: str, objective: str = "time", seed: int = 3) -> Task:
    return Task(random_instance(seed, 3), solver, {}, parse_objective(objective), None, Budget(), code=CODE)


def ending(asked: Task) -> Ending:
    if make_solver(asked.solver).calls:
        return IsolatedRun(asked.solver, {}, asked.problem, asked.budget).wait()
    outcome = make_solver(asked.solver).solve(asked.problem, asked.budget, Monitor())
    return Ending(outcome, Termination.FINISHED, 60.0, 0.1, 0.1)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A folder with an exact method, enumeration, a front and the uniform plan."""
    store = Store(tmp_path_factory.mktemp("runs"))
    tasks = [task("cpsat"), task("cpsat", "energy"), task("brute"), task("brute", "front"), task("megatron")]
    with store.writing():
        store.plan("test", tasks)
        for asked in tasks:
            store.append(record_of(asked, ending(asked), jobs=1))
    return store


def tampered(
    honest: Store, folder: Path, number: int, change: Callable[[Content], None], mend: bool = True
) -> list[str]:
    """Findings after one record was changed, its checksum made again if `mend`."""
    store = Store(folder)
    records = [record.to_json() for record in honest.records()]
    change(records[number])
    if mend:
        records[number]["checksum"] = checksum(records[number])
    with store.writing():
        store.plan(
            "test", [task("cpsat"), task("cpsat", "energy"), task("brute"), task("brute", "front"), task("megatron")]
        )
        for record in records:
            store.append(model_from_json(Record, record, "changed"))
    return verify_store(store)


def test_an_honest_folder_has_no_findings(honest: Store) -> None:
    assert [record.status for record in honest.records()][:4] == ["optimal"] * 4
    assert verify_store(honest) == []


def set_in(record: Content, path: tuple[str | int, ...], change: Callable[[Any], Any]) -> None:
    place: Any = record
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = change(place[path[-1]])


def nudge(value: float) -> float:
    """Change the fourth significant digit."""
    return value * 1.001


CLAIMS: list[tuple[str, int, tuple[str | int, ...], Callable[[Any], Any]]] = [
    ("value", 0, ("value",), nudge),
    ("bound up", 0, ("bound",), nudge),
    ("bound down", 0, ("bound",), lambda value: value * 0.999),
    ("gap", 0, ("gap",), lambda value: value + 0.001),
    ("time", 0, ("time_s",), nudge),
    ("energy", 0, ("energy_j",), nudge),
    ("status", 0, ("status",), lambda _: "feasible"),
    ("infeasible", 0, ("status",), lambda _: "infeasible"),
    ("layer", 0, ("plan", "layers", 0), lambda layers: layers + 1),
    ("micro-batch", 0, ("plan", "micro_batch"), lambda size: size + 1),
    ("breakdown", 0, ("breakdown", "fill_s"), nudge),
    ("busy seconds", 0, ("breakdown", "gpus", 0, "busy_s"), nudge),
    ("grid left out", 0, ("details", "grids"), lambda grids: grids[1:]),
    ("cheap bound", 1, ("details", "grids", 0, "cheap_bound"), lambda value: 1.0 if value is None else nudge(value)),
    ("uniform value", 4, ("value",), nudge),
    ("uniform status", 4, ("status",), lambda _: "optimal"),
    ("enumeration's bound", 2, ("bound",), lambda value: value * 0.999),
    ("front time", 3, ("front", 0, "time_s"), nudge),
    ("front plan", 3, ("front", 0, "plan", "layers", 0), lambda layers: layers + 1),
    ("instance hash", 0, ("instance_hash",), lambda text: text[:-1] + ("0" if text[-1] != "0" else "1")),
    ("cost model", 0, ("cost_model_version",), lambda version: version + 1),
]


@pytest.mark.parametrize(("number", "path", "change"), [row[1:] for row in CLAIMS], ids=[row[0] for row in CLAIMS])
def test_a_changed_claim_is_found_without_the_checksum(
    honest: Store, tmp_path: Path, number: int, path: tuple[str | int, ...], change: Callable[[Any], Any]
) -> None:
    assert tampered(honest, tmp_path, number, lambda record: set_in(record, path, change))


def leaves(content: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths of all numbers and texts in a record."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from leaves(value, (*path, key))
    elif isinstance(content, list):
        for key, value in enumerate(content):
            yield from leaves(value, (*path, key))
    elif isinstance(content, int | float | str) and not isinstance(content, bool):
        yield path


def test_any_changed_figure_breaks_the_checksum(honest: Store, tmp_path: Path) -> None:
    record = honest.records()[0].to_json()
    for path in leaves(record):
        if path[0] == "checksum":
            continue
        changed = copy.deepcopy(record)
        set_in(changed, path, lambda value: value + "x" if isinstance(value, str) else value + 1)
        assert checksum(changed) != changed["checksum"], path
    findings = tampered(
        honest, tmp_path, 0, lambda record: set_in(record, ("seed",), lambda seed: seed + 1), mend=False
    )
    assert any("checksum" in finding for finding in findings)


def test_a_bound_above_another_runs_plan_names_both(honest: Store, tmp_path: Path) -> None:
    def claim_more(record: Content) -> None:
        record.update(status="unknown", plan=None, value=None, gap=None, time_s=None, energy_j=None, breakdown=None)
        record.update(bound=record["bound"] * 1.01, trace=[], details={})

    findings = tampered(honest, tmp_path, 0, claim_more)
    assert any("cpsat" in finding and "brute" in finding for finding in findings)


def test_a_record_survives_json(honest: Store) -> None:
    for record in honest.records():
        content = json.loads(json.dumps(record.to_json()))
        assert checksum(content) == record.checksum
        assert model_from_json(Record, content, "again") == record
