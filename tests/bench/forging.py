"""A run folder with every kind of claim, and the means of a careful forger: keys and checksums are made anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.records.record import Record, Task, checksum
from bench.runs.isolated import Ending, IsolatedRun, Termination
from instances.files import model_from_json, read_instance
from instances.instance import Instance
from instances.objective import parse_objective
from instances.plan import Plan
from solvers.core.interface import Budget, Monitor, Outcome, Status
from solvers.core.registry import make_solver
from solvers.core.sources import solver_digest
from solvers.placements.uniform import reference_of
from tests.random_instances import random_instance

Content = dict[str, Any]
POOL, STARVED = random_instance(4, 4), random_instance(1)
EXACT = {"start": "none"}


def task(solver: str, objective: str = "time", instance: Instance = POOL, **more: Any) -> Task:
    options = more.pop("options", EXACT if solver in ("cpsat", "milp") else {})
    parsed = parse_objective(objective)
    reference = reference_of(instance) if parsed.needs_reference else None
    return Task(instance, solver, options, parsed, reference, Budget(**more), solver_digest(solver))


def starved() -> Instance:
    groups = tuple(group.model_copy(update={"memory": 1.0}) for group in STARVED.groups)
    return STARVED.model_copy(update={"groups": groups, "name": "starved"})


TASKS = {
    "cpsat": task("cpsat"),
    "milp": task("milp", "energy"),
    "brute": task("brute"),
    "front": task("brute", "front"),
    "megatron": task("megatron"),
    "memetic": task("memetic", evaluations=2000, seed=1),
    "weighted": task("megatron", "weighted:0.5"),
    "starved": task("cpsat", instance=starved()),
    "cut": task("cpsat", "energy", seconds=5.0, options={"start": "megatron"}),
    "whole": task("cpsat", options={"start": "none", "whole": "true"}),
}


def cut_off(asked: Task) -> Ending:
    """A run that was killed when it knew the cheap bounds and the uniform plan."""
    told: list[tuple[float, Content]] = []
    plans: list[Plan] = []
    monitor = Monitor(on_plan=plans.append, on_bound=lambda bound, proof: told.append((bound, dict(proof))))
    make_solver(asked.solver, {"start": "none"}).solve(asked.problem, Budget(), monitor)
    bound, proof = next(each for each in told if each[1].get("grids"))
    plan = make_solver("megatron").solve(asked.problem, Budget(), Monitor()).plan
    outcome = Outcome(Status.FEASIBLE, plan, bound=bound, details=proof)
    return Ending(outcome, Termination.TIME_LIMIT, 6.0, None, 0.1, "stopped from outside at its time limit")


def ending(name: str) -> Ending:
    asked = TASKS[name]
    if name == "cut":
        return cut_off(asked)
    return IsolatedRun(asked.solver, asked.options, asked.problem, asked.budget).wait()


class Folder:
    """The forger's copy: records by name, and what suite.json asks for."""

    def __init__(self, honest: Path, path: Path) -> None:
        shutil.copytree(honest, path)
        self.path = path
        lines = (path / "runs.jsonl").read_text(encoding="utf-8").splitlines()
        self.records: dict[str, Content] = dict(zip(TASKS, map(json.loads, lines), strict=True))
        self.suite: Content = json.loads((path / "suite.json").read_text(encoding="utf-8"))
        self.asked: dict[str, Content] = dict(zip(TASKS, self.suite["runs"], strict=True))
        self.mend_checksums, self.mend_keys = True, True
        self.more: list[Content] = []
        self.tail = ""

    def write(self) -> None:
        for name, record in [*self.records.items(), *(("", extra) for extra in self.more)]:
            if self.mend_keys:
                key = model_from_json(Record, record, "forged").run_key
                record["key"] = key
                if name in self.asked:
                    same = set(self.asked[name]) & set(record)
                    self.asked[name].update({field: record[field] for field in same})
            if self.mend_checksums:
                record["checksum"] = checksum(record)
        lines = [json.dumps(record) for record in (*self.records.values(), *self.more)]
        (self.path / "runs.jsonl").write_text("".join(f"{line}\n" for line in lines) + self.tail, encoding="utf-8")
        self.suite["runs"] = list(self.asked.values())
        (self.path / "suite.json").write_text(json.dumps(self.suite), encoding="utf-8")


Forge = Callable[[Folder], object]


def put(name: str, **values: Any) -> Forge:
    """Set fields of a record."""
    return lambda folder: folder.records[name].update(values)


def scale(name: str, field: str, factor: float = 1.01) -> Forge:
    def forge(folder: Folder) -> None:
        place: Any = folder.records[name]
        *parents, last = (int(part) if part.isdecimal() else part for part in field.split("."))
        for part in parents:
            place = place[part]
        place[last] *= factor

    return forge


def both(*forges: Forge) -> Forge:
    return lambda folder: [forge(folder) for forge in forges]


def bound_to(name: str, factor: float) -> Forge:
    """A bound with the gap that belongs to it."""

    def forge(folder: Folder) -> None:
        record = folder.records[name]
        bound = record["value"] * factor
        record.update(bound=bound, gap=(record["value"] - bound) / record["value"])

    return forge


def unfinished(folder: Folder, name: str, bound: float | None) -> Content:
    """The record of a run that found nothing."""
    record = folder.records[name]
    empty = dict.fromkeys(("plan", "value", "gap", "time_s", "energy_j", "breakdown", "front"))
    record.update(**empty, bound=bound, status="unknown", trace=[], ended="time_limit")
    return record


def uniform_as(name: str) -> Forge:
    """The uniform plan, with its own figures, called optimal."""

    def forge(folder: Folder) -> None:
        good, poor = folder.records[name], folder.records["megatron"]
        for field in ("plan", "value", "time_s", "energy_j", "breakdown", "trace"):
            good[field] = poor[field]
        good.update(bound=good["value"], gap=0.0, evaluations=10**6, wall_s=10.0)

    return forge


def grids(folder: Folder, name: str) -> list[Content]:
    found: list[Content] = folder.records[name]["details"]["grids"]
    return found


def in_grid(name: str, was: str, **values: Any) -> Forge:
    """Change the first grid that is closed in this way."""

    def forge(folder: Folder) -> None:
        next(grid for grid in grids(folder, name) if grid["closed"] == was).update(values)

    return forge


def own_grid(name: str, **values: Any) -> Forge:
    def forge(folder: Folder) -> None:
        plan = folder.records[name]["plan"]
        shape = [len(plan["pipelines"]), len(plan["layers"]), plan["micro_batch"]]
        for grid in grids(folder, name):
            if [grid["replicas"], grid["stages"], grid["micro_batch"]] == shape:
                grid.update(values)

    return forge


def raised_cut(folder: Folder) -> None:
    """Every grid of a run that was cut off, and with them its bound, raised to just under its own poor plan."""
    record = folder.records["cut"]
    bound = record["value"] * 0.999
    for grid in grids(folder, "cut"):
        if grid["closed"] != "infeasible":
            grid.update(bound=max(grid["bound"] or 0.0, bound))
    bound_to("cut", 0.999)(folder)
    record["bound"] = min(grid["bound"] for grid in grids(folder, "cut") if grid["bound"])
    record["gap"] = (record["value"] - record["bound"]) / record["value"]


def drop_record(name: str) -> Forge:
    return lambda folder: folder.records.pop(name)


def drop_asked(name: str) -> Forge:
    return lambda folder: folder.asked.pop(name)


def drop_all(folder: Folder) -> None:
    folder.records.clear()


def again(name: str, **values: Any) -> Forge:
    """A second record of the same key, after the first."""

    def forge(folder: Folder) -> None:
        folder.more.append({**json.loads(json.dumps(folder.records[name])), **values})

    return forge


def no_keys(forge: Forge) -> Forge:
    return both(lambda folder: setattr(folder, "mend_keys", False), forge)


def no_checksums(forge: Forge) -> Forge:
    return both(lambda folder: setattr(folder, "mend_checksums", False), forge)


def other_memory(folder: Folder) -> None:
    path = next((folder.path / "instances").glob("random-4*.json"))
    content = json.loads(path.read_text(encoding="utf-8"))
    content["groups"][0]["flops"] *= 2
    path.write_text(json.dumps(content), encoding="utf-8")


def other_instance(folder: Folder) -> None:
    """Another pool under the starved pool's name, with hashes made anew: nothing else is claimed of it."""
    path = next((folder.path / "instances").glob("starved.*.json"))
    content = json.loads(path.read_text(encoding="utf-8"))
    content["groups"][0]["flops"] *= 2
    path.write_text(json.dumps(content), encoding="utf-8")
    content_hash = read_instance(path).content_hash
    folder.records["starved"]["instance_hash"] = content_hash
    path.rename(path.with_name(f"starved.{content_hash[:16]}.json"))


def drop_point(position: int) -> Forge:
    return lambda folder: folder.records["front"]["front"].pop(position)


def drop_inner_point(folder: Folder) -> None:
    """Leave out a point that no other run of the folder has found."""
    front = folder.records["front"]["front"]
    known = [record["time_s"] for record in folder.records.values() if record["time_s"]]
    inner = [i for i in range(1, len(front) - 1) if all(abs(front[i]["time_s"] - t) > 1e-9 * t for t in known)]
    front.pop(inner[0])


def swap_points(folder: Folder) -> None:
    folder.records["front"]["front"].reverse()


def lost_gpu(folder: Folder) -> None:
    plan = folder.records["cpsat"]["plan"]
    plan["pipelines"] = [["nobody/0", *row[1:]] for row in plan["pipelines"]]


def renamed(name: str, solver: str) -> Forge:
    return put(name, solver=solver, options={}, code=solver_digest(solver))


def poorer_heuristic(folder: Folder) -> None:
    """The search's plan replaced by the uniform one, with figures and trace."""
    worse, better = folder.records["megatron"], folder.records["memetic"]
    for field in ("plan", "value", "time_s", "energy_j", "breakdown", "trace"):
        better[field] = worse[field]


def swap_shipped(folder: Folder) -> None:
    folder.suite["suite"] = "demo"


def inflate_unused(folder: Folder) -> None:
    """A solved grid's bound far above the value, on a grid that no known plan uses."""
    plans = [record["plan"] for record in folder.records.values() if record["plan"]]
    plans += [point["plan"] for point in folder.records["front"]["front"]]
    used = {(len(plan["pipelines"]), len(plan["layers"]), plan["micro_batch"]) for plan in plans}
    for grid in grids(folder, "whole"):
        shape = grid["replicas"], grid["stages"], grid["micro_batch"]
        if grid["closed"] == "solved" and shape not in used:
            grid["bound"] *= 100
            return
    raise AssertionError("every solved grid has a known plan")


def distrust_removed(folder: Folder) -> None:
    record = folder.records["cpsat"]
    record.update(status="feasible", bound=None, gap=None)
    record["details"].pop("grids")
