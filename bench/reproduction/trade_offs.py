"""What fronts offer: energy saved where an iteration may take a little longer than the fastest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bench.reporting.formatting import Cell, about, as_about, as_number, as_text, table
from bench.reporting.names import short_names

ALLOWANCES = (0.05, 0.2)
"""Shares of the least time that an iteration may take longer."""
COLUMNS: Mapping[str, Cell] = {
    "instance": as_text("instance"),
    "solver": as_text("solver"),
    "points": as_text("points"),
    "hypervolume": as_about("hypervolume"),
    "least time [s]": as_number("least_s"),
    **{f"energy saved, {about(share)} longer": as_about(f"saved_{share}") for share in ALLOWANCES},
    "energy saved at most": as_about("saved_at_most"),
    "at a time of [s]": as_number("slowest_s"),
}
NOTES = (
    "energy saved: against the fastest plan of the same front. Hypervolume: share of that of all plans known of the "
    "instance. Medians over seeds.",
)


def trade_offs(fronts: pd.DataFrame) -> pd.DataFrame:
    """One row for each instance and solver; `fronts` is that of a report."""
    rows = [
        {"instance": instance, "gpus": gpus, "solver": solver, **_of_front(points)}
        for (instance, gpus, solver, _), points in fronts.groupby(["instance", "gpus", "solver", "seed"], sort=False)
    ]
    if not rows:
        return pd.DataFrame()
    alike = pd.DataFrame(rows).groupby(["instance", "gpus", "solver"], sort=False)
    return alike.median().reset_index().astype({"points": "int64"})


def trade_offs_text(found: pd.DataFrame) -> str:
    """The table as Markdown."""
    short = found.assign(instance=found["instance"].map(short_names(found["instance"])))
    return table(COLUMNS, short.to_dict("records"), ("instance", "solver"))


def _of_front(points: pd.DataFrame) -> dict[str, float]:
    time, energy = points["time_s"].to_numpy(), points["energy_j"].to_numpy()
    fastest = energy[np.lexsort((energy, time))[0]]
    saved = {f"saved_{share}": 1 - energy[time <= time.min() * (1 + share)].min() / fastest for share in ALLOWANCES}
    return {
        "points": len(points),
        "hypervolume": float(points["hypervolume"].iloc[0]),
        "least_s": time.min(),
        **saved,
        "saved_at_most": 1 - energy.min() / fastest,
        "slowest_s": time[energy == energy.min()].min(),
    }
