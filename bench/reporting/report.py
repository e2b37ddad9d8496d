"""The report of a run folder: tables as Markdown and CSV, figures, and one page that holds them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bench.records.record import Record
from bench.reporting.by_solver import NOTES as SUMMARY_NOTES
from bench.reporting.by_solver import QUALITY, by_solver, savings_columns, summary_text
from bench.reporting.formatting import NOTHING, Cell, as_number, as_percent, as_text, significant, table
from bench.reporting.frames import BASELINE, BASELINES, beyond, runs_table, summary_table, with_truth
from bench.reporting.latex import latex
from bench.reporting.page import page
from bench.reporting.traces import front_table, trace_table
from bench.runs.store import AskedRun, Store, older_content
from instances.disk import write_text
from instances.errors import InputError
from instances.instance import COST_MODEL_VERSION
from instances.objective import parse_objective
from solvers.core.interface import Status

if TYPE_CHECKING:
    from bench.reporting.plots import Drawn

FAR_OFF = 1000
"""Times the best known value beyond which a baseline's plan is pointed out."""


def _in_unit(value: float, objective: str) -> str:
    """A value of the objective, with its unit; weighted sums have none."""
    text, unit = significant(value, 6), parse_objective(objective).unit
    return f"{text} {unit}".rstrip() if text != NOTHING else NOTHING


def _value(row: Mapping[str, Any]) -> str:
    return _in_unit(row["value"], row["objective"])


def _truth(row: Mapping[str, Any]) -> str:
    """What is proven of the instance."""
    if not pd.isna(row["optimum"]):
        return f"= {_in_unit(row['optimum'], row['objective'])}"
    return NOTHING if pd.isna(row["best_bound"]) else f">= {_in_unit(row['best_bound'], row['objective'])}"


def columns_against(baseline: str) -> dict[str, Cell]:
    """Of the table of every problem: a row per instance, objective and solver."""
    return {
        "instance": as_text("instance"),
        "GPUs": as_text("gpus"),
        "objective": as_text("objective"),
        "solver": as_text("solver"),
        "status": as_text("status"),
        "solved": lambda row: f"{row['solved']}/{row['runs']}",
        "time [s]": as_number("time_s"),
        "energy [kJ]": as_number("energy_j", unit=1000),
        "value": _value,
        "optimum or bound": _truth,
        "optimality gap": as_percent("optimality_gap"),
        "certified gap": as_percent("certified_gap"),
        "gap to best known": as_percent("best_known_gap"),
        f"time saved vs {baseline}": as_percent("time_saving", signed=True),
        f"energy saved vs {baseline}": as_percent("energy_saving", signed=True),
        "seconds": as_number("wall_s", 3),
    }


COLUMNS: Mapping[str, Cell] = columns_against(BASELINE)
LEFT = ("instance", "objective", "solver", "status")
"""Columns that are no numbers."""
WANTED = ("instance", "objective", "solver", "value", "optimality gap", "gap to best known", "certified gap", "seconds")
"""Where there is no room for all columns, these first."""
NOTES = (
    "time, energy: one iteration of the returned plan, by the referee; medians over the runs that have a plan.",
    "value: of the objective; weighted sums have no unit.",
    "solved: runs with a plan, of all runs; failed runs stay in the count.",
    "optimum or bound: `=` a proven optimum, `>=` the best proven lower bound, n/a where nothing is proven; of any "
    "run, or of the best known values that come with the suites.",
    "optimality gap: (value - optimum) / optimum, n/a where no optimum is proven.",
    "certified gap: (value - bound) / value.",
    "gap to best known: (value - best) / best, the best value of any run or of those that come with the suites.",
    "results that the suite no longer asks for have no row; what they prove or find of the same instances counts.",
    "saved: (baseline - plan) / baseline, time and energy of the same plan; negative where the plan is worse.",
    "seconds: median search time of a run, without compilation.",
)


@dataclass(frozen=True)
class Report:
    """What a report holds; `brief`, the summary by solver, and `table`, every problem, are Markdown."""

    suite: str
    baselines: tuple[str, ...]
    solvers: pd.DataFrame
    brief: str
    table: str
    missing: list[str]
    beyond: list[str]  # what else the folder holds
    problems: list[str]
    origin: list[str]
    summary: pd.DataFrame
    runs: pd.DataFrame
    traces: pd.DataFrame
    fronts: pd.DataFrame
    absent: Sequence[str] = ()  # figures that are not drawn, with the reason

    @property
    def sections(self) -> dict[str, Sequence[str]]:
        """What follows the table and the figures: lists by heading, empty ones left out."""
        lists: dict[str, Sequence[str]] = {
            f"Missing: {len(self.missing)} of {len(self.runs)} runs": self.missing,
            "What went wrong": self.problems,
            "Figures left out": self.absent,
            "Also in the folder": self.beyond,
            "How to read it": (*SUMMARY_NOTES, *NOTES),
            "Made with": self.origin,
        }
        return {heading: lines for heading, lines in lists.items() if lines}

    def markdown(self, figures: Sequence[Drawn]) -> str:
        """The whole report as Markdown."""
        lines = [f"# Report on suite {self.suite}", "", self.brief, "", "## Every problem", "", self.table, ""]
        for figure in figures:
            lines += [f"![{_unmarked(figure.alt)}]({figure.png})", "", f"*{_unmarked(figure.caption)}*", ""]
        for heading, entries in self.sections.items():
            lines += [f"## {heading}", "", *(f"- {entry}" for entry in entries), ""]
        return "\n".join(lines)


def make_report(store: Store, baselines: Sequence[str] = ()) -> Report:
    """Read a run folder, finished or not.

    `baselines` (default: `BASELINES`) are what savings are measured against. InputError if the folder has no run of one
    that is named; ContradictionError if two results cannot both be right.
    """
    asked, records = store.asked(), store.records()
    labels = {run.label for run in asked.runs} | {record.label for record in records}
    for name in baselines:
        if name not in labels:
            raise InputError(
                f"--baseline {name}: {store.folder} has runs of {', '.join(sorted(labels)) or 'no solver'}"
            )
    against = tuple(dict.fromkeys(baselines)) or BASELINES
    runs = with_truth(runs_table(asked.runs, records), against)
    solvers = by_solver(runs, against)
    summary = summary_table(runs)
    found = {record.key: record for record in records}
    used = [found[run.key] for run in asked.runs if run.key in found]
    return Report(
        suite=asked.suite,
        baselines=against,
        solvers=solvers,
        brief=summary_text(solvers, against),
        table=table(columns_against(against[0]), summary.to_dict("records"), LEFT),
        missing=[run.title for run in asked.runs if run.key not in found],
        beyond=_beyond(asked.runs, records),
        problems=[*(line for each in used for line in _problems(each)), *_far_off(runs, against)],
        origin=[*_origin(used), *_other_code(asked.runs, found)],
        summary=summary,
        runs=runs,
        traces=trace_table(asked.runs, records),
        fronts=front_table(asked.runs, records),
    )


def write_report(store: Store, baselines: Sequence[str] = ()) -> tuple[Report, Path]:
    """Write report.md, report.html, the tables as CSV and the figures; the path is that of report.md."""
    from bench.reporting.plots import save_figures

    report = make_report(store, baselines)
    figures, absent = save_figures(report.runs, report.traces, report.fronts, store.folder, report.baselines[0])
    report = replace(report, absent=absent)
    text = report.markdown(figures)
    write_text(store.folder / "report.md", text)
    write_text(store.folder / "solvers.csv", report.solvers.to_csv(index=False, na_rep="NA"))
    write_text(store.folder / "summary.csv", report.summary.to_csv(index=False, na_rep="NA"))
    write_text(store.folder / "runs.csv", report.runs.to_csv(index=False, na_rep="NA"))
    if len(report.fronts):
        write_text(store.folder / "fronts.csv", report.fronts.to_csv(index=False, na_rep="NA"))
    solvers, problems = report.solvers.to_dict("records"), report.summary.to_dict("records")
    tables = {"quality": QUALITY, "savings": savings_columns(report.baselines)}
    for name, columns in tables.items():
        write_text(store.folder / f"{name}.tex", latex(columns, solvers, LEFT))
    every = columns_against(report.baselines[0])
    write_text(store.folder / "summary.tex", latex(every, problems, LEFT))
    write_text(store.folder / "report.html", page(report, every, LEFT, figures, store))
    return report, store.folder / "report.md"


def _origin(records: list[Record]) -> list[str]:
    commits = [f"{each.commit}{' with uncommitted changes' * bool(each.dirty)}" for each in records if each.commit]
    commits += ["none (an installed copy)" for each in records if each.commit is None]
    machines = [_pairs(each.machine.model_dump()) for each in records]
    lines = [f"cost model version {COST_MODEL_VERSION}"]
    lines += [f"commit: {text}" for text in dict.fromkeys(commits)]
    lines += [f"machine: {text}" for text in dict.fromkeys(machines)]
    lines += [f"versions: {text}" for text in dict.fromkeys(_pairs(each.versions) for each in records)]
    if any(not record.timed_alone for record in records):
        lines.append("runs were made side by side: their seconds are no timings")
    return lines


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items() if value is not None)


def _other_code(asked: Sequence[AskedRun], found: Mapping[str, Record]) -> list[str]:
    """Whose results are not of the code that was asked for, but kept with `run --keep`."""
    counts = Counter(
        (run.solver, found[run.key].code or "none", run.code or "none")
        for run in asked
        if run.key in found and found[run.key].code != run.code
    )
    return [
        f"results of other code were kept: {count} of {solver} (code {then}, the other runs are of {now})"
        for (solver, then, now), count in counts.items()
    ]


def _beyond(asked: Sequence[AskedRun], records: Sequence[Record]) -> list[str]:
    """How many results the folder holds that the suite no longer asks for, by solver and content."""
    counts = Counter(
        (record.label, record.objective, record.instance if older_content(record, asked) else None)
        for record in beyond(asked, records)
    )
    return [
        f"{count} of {solver} for {objective}, not asked for by the suite as it is now"
        + (f": of an older content of {instance}" if instance else "")
        for (solver, objective, instance), count in counts.items()
    ]


def _problems(record: Record) -> Iterator[str]:
    """What went wrong in a run: it failed, its claim was refuted, or its method distrusts its own proof."""
    refuted = record.status is Status.FEASIBLE and record.reason is not None
    if refuted or not record.final:
        yield f"{record.title}: {record.ended}: {record.reason or 'no reason given'}"
    if "distrusted" in record.details:
        yield f"{record.title}: the method distrusts its own proof: {record.details['distrusted']}"


def _far_off(runs: pd.DataFrame, baselines: Sequence[str]) -> Iterator[str]:
    """Baselines whose plan is so bad that every saving reads 100 %: some link stands in for none, perhaps."""
    rows = runs[runs["solver"].isin(baselines) & (runs["best_known_gap"].astype(float) > FAR_OFF - 1)]
    for (solver, instance, objective), gaps in rows.groupby(["solver", "instance", "objective"])["best_known_gap"]:
        yield (
            f"{solver} on {instance}, {objective}: its plan is {1 + gaps.max():.3g} times the best known value, so "
            "savings against it say little; `null` in `bandwidth` says that there is no link"
        )


def _unmarked(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|" else letter for letter in " ".join(text.split()))
