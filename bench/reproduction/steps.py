"""Where the saving comes from: the way from `megatron` to `memetic` in steps, and DT-FM beside it."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from bench.reporting.formatting import Cell, as_about, as_text, table
from bench.reporting.names import short_names

START = "megatron"
STEPS: Mapping[str, str] = {
    "balanced layers": "contiguous[gpus=all,order=listed]",
    "site by site": "contiguous[gpus=all]",
    "GPUs left out": "contiguous",
    "placement": "memetic[anneal=0,crossover=0,descent=false,fresh=1,transplant=0]",
    "search": "memetic",
}
"""What each step adds, and the solver that has it and all before."""
BESIDE: Mapping[str, str] = {
    "dtfm": "dtfm",
    "dtfm, other gain": "dtfm[gain=baseline]",
    "dtfm, by time": "dtfm[guide=time]",
}
NOTES = (
    "steps: share of the iteration time of `megatron` that each step takes off (medians over seeds), in this order: "
    "layers balanced by speed; GPUs in the order of sites along a short path instead of the listed one; GPUs left out; "
    "placements constructed by `memetic`, with splits fitted, but no search; its search.",
    "all: what `memetic` saves against `megatron`. dtfm: what DT-FM's scheduler saves against it, as published, with "
    "its authors' other gain, and guided by the iteration time instead of its own cost: what its search is worth "
    "without its cost model.",
)


def steps_table(summary: pd.DataFrame) -> pd.DataFrame:
    """[problem] Share of `megatron`'s time that each step saves, their sum as `all`, and DT-FM's savings.

    `summary` is that of a report; only problems of objective `time` on which every step has a plan have a row.
    """
    rows = summary[summary["objective"] == "time"] if len(summary) else summary
    if rows.empty:
        return pd.DataFrame()
    # Options that make a variant cheaper are no part of what it is.
    solver = rows["solver"].str.replace(r"candidates=\d+,?", "", regex=True)
    seconds = rows.assign(solver=solver).pivot_table("time_s", ["instance", "gpus"], "solver", sort=False)
    needed = [START, *STEPS.values()]
    seconds = seconds.reindex(columns=[*needed, *BESIDE.values()]).dropna(subset=needed)
    taken: dict[str, pd.Series[float]] = {}
    before = seconds[START]
    for step, name in STEPS.items():
        taken[step] = (before - seconds[name]) / seconds[START]
        before = seconds[name]
    taken["all"] = (seconds[START] - before) / seconds[START]
    taken |= {title: (seconds[START] - seconds[name]) / seconds[START] for title, name in BESIDE.items()}
    return pd.DataFrame(taken).reset_index()


def steps_text(steps: pd.DataFrame) -> str:
    """The table as Markdown, and its medians as the last row."""
    columns: dict[str, Cell] = {"instance": as_text("instance")}
    columns |= {str(name): as_about(str(name)) for name in steps.columns[2:]}
    short = steps.assign(instance=steps["instance"].map(short_names(steps["instance"])))
    median = {"instance": "median", **steps.iloc[:, 2:].median().to_dict()}
    return table(columns, [*short.to_dict("records"), median], ("instance",))


def tidy_steps(steps: pd.DataFrame) -> pd.DataFrame:
    """One row for each problem and step, with columns `step`, `instance`, `objective` and `saving`."""
    long = steps.melt("instance", list(STEPS), "step", "saving")
    return long.assign(objective="time")
