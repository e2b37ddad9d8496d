"""What figures need of the records beyond the table of runs: how values fell over time, and fronts."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.records.record import Record
from bench.reporting.metrics import hypervolume_share
from bench.runs.store import AskedRun

TRACE = ["instance", "gpus", "objective", "solver", "seed", "seconds", "value"]
FRONT = ["instance", "gpus", "solver", "seed", "status", "time_s", "energy_j", "hypervolume"]


def trace_table(asked: Sequence[AskedRun], records: Sequence[Record]) -> pd.DataFrame:
    """One row for each better value that a run found, at its search seconds."""
    rows = [
        {**_who(run), "objective": run.objective, "seconds": point.seconds, "value": point.value}
        for run, record in _finished(asked, records)
        if record.value is not None
        for point in record.trace
    ]
    return pd.DataFrame(rows, columns=TRACE)


def front_table(asked: Sequence[AskedRun], records: Sequence[Record]) -> pd.DataFrame:
    """One row for each point of each front; `status` is the run's, and `hypervolume` its front's.

    The hypervolume is a share of that of the best known front: of all plans that any run found for the instance,
    under whatever objective, those that no other dominates.
    """
    finished = _finished(asked, records)
    rows = [
        {**_who(run), "status": str(record.status), "time_s": point.time_s, "energy_j": point.energy_j}
        for run, record in finished
        for point in record.front or ()
    ]
    fronts = pd.DataFrame(rows, columns=FRONT)
    for instance, own in fronts.groupby("instance", sort=False):
        plans = [
            (record.time_s, record.energy_j)
            for run, record in finished
            if run.instance == instance and record.time_s is not None and record.energy_j is not None
        ]
        known = [*plans, *own[["time_s", "energy_j"]].itertuples(index=False, name=None)]
        for _, points in own.groupby(["solver", "seed"], sort=False):
            found = list(points[["time_s", "energy_j"]].itertuples(index=False, name=None))
            fronts.loc[points.index, "hypervolume"] = hypervolume_share(found, known)
    return fronts.astype({"hypervolume": "float64"})


def _finished(asked: Sequence[AskedRun], records: Sequence[Record]) -> list[tuple[AskedRun, Record]]:
    by_key = {record.key: record for record in records}
    return [(run, by_key[run.key]) for run in asked if run.key in by_key]


def _who(run: AskedRun) -> dict[str, str | int]:
    return {"instance": run.instance, "gpus": run.gpus, "solver": run.label, "seed": run.seed}
