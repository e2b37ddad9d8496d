"""How long proofs take, as README.md shows it."""

from __future__ import annotations

from bench.records.environment import Machine
from bench.records.record import Record
from bench.studies.proofs import COLUMNS, proofs_text
from solvers.core.interface import Status
from tests.bench.folders import NOTHING, task
from tests.bench.folders import record as made_up
from tests.bench.test_readme import cells

MACHINE = Machine(processor="Abacus", cores=2, memory_gib=4, system="Linux", architecture="x")
VERSIONS = {"python": "3.11.7", "ortools": "9", "pulp": "3", "highspy": "1"}


def record(instance: str, solver: str, status: str, wall_s: float, gpus: int = 6) -> Record:
    change = {
        "instance": instance,
        "gpus": gpus,
        "solver": solver,
        "status": Status(status),
        "wall_s": wall_s,
        "machine": MACHINE,
        "versions": VERSIONS,
    }
    return made_up(task(solver), NOTHING).model_copy(update=change)


def test_medians_and_counts_are_over_all_runs_of_a_size() -> None:
    seconds = [("optimal", 1.0), ("optimal", 3.0), ("feasible", 60.0)]
    runs = [record(f"exact-wan-06-{i}", "cpsat", *each) for i, each in enumerate(seconds)]
    runs += [record("exact-wan-06-0", "memetic", "feasible", 2.0), record("exact-lan-06-0", "milp", "optimal", 4.0)]
    text = proofs_text(runs)
    rows = cells(text.partition("\n\n")[0])
    assert list(rows[0]) == list(COLUMNS)
    assert [(row["solver"], row["proven"], row["median [s]"], row["slowest [s]"]) for row in rows] == [
        ("cpsat", "2 of 3", "3.00", "60.0"),
        ("milp", "1 of 1", "4.00", "4.00"),
    ]


def test_the_machine_is_named_once() -> None:
    text = proofs_text([record(f"groups-lan-16-{i}", "cpsat", "optimal", 1.0, 16) for i in range(3)])
    assert text.count("Measured on Abacus (2 cores, 4 GiB), Python 3.11.7, OR-Tools 9") == 1
