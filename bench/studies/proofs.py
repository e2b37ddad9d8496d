"""How long proofs take: the table in docs/measuring.md, from a run of the suite `proofs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from bench.records.record import Record
from bench.reporting.formatting import Cell, as_number, as_text, table
from bench.runs.store import Store
from solvers.core.interface import Proof, Status
from solvers.core.registry import solver_types

COLUMNS: Mapping[str, Cell] = {
    "pools": as_text("pools"),
    "GPUs": as_text("gpus"),
    "solver": as_text("solver"),
    "threads": as_text("threads"),
    "proven": lambda row: f"{row['proven']} of {row['runs']}",
    "median [s]": as_number("median", 3),
    "slowest [s]": as_number("slowest", 3),
    "limit [s]": as_number("limit", 3),
}
LEFT = ("pools", "solver")
KINDS = {
    "exact-wan": "all different, links between cities",
    "exact-lan": "all different, fast links",
    "groups-wan": "three groups, links between cities",
    "groups-lan": "three groups, fast links",
}
"""What the names of the suite's instances begin with."""


def proofs_table(folder: Path) -> str:
    """The table of a run folder."""
    return proofs_text(Store(folder).records())


def proofs_text(records: Sequence[Record]) -> str:
    """A row per kind of pool, size and exact method, seconds by the clock; and the machine they were measured on.

    A run without a proof counts as its whole time, so a median is that of all runs.
    """
    records = [record for record in records if solver_types()[record.solver].proves is not Proof.NOTHING]
    runs = pd.DataFrame(
        {
            "pools": KINDS[record.instance.rsplit("-", 2)[0]],
            "gpus": record.gpus,
            "solver": record.solver,
            "threads": record.threads,
            "limit": record.time_limit_s,
            "proven": record.status is Status.OPTIMAL,
            "wall_s": record.wall_s,
        }
        for record in records
    )
    alike = runs.groupby(["solver", "gpus", "pools", "threads", "limit"])
    rows = alike.agg(
        proven=("proven", "sum"), runs=("proven", "size"), median=("wall_s", "median"), slowest=("wall_s", "max")
    )
    return f"{table(COLUMNS, rows.reset_index().to_dict('records'), LEFT)}\n\n{_machines(records)}"


def _machines(records: Sequence[Record]) -> str:
    """Where the runs were made, once for each machine and set of versions."""
    return "\n".join(
        dict.fromkeys(
            f"Measured on {record.machine.processor} ({record.machine.cores} cores, {record.machine.memory_gib} GiB), "
            f"Python {record.versions['python']}, OR-Tools {record.versions['ortools']}, PuLP "
            f"{record.versions['pulp']} with HiGHS {record.versions['highspy']}, runs one at a time."
            for record in records
        )
    )
