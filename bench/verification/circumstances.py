"""Whether what a record says of its run can be true: seconds, evaluations, seeds, options, versions and machine."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from bench.records.record import Record
from instances.errors import InputError
from solvers.core.gap import TOLERANCE
from solvers.core.interface import Problem, Status
from solvers.core.registry import make_solver, solver_types
from solvers.core.sources import solver_digest
from solvers.placements.uniform import reference_of

CLOCKS_S = 1.0
"""How far two clocks of one run may lie apart."""


def check_run(record: Record, problem: Problem) -> Iterator[str]:
    """Counts and limits are possible, the reference is that of the instance, and its solver takes the options."""
    least = {"seed": 0, "threads": 1, "evaluations": 0, "jobs": 1, "evaluation_limit": 1}
    for name, limit in least.items():
        number = getattr(record, name)
        if number is not None and number < limit:
            yield f"{name} is {number}, the least possible is {limit}"
    if record.time_limit_s is not None and record.time_limit_s <= 0:
        yield f"time_limit_s is {record.time_limit_s!r}"
    if record.gpus != problem.instance.gpus:
        yield f"gpus is {record.gpus}, the instance has {problem.instance.gpus}"
    if record.without:
        yield "without: a run folder holds whole instances only"
    if record.timed_alone != (record.jobs == 1):
        yield f"timed_alone is {record.timed_alone}, but jobs is {record.jobs}"
    if record.needed_reference is not None and record.reference != reference_of(problem.instance):
        yield f"reference is {record.reference}, the uniform plan gives {reference_of(problem.instance)}"
    if is_todays(record):
        try:
            make_solver(record.solver, record.options)
        except InputError as error:
            yield f"options: {error}"


def is_todays(record: Record) -> bool:
    """Whether the code of this installation computed the record."""
    if record.solver not in solver_types():
        return False
    try:
        return record.code == solver_digest(record.solver, record.options)
    except InputError:  # options that do not exist name no files
        return record.code == solver_digest(record.solver)


def check_seconds(record: Record, problem: Problem) -> Iterator[str]:
    """No seconds are negative, and no more of them were computed than the cores could."""
    for name in ("wall_s", "cpu_s", "warm_up_s", "compile_s"):
        seconds = getattr(record, name)
        if seconds is not None and seconds < 0:
            yield f"{name} is {seconds!r}"
    cores = record.machine.cores
    alone = record.compile_s is None  # CPU seconds of older records include compilation
    if alone and cores and record.cpu_s and record.cpu_s > cores * (record.wall_s + CLOCKS_S):
        yield f"cpu_s is {record.cpu_s!r}, more than {cores} cores can spend in {record.wall_s!r} s"


def check_origin(record: Record, problem: Problem) -> Iterator[str]:
    """Machine, versions, commit and code could be those of a run."""
    machine, versions = record.machine, record.versions
    if (machine.cores is not None and machine.cores < 1) or (machine.memory_gib is not None and machine.memory_gib < 0):
        yield f"machine: {machine.cores} cores and {machine.memory_gib} GiB are no machine"
    for package in ("python", "geotrain-bench"):
        if not versions.get(package):
            yield f"versions: {package} is missing"
    used = record.details.get("solver_versions")
    for package, version in used.items() if isinstance(used, dict) else ():
        if versions.get(package) != version:
            yield f"versions: {package} is {versions.get(package)}, its solver had {version}"
    if record.commit is not None and not re.fullmatch("[0-9a-f]{40}", record.commit):
        yield f"commit: {record.commit!r} is none"
    if (record.commit is None) != (record.dirty is None):
        yield f"commit is {record.commit}, dirty is {record.dirty}"
    if record.code is not None and not re.fullmatch("[0-9a-f]{16}", record.code):
        yield f"code: {record.code!r} is no digest"


def check_trace(record: Record, problem: Problem) -> Iterator[str]:
    """Values fall down to that of the plan, seconds and evaluations rise up to those of the run."""
    trace = record.trace
    for earlier, later in itertools.pairwise(trace):
        if later.value >= earlier.value:
            yield f"the trace does not fall: {earlier.value!r}, then {later.value!r}"
        if later.seconds < earlier.seconds or later.evaluations < earlier.evaluations:
            yield "the seconds or evaluations of the trace do not rise"
    if not trace:
        return
    first, last = trace[0], trace[-1]
    if first.seconds < 0 or first.evaluations < 0 or last.value < 0:
        yield "the trace has a negative figure"
    if last.seconds > record.wall_s + CLOCKS_S or last.evaluations > record.evaluations:
        yield f"the trace ends after the run, at {last.seconds!r} s and {last.evaluations} evaluations"
    if problem.goal.front or record.status is Status.ERROR:
        return
    if record.value is None:
        yield "there is a trace, but no plan"
    elif abs(last.value - record.value) > 10 * TOLERANCE * record.value:
        yield f"the trace ends at {last.value!r}, the value is {record.value!r}"
