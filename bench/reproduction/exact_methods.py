"""Where each exact method stops: proofs, seconds and gaps by number of GPUs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bench.reporting.formatting import Cell, as_about, as_number, as_text, table
from solvers.core.interface import Proof
from solvers.core.registry import solver_types

COLUMNS: Mapping[str, Cell] = {
    "GPUs": as_text("gpus"),
    "method": as_text("solver"),
    "proven": lambda row: f"{row['proven']}/{row['runs']}",
    "median [s]": as_number("median_s", 3),
    "gap where not proven": as_about("gap"),
}
NOTES = (
    "proven: runs that prove their optimum, or that there is no plan, of all; `whole=true` is the plain model of each "
    "whole grid, the generic method.",
    "median: seconds of a run; one without a proof counts as its whole time. Gap where not proven: median of (value - "
    "bound) / value of the method's own plan and bound, n/a where it has none.",
)


def exact_table(runs: pd.DataFrame) -> pd.DataFrame:
    """One row by number of GPUs and exact method: `runs`, `proven`, `median_s` and `gap` of those not proven."""
    exact = {name for name, kind in solver_types().items() if kind.proves is not Proof.NOTHING}
    rows = runs[runs["solver"].str.partition("[")[0].isin(exact)] if len(runs) else runs
    if rows.empty:
        return pd.DataFrame()
    proven = rows["status"].isin(["optimal", "infeasible"])
    rows = rows.assign(proven=proven, gap=rows["gap"].where(~proven, np.nan))
    alike = rows.groupby(["gpus", "solver"], sort=True)
    found = alike.agg(
        runs=("proven", "size"), proven=("proven", "sum"), median_s=("wall_s", "median"), gap=("gap", "median")
    )
    return found.reset_index()


def exact_text(found: pd.DataFrame) -> str:
    """The table as Markdown."""
    return table(COLUMNS, found.to_dict("records"), ("method",))
