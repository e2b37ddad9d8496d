"""Every kind of tampering with a run folder is found at its level, or docs/measuring.md says why it cannot be.

The forger is careful: keys and checksums are made anew, in suite.json too, unless that is what the row is about.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.records.record import Record, Task, checksum, record_of
from bench.runs.isolated import Ending, IsolatedRun, Termination
from bench.runs.store import Store
from bench.verification.folder import verify_folder
from instances.errors import InputError
from instances.files import model_from_json, read_instance
from instances.instance import Instance
from instances.objective import parse_objective
from instances.plan import Plan
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Status
from solvers.core.registry import make_solver
from solvers.core.sources import solver_digest
from solvers.placements.uniform import reference_of
from tests.random_instances import random_instance

Content = dict[str, Any]
DOCS = Path(__file__).parents[2] / "docs" / "measuring.md"
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


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = Store(tmp_path_factory.mktemp("honest"))
    with store.writing():
        store.plan("own", list(TASKS.values()))
        for name, asked in TASKS.items():
            store.append(record_of(asked, ending(name), jobs=1))
    return store.folder


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


OFFLINE, RESOLVE, NEVER = "offline", "resolve", "not checkable"
KINDS: dict[str, tuple[str, str | None, str, Forge]] = {
    # name: level, the record that the finding must name, words of the reason, what is done
    "a checksum not made anew": (OFFLINE, "cpsat", "checksum", no_checksums(put("cpsat", wall_s=1.5))),
    "a value lowered": (OFFLINE, "cpsat", "value is", scale("cpsat", "value", 0.9)),
    "a value lowered with bound and gap": (
        OFFLINE,
        "brute",
        "value is",
        both(scale("brute", "value", 0.9), scale("brute", "bound", 0.9)),
    ),
    "a value dropped": (OFFLINE, "cpsat", "value", put("cpsat", value=None)),
    "a gap edited": (OFFLINE, "cut", "gap is", scale("cut", "gap", 0.5)),
    "a gap dropped": (OFFLINE, "cpsat", "gap is", put("cpsat", gap=None)),
    "a time edited": (OFFLINE, "cpsat", "time_s is", scale("cpsat", "time_s")),
    "an energy edited": (OFFLINE, "megatron", "energy_j is", scale("megatron", "energy_j")),
    "a breakdown edited": (OFFLINE, "cpsat", "breakdown.fill_s", scale("cpsat", "breakdown.fill_s", 2.0)),
    "a GPU's share edited": (OFFLINE, "cpsat", "busy_s", scale("cpsat", "breakdown.gpus.0.busy_s")),
    "a breakdown dropped": (OFFLINE, "cpsat", "breakdown is", put("cpsat", breakdown=None)),
    "a layer added to a plan": (OFFLINE, "cpsat", "infeasible", scale("cpsat", "plan.layers.0", 2)),
    "a plan's micro-batch edited": (OFFLINE, "cpsat", "", scale("cpsat", "plan.micro_batch", 5)),
    "a GPU that does not exist": (OFFLINE, "cpsat", "nobody/0", lost_gpu),
    "a plan dropped": (OFFLINE, "cpsat", "there is no plan", put("cpsat", plan=None)),
    "a plan moved to another record": (
        OFFLINE,
        "cpsat",
        "value is",
        lambda folder: folder.records["cpsat"].update(plan=folder.records["megatron"]["plan"]),
    ),
    "optimal by the uniform plan": (
        OFFLINE,
        "megatron",
        "proves nothing",
        both(put("megatron", status="optimal"), bound_to("megatron", 1.0)),
    ),
    "optimal by a heuristic": (
        OFFLINE,
        "memetic",
        "proves nothing",
        both(put("memetic", status="optimal"), bound_to("memetic", 1.0)),
    ),
    "a bound by a heuristic": (OFFLINE, "memetic", "proves nothing", bound_to("memetic", 0.5)),
    "infeasible by a heuristic": (
        OFFLINE,
        "memetic",
        "proves nothing",
        lambda folder: unfinished(folder, "memetic", None).update(status="infeasible", ended="finished"),
    ),
    "a bound of an enumeration that was not complete": (
        OFFLINE,
        "brute",
        "proves optimum",
        both(put("brute", status="feasible", ended="time_limit"), bound_to("brute", 0.9)),
    ),
    "a front by a method without fronts": (OFFLINE, None, "does not look for", renamed("front", "cpsat")),
    "an unknown solver's proof": (OFFLINE, None, "no solver oracle", put("brute", solver="oracle")),
    "optimal without a bound": (OFFLINE, "brute", "needs a bound", put("brute", bound=None, gap=None)),
    "optimal called feasible": (OFFLINE, "cpsat", "does not fit the certified gap", put("cpsat", status="feasible")),
    "feasible called optimal": (OFFLINE, "cut", "does not fit the certified gap", put("cut", status="optimal")),
    "infeasible beside a plan": (OFFLINE, "cpsat", "status infeasible", put("cpsat", status="infeasible")),
    "infeasible with a bound": (OFFLINE, "starved", "also the bound", put("starved", bound=1.0)),
    "error beside a plan": (OFFLINE, "cpsat", "status error", put("cpsat", status="error")),
    "grids left out of a proof": (
        OFFLINE,
        "cpsat",
        "without the grids",
        lambda folder: folder.records["cpsat"]["details"].pop("grids"),
    ),
    "grids left out of a bound": (
        OFFLINE,
        "cut",
        "without the grids",
        both(bound_to("cut", 0.9999), lambda folder: folder.records["cut"]["details"].pop("grids")),
    ),
    "grids left out of an infeasible one": (
        OFFLINE,
        "starved",
        "without the grids",
        lambda folder: folder.records["starved"]["details"].pop("grids"),
    ),
    "one grid left out": (OFFLINE, "cpsat", "is missing", lambda folder: grids(folder, "cpsat").pop()),
    "a grid listed twice": (
        OFFLINE,
        "cpsat",
        "are legal",
        lambda folder: grids(folder, "cpsat").append(grids(folder, "cpsat")[0]),
    ),
    "a cheap bound raised": (
        OFFLINE,
        "cut",
        "made again",
        lambda folder: [grid.update(cheap_bound=(grid["cheap_bound"] or 1.0) * 1.01) for grid in grids(folder, "cut")],
    ),
    "a grid's bound below its cheap bound": (OFFLINE, "cpsat", "", own_grid("cpsat", bound=1e-9)),
    "the plan's own grid infeasible": (
        OFFLINE,
        "cpsat",
        "but a plan there",
        own_grid("cpsat", closed="infeasible", bound=None),
    ),
    "a grid infeasible where another run has a plan": (
        OFFLINE,
        "whole",
        "but the plan of",
        lambda folder: [
            grid.update(closed="infeasible", bound=None)
            for grid in grids(folder, "whole")
            if any(
                [grid["replicas"], grid["stages"], grid["micro_batch"]]
                == [len(p["plan"]["pipelines"]), len(p["plan"]["layers"]), p["plan"]["micro_batch"]]
                for p in folder.records["front"]["front"]
            )
        ],
    ),
    "a search that calls its grids whole": (
        OFFLINE,
        "cpsat",
        "whole model",
        lambda folder: [grid.update(whole=True, cheap_bound=None) for grid in grids(folder, "cpsat")],
    ),
    "an open grid called solved": (
        OFFLINE,
        "cut",
        "closed as 'solved'",
        lambda folder: [grid.update(closed="solved") for grid in grids(folder, "cut") if grid["closed"] == "open"],
    ),
    "a word that closes no grid": (OFFLINE, "whole", "closed is", in_grid("whole", "solved", closed="surely")),
    "a bound above the grids": (OFFLINE, "cut", "the grids give", bound_to("cut", 0.99999)),
    "a proof of which nothing is distrusted": (OFFLINE, "cpsat", "without details.distrusted", distrust_removed),
    "distrusted and optimal": (
        OFFLINE,
        "cpsat",
        "details.distrusted",
        lambda folder: folder.records["cpsat"]["details"].update(distrusted="two claims"),
    ),
    **{
        f"{ended} beside optimal": (OFFLINE, "cpsat", f"ended as {ended}", put("cpsat", ended=ended, reason="why"))
        for ended in ("crashed", "interrupted", "not_started")
    },
    "out of memory beside infeasible": (
        OFFLINE,
        "starved",
        "ended as out_of_memory",
        put("starved", ended="out_of_memory", reason="why"),
    ),
    "stopped without a reason": (OFFLINE, "cut", "without a reason", put("cut", ended="out_of_memory", reason=None)),
    "optimal with a reason": (OFFLINE, "cpsat", "also a reason", put("cpsat", reason="no bound")),
    "a front out of order": (OFFLINE, "front", "out of order", swap_points),
    "a front's time edited": (OFFLINE, "front", "front[0].time_s", scale("front", "front.0.time_s", 0.99)),
    "a front's plan edited": (OFFLINE, "front", "front[0]", scale("front", "front.0.plan.layers.0", 2)),
    "a front emptied": (OFFLINE, "front", "does not fit the front", put("front", front=[])),
    "a front with a value": (OFFLINE, "front", "a front has no value", put("front", value=1.0)),
    "the end of a complete front removed": (OFFLINE, "front", "lies outside it", drop_point(0)),
    "the other end of a complete front removed": (OFFLINE, "front", "lies outside it", drop_point(-1)),
    "a point of a complete front removed": (RESOLVE, "front", "not complete", drop_inner_point),
    "a key not made anew": (OFFLINE, None, "key is not that", no_keys(put("memetic", seed=2))),
    "options edited without the key": (
        OFFLINE,
        None,
        "key is not that",
        no_keys(put("memetic", options={"cold": "1e-6"})),
    ),
    "threads edited without the key": (OFFLINE, "memetic", "key is not that", no_keys(put("memetic", threads=2))),
    "a limit edited without the key": (
        OFFLINE,
        "memetic",
        "key is not that",
        no_keys(put("memetic", time_limit_s=1.0)),
    ),
    "a solver edited without the key": (OFFLINE, None, "key is not that", no_keys(put("memetic", solver="random"))),
    "the code edited without the key": (OFFLINE, "memetic", "key is not that", no_keys(put("memetic", code="0" * 16))),
    "a key edited": (OFFLINE, "memetic", "key is not that", no_keys(put("memetic", key="0" * 20))),
    "options that the solver does not have": (OFFLINE, None, "option", put("memetic", options={"colour": "red"})),
    "a reference edited": (
        OFFLINE,
        "weighted",
        "reference is",
        put("weighted", reference={"time_s": 1.0, "energy_j": 1.0}),
    ),
    "a size edited": (OFFLINE, "memetic", "gpus is", put("memetic", gpus=64)),
    "a negative seed": (OFFLINE, None, "seed is", put("memetic", seed=-1)),
    "no threads": (OFFLINE, "memetic", "threads is", put("memetic", threads=0)),
    "negative evaluations": (OFFLINE, "memetic", "evaluations is", put("memetic", evaluations=-1)),
    "another cost model": (OFFLINE, "memetic", "cost-model version", put("memetic", cost_model_version=7)),
    "another instance in its file": (OFFLINE, "cpsat", "content hash", other_memory),
    "an instance file removed": (
        OFFLINE,
        "starved",
        "cannot be read",
        lambda folder: (next((folder.path / "instances").glob("starved.*.json"))).unlink(),
    ),
    "a record removed": (OFFLINE, "memetic", "is missing", drop_record("memetic")),
    "a suite entry removed": (OFFLINE, "memetic", "never did", drop_asked("memetic")),
    "all records removed": (OFFLINE, "memetic", "is missing", drop_all),
    "all records and entries removed": (
        OFFLINE,
        "",
        "asks for no run",
        both(drop_all, lambda folder: folder.asked.clear()),
    ),
    "a line without its newline": (
        OFFLINE,
        "whole",
        "is missing",
        lambda folder: setattr(folder, "tail", json.dumps(folder.records.pop("whole"))),
    ),
    "a second record of one run": (OFFLINE, "memetic", "a second record", again("memetic")),
    "a second record, worse": (OFFLINE, "brute", "a second record", again("brute", wall_s=99.0)),
    "a run asked for twice": (
        OFFLINE,
        "memetic",
        "twice",
        lambda folder: folder.asked.update({"twice": folder.asked["memetic"]}),
    ),
    "another run under a key": (
        OFFLINE,
        "megatron",
        "belongs to another run",
        no_keys(lambda folder: folder.asked["megatron"].update(seed=5)),
    ),
    "runs of a shipped suite missing": (OFFLINE, "", "the shipped suite demo asks for it", swap_shipped),
    "a trace that rises": (
        OFFLINE,
        "memetic",
        "trace does not fall",
        lambda folder: folder.records["memetic"].update(trace=[[0.0, 1, 1.0], [0.0, 2, 2.0]]),
    ),
    "a trace that ends elsewhere": (
        OFFLINE,
        "megatron",
        "the trace ends at",
        lambda folder: folder.records["megatron"].update(trace=[[0.0, 1, folder.records["megatron"]["value"] * 2]]),
    ),
    "a trace that goes back in time": (
        OFFLINE,
        "megatron",
        "do not rise",
        lambda folder: folder.records["megatron"]["trace"].insert(0, [5.0, 0, folder.records["megatron"]["value"] * 2]),
    ),
    "a trace after the end": (OFFLINE, "memetic", "ends after the run", scale("memetic", "evaluations", 0)),
    "a trace without a plan": (
        OFFLINE,
        "memetic",
        "no plan",
        lambda folder: unfinished(folder, "memetic", None).update(trace=[[0.0, 1, 1.0]]),
    ),
    "negative seconds": (OFFLINE, "memetic", "wall_s is", put("memetic", wall_s=-1.0)),
    "more CPU seconds than cores": (OFFLINE, "memetic", "cpu_s is", put("memetic", cpu_s=1e6)),
    "a machine without cores": (OFFLINE, "memetic", "no machine", scale("memetic", "machine.cores", 0)),
    "no version of Python": (
        OFFLINE,
        "memetic",
        "python is missing",
        lambda folder: folder.records["memetic"]["versions"].pop("python"),
    ),
    "versions that contradict each other": (
        OFFLINE,
        "cpsat",
        "its solver had",
        lambda folder: folder.records["cpsat"]["versions"].update(ortools="1.0"),
    ),
    "a commit that is none": (OFFLINE, "memetic", "commit", put("memetic", commit="main", dirty=False)),
    "side by side called alone": (OFFLINE, "memetic", "timed_alone", put("memetic", jobs=4)),
    "a number that is none": (OFFLINE, None, "is not a number", no_keys(put("cpsat", value=float("nan")))),
    "a bound above another run's plan": (
        OFFLINE,
        "",
        "cpsat",
        lambda folder: folder.records["brute"].update(
            {
                **{f: folder.records["megatron"][f] for f in ("plan", "value", "time_s", "energy_j", "breakdown")},
                "trace": folder.records["megatron"]["trace"],
                "bound": folder.records["megatron"]["value"],
                "wall_s": 9.0,
            }
        ),
    ),
    "the uniform plan called optimal": (
        RESOLVE,
        "brute",
        "has a plan of",
        both(
            uniform_as("brute"),
            *(drop(name) for name in ("cpsat", "whole", "memetic", "front") for drop in (drop_record, drop_asked)),
        ),
    ),
    "the bound of a run that was cut off raised": (
        RESOLVE,
        "cut",
        "has a plan of",
        both(
            raised_cut,
            *(
                drop(name)
                for name in ("milp", "front", "cpsat", "whole", "brute", "memetic")
                for drop in (drop_record, drop_asked)
            ),
        ),
    ),
    "infeasible where there is a plan": (
        RESOLVE,
        "brute",
        "has a plan of",
        both(
            lambda folder: unfinished(folder, "brute", None).update(status="infeasible", ended="finished"),
            *(drop(name) for name in TASKS if name not in ("brute", "starved") for drop in (drop_record, drop_asked)),
        ),
    ),
    "seconds edited": (NEVER, None, "", both(put("memetic", wall_s=30.0), put("cpsat", wall_s=7.0))),
    "evaluations edited": (NEVER, None, "", put("memetic", evaluations=10**7)),
    "the machine edited": (NEVER, None, "", lambda folder: folder.records["memetic"]["machine"].update(processor="X")),
    "the commit edited": (NEVER, None, "", put("memetic", commit="0" * 40, dirty=False)),
    "versions edited": (
        NEVER,
        None,
        "",
        lambda folder: folder.records["memetic"]["versions"].update(numpy="1.0"),
    ),
    "the code edited with the key": (NEVER, None, "", put("memetic", code="0" * 16)),
    "a seed edited with the key": (NEVER, None, "", put("memetic", seed=7)),
    "threads edited with the key": (NEVER, None, "", put("memetic", threads=2)),
    "a limit edited with the key": (NEVER, None, "", put("memetic", time_limit_s=99.0)),
    "a heuristic renamed": (NEVER, None, "", renamed("memetic", "random")),
    "a heuristic's plan made worse": (NEVER, None, "", poorer_heuristic),
    "a trace thinned out": (
        NEVER,
        None,
        "",
        lambda folder: folder.records["memetic"].update(trace=folder.records["memetic"]["trace"][-1:]),
    ),
    "a run removed from an own suite": (NEVER, None, "", both(drop_record("memetic"), drop_asked("memetic"))),
    "an own instance replaced": (NEVER, None, "", other_instance),
    "a suite renamed": (NEVER, None, "", lambda folder: folder.suite.update(suite="another")),
    "the bound of a solved grid that decides nothing": (NEVER, None, "", inflate_unused),
}


def findings(folder: Path, resolve_s: float | None = None) -> list[str]:
    try:
        return verify_folder(folder, resolve_s).findings
    except InputError as error:
        return [str(error)]


@pytest.fixture
def forged(honest: Path, tmp_path: Path) -> Callable[[str], Path]:
    def forge(name: str) -> Path:
        folder = Folder(honest, tmp_path / "forged")
        KINDS[name][3](folder)
        folder.write()
        return folder.path

    return forge


def title_of(honest: Path, record: str) -> str:
    return Store(honest).records()[list(TASKS).index(record)].title


@pytest.mark.parametrize("name", [name for name, row in KINDS.items() if row[0] == OFFLINE])
def test_it_is_found_offline(honest: Path, forged: Callable[[str], Path], name: str) -> None:
    _, record, words, _ = KINDS[name]
    found = findings(forged(name))
    title = title_of(honest, record) if record else ""
    assert any(title in finding and words in finding for finding in found), found


@pytest.mark.parametrize("name", [name for name, row in KINDS.items() if row[0] == RESOLVE])
def test_it_is_found_by_solving_again(honest: Path, forged: Callable[[str], Path], name: str) -> None:
    _, record, words, _ = KINDS[name]
    assert record
    folder = forged(name)
    assert findings(folder) == [], "it should be a careful forgery"
    found = findings(folder, 60.0)
    assert any(title_of(honest, record) in finding and words in finding for finding in found), found


@pytest.mark.parametrize("name", [name for name, row in KINDS.items() if row[0] == NEVER])
def test_what_cannot_be_seen_is_not(forged: Callable[[str], Path], name: str) -> None:
    assert findings(forged(name)) == []


def test_the_docs_list_what_cannot_be_seen() -> None:
    text = DOCS.read_text(encoding="utf-8").split("### What verify cannot see")[1].split("\n## ")[0]
    listed = re.findall(r"^\| ([^|]+?) \|", text, re.MULTILINE)[1:]
    assert listed == [name for name, row in KINDS.items() if row[0] == NEVER]


def test_an_honest_folder_has_no_findings_and_every_claim_a_witness(honest: Path) -> None:
    done = verify_folder(honest, 60.0)
    assert done.findings == []
    assert [claim.record for claim in done.claims if not claim.confirmed] == []
    assert len(done.claims) == done.proofs == 7
    by = {claim.record: claim.witness for claim in done.claims}
    assert by[title_of(honest, "cpsat")] == "brute"
    assert by[title_of(honest, "front")] == "cpsat[whole]"
    trusted = verify_folder(honest, None).notes
    assert any("marked as solved" in note for note in trusted)
    assert any("the word of brute" in note for note in trusted)


def test_there_are_sixty_kinds() -> None:
    assert len(KINDS) >= 60


def test_a_distrusted_proof_is_shown(honest: Path, tmp_path: Path) -> None:
    from bench.reporting.report import make_report

    folder = Folder(honest, tmp_path / "distrusting")
    record = folder.records["cpsat"]
    record.update(status="feasible", bound=None, gap=None)
    record["details"] = {"distrusted": "two claims contradict each other"}
    folder.write()
    done = verify_folder(folder.path, None)
    assert done.findings == []
    assert any("two claims" in note for note in done.notes)
    assert any("two claims" in line for line in make_report(Store(folder.path)).problems)


def test_the_cut_off_run_is_what_it_should_be(honest: Path) -> None:
    record = Store(honest).records()[list(TASKS).index("cut")]
    assert (record.status, record.ended) == (Status.FEASIBLE, Termination.TIME_LIMIT)
    assert record.bound is not None
    assert record.grids()
    assert Problem(POOL, parse_objective("energy").goal()).value
