"""Whether the plans of a run folder stay good where the cost model's assumptions do not hold: tables by solver.

Every plan is played out under 1F1B, with blocking sends, with shared uplinks and under jitter, beside fill-drain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bench.reporting.formatting import Cell, as_percent, as_text, table
from bench.runs.store import Store
from bench.simulation.draws import share_in_order
from bench.simulation.jitter import Jitter
from bench.simulation.one_f_one_b import ScheduleCost, one_f_one_b
from bench.simulation.simulate import SCHEDULES, Rules, simulate
from bench.simulation.timeline import TimeLine
from instances.errors import InputError
from instances.files import plan_of
from instances.instance import Instance
from instances.plan import Plan

TIE = 1e-9
FILL_DRAIN = "fill-drain"
BLOCKING, SHARED, JITTER = "blocking sends", "shared uplinks", "jitter"
STRICT, EAGER = "1F1B strict", "1F1B eager"


@dataclass(frozen=True)
class Cost:
    """A plan under one condition; `draw` counts draws of jitter and is 0 elsewhere."""

    condition: str
    draw: int
    time_s: float
    energy_j: float
    memory: float  # of the fullest GPU over its capacity


@dataclass(frozen=True)
class Played:
    """The plan of one run under one condition; `run` is the key of its record."""

    instance: str
    objective: str
    solver: str
    run: str
    cost: Cost


def played(folder: Path, jitter: Jitter, draws: int, seed: int) -> Iterator[Played]:
    """Every plan of a run folder under every condition. InputError if the folder holds no plan."""
    store = Store(folder)
    store.asked()
    records = [record for record in store.records() if record.plan is not None]
    if not records:
        raise InputError(f"{folder}: no run has a plan")
    done: dict[tuple[str, Plan], list[Cost]] = {}
    for record in records:
        instance = store.instance(record)
        assert record.plan is not None
        plan = plan_of(record.plan, instance, f"{folder}: {record.title}")
        key = record.instance_hash, plan
        if key not in done:
            done[key] = list(_conditions(instance, plan, jitter, draws, seed))
        yield from (Played(record.instance, record.objective, record.label, record.key, cost) for cost in done[key])


def _conditions(instance: Instance, plan: Plan, jitter: Jitter, draws: int, seed: int) -> Iterator[Cost]:
    """Fill-drain first."""
    capacity = np.array([[instance.groups[k].memory for k in row] for row in plan.groups]).min(axis=0)

    def cost(condition: str, of: TimeLine | ScheduleCost, draw: int = 0) -> Cost:
        return Cost(condition, draw, of.time_s, of.energy_j, float(max(of.memory / capacity)))

    line = simulate(instance, plan)
    yield cost(FILL_DRAIN, line)
    for name, schedule in ((STRICT, SCHEDULES[1]), (EAGER, SCHEDULES[2])):
        yield cost(name, one_f_one_b(instance, plan, schedule, line.sync_s, line.network_energy_j))
    for name, rules in ((BLOCKING, Rules(blocking=True)), (SHARED, Rules(uplink=1.0))):
        yield cost(name, simulate(instance, plan, rules))
    for draw in range(draws):
        yield cost(JITTER, simulate(instance, plan, speeds=jitter.speeds(instance, seed, draw)), draw)


COSTS: Mapping[str, Cell] = {
    "condition": as_text("condition"),
    "solver": as_text("solver"),
    "plans": as_text("plans"),
    "time": as_percent("time", signed=True),
    "least": as_percent("least", signed=True),
    "most": as_percent("most", signed=True),
    "energy": as_percent("energy", signed=True),
    "memory": as_percent("memory", signed=True),
}
RANKS: Mapping[str, Cell] = {
    "condition": as_text("condition"),
    "pairs in order": as_percent("pairs"),
    "same best solver": lambda row: f"{row['kept']} of {row['asked']}",
}
LEFT = ("condition", "solver")


def sensitivity_tables(rows: Iterable[Played]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What each condition changes for each solver's plans, and what it does to the ranking of the solvers."""
    frame = pd.DataFrame([{**vars(row), **vars(row.cost)} for row in rows]).drop(columns="cost")
    figures, keys = ["time_s", "energy_j", "memory"], ["run", "instance", "objective"]
    before = frame[frame["condition"] == FILL_DRAIN].set_index(keys)[figures].add_suffix("_before")
    joined = frame[frame["condition"] != FILL_DRAIN].join(before, on=keys)
    joined["value"], joined["value_before"] = _value(joined, ""), _value(joined, "_before")
    for name, key in (("time", "time_s"), ("energy", "energy_j"), ("memory", "memory")):
        joined[name] = np.log(joined[key] / joined[f"{key}_before"])
    groups = joined.groupby(["condition", "solver"], sort=False)
    costs = groups.agg(
        plans=("run", "nunique"),
        **{name: (name, "mean") for name in ("time", "energy", "memory")},
        least=("time", "min"),
        most=("time", "max"),
    )
    shares = ["time", "energy", "memory", "least", "most"]
    costs[shares] = np.expm1(costs[shares])
    return costs.reset_index(), pd.DataFrame(_ranks(joined))


def _value(frame: pd.DataFrame, suffix: str) -> pd.Series[float]:
    """What a run is ranked by: its energy where the objective is one, else its time."""
    energy = frame["objective"].str.match("energy|carbon|cost")
    return frame[f"time_s{suffix}"].where(~energy, frame[f"energy_j{suffix}"])


def _ranks(joined: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Of each condition: pairs of solvers in the order of before, and how often the best solver stays the best."""
    for condition, of_it in joined.groupby("condition", sort=False):
        pairs, kept = [], []
        for _, asked in of_it.groupby(["instance", "objective", "draw"], sort=False):
            solvers = asked.groupby("solver")[["value_before", "value"]].median()
            if len(solvers) > 1:
                pairs.append(share_in_order(solvers["value_before"].to_numpy(), solvers["value"].to_numpy()))
                # Solvers may share the best place, before and after.
                best = solvers["value_before"] <= solvers["value_before"].min() * (1 + TIE)
                kept.append(bool(solvers["value"][best].min() <= solvers["value"].min() * (1 + TIE)))
        share = float(np.nanmean(pairs)) if np.isfinite(pairs).any() else float("nan")
        yield {"condition": condition, "pairs": share, "kept": sum(kept), "asked": len(kept)}


def sensitivity_text(costs: pd.DataFrame, ranks: pd.DataFrame, jitter: Jitter, draws: int) -> str:
    """The tables as text, and a line on how to read them."""
    return (
        f"{table(COSTS, costs.to_dict('records'), LEFT)}\n\n{table(RANKS, ranks.to_dict('records'), LEFT)}\n\n"
        "Against the same plan under fill-drain: time, energy and memory of the fullest GPU, geometric means; least "
        "and most are of the time. Solvers are ranked by the median over their seeds of the objective's figure, for "
        f"each instance and objective ({draws} draws each under jitter: spreads {jitter.compute:g} of compute, "
        f"{jitter.bandwidth:g} of bandwidth, {jitter.latency:g} of latency). A site's uplink is as fast as its fastest "
        "link to another site."
    )
