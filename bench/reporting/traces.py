"""What figures need of the records beyond the table of runs: how values fell over time, and fronts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bench.reporting.frames import label

TRACE = ["instance", "gpus", "objective", "solver", "seed", "seconds", "value"]
FRONT = ["instance", "gpus", "solver", "seed", "status", "time_s", "energy_j"]


def trace_table(asked: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row for each better value that a run found, at its search seconds."""
    rows = [
        {**_who(run), "objective": run["objective"], "seconds": seconds, "value": value}
        for run, record in _finished(asked, records)
        for seconds, _, value in (record["trace"] if record["value"] is not None else ())
    ]
    return pd.DataFrame(rows, columns=TRACE)


def front_table(asked: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row for each point of each front; `status` is the run's."""
    rows = [
        {**_who(run), "status": record["status"], "time_s": point["time_s"], "energy_j": point["energy_j"]}
        for run, record in _finished(asked, records)
        for point in record["front"] or ()
    ]
    return pd.DataFrame(rows, columns=FRONT)


def _finished(
    asked: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    by_key = {record["key"]: record for record in records}
    return [(run, by_key[run["key"]]) for run in asked if run["key"] in by_key]


def _who(run: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "instance": run["instance"],
        "gpus": run["gpus"],
        "solver": label(run["solver"], run["options"]),
        "seed": run["seed"],
    }
