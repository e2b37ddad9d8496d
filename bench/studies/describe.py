"""What the command `describe` says of an instance file or a suite: a row a problem, and what they have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.reporting.formatting import NOTHING, markdown, percent, significant
from bench.runs.suite import entries_of, read_suite
from bench.studies.hardness import SEARCH, Hardness, hardness_of
from instances.files import read_instance
from instances.objective import parse_objective

HEADER = (
    "instance",
    "GPUs",
    "objective",
    "best plan",
    "from",
    "left out",
    "grids",
    "compute spread",
    "bandwidth spread",
    "memory slack",
    "comm/comp",
    "megatron gap",
    "contiguous gap",
)
RIGHT = tuple(name not in ("instance", "objective", "best plan", "from") for name in HEADER)
NOTES = (
    f"best plan: pipelines x stages; `optimum` is proven, `best known` committed, `search` memetic with "
    f"{SEARCH.evaluations:,} evaluations and seed {SEARCH.seed}.",
    "left out: share of the GPUs that the best plan does not use. grids: legal shapes of a plan.",
    "spread: fastest over slowest GPU (seconds a block) and link. memory slack: share of the pool's memory that "
    "one pipeline with the whole model leaves free.",
    "comm/comp: what free links would save of the best plan's iteration, over what would be left of it.",
    "gap: (value - best) / best; n/a where that solver has no plan.",
)


def describe(name: str, objectives: Sequence[str]) -> list[Hardness]:
    """One row for each instance and objective of a file (`*.json`) or suite; fronts are left out of a suite's."""
    if Path(name).suffix == ".json":
        instance = read_instance(name)
        return [hardness_of(instance, parse_objective(text)) for text in objectives or ["time"]]
    return list(suite_rows(name, objectives))


def suite_rows(name: str, objectives: Sequence[str] = ()) -> Iterator[Hardness]:
    """The rows of a suite, as they are made."""
    suite, folder = read_suite(name)
    for entry, instance in entries_of(suite, folder, name):
        for text in objectives or entry.objectives or suite.objectives:
            objective = parse_objective(text)
            if objective.kind != "front":
                yield hardness_of(instance, objective)


def counts(rows: Sequence[Hardness]) -> dict[str, int]:
    """How many problems there are, and how many have a best plan of which kind."""
    found = [row for row in rows if row.left_out is not None]
    return {
        "problems": len(rows),
        "with_a_plan": len(found),
        "proven": sum(row.known == "optimum" for row in rows),
        "quarter_left_out": sum(row.left_out is not None and row.left_out >= 0.25 for row in found),
        "several_pipelines": sum(row.pipelines is not None and row.pipelines > 1 for row in found),
        "single_gpu": sum(row.pipelines == row.stages == 1 for row in found),
    }


def answer(name: str, rows: Sequence[Hardness]) -> dict[str, Any]:
    """The object of `describe --json`."""
    return {"described": name, "search_evaluations": SEARCH.evaluations, **counts(rows), "rows": [*map(asdict, rows)]}


def text(rows: Sequence[Hardness]) -> str:
    """The table, what its rows have in common, and how to read it."""
    found = counts(rows)
    return "\n".join(
        [
            markdown(HEADER, [_cells(row) for row in rows], RIGHT),
            "",
            f"Of {found['problems']} problems {found['with_a_plan']} have a plan, {found['proven']} a proven optimum; "
            f"the best plan leaves a quarter of the GPUs out in {found['quarter_left_out']}, has several pipelines in "
            f"{found['several_pipelines']} and is a single GPU in {found['single_gpu']}.",
            "",
            *NOTES,
        ]
    )


def _cells(row: Hardness) -> list[str]:
    return [
        row.instance,
        str(row.gpus),
        row.objective,
        f"{row.pipelines} x {row.stages}" if row.known else NOTHING,
        row.known or NOTHING,
        percent(row.left_out),
        str(row.grids),
        significant(row.compute_spread, 3),
        significant(row.bandwidth_spread, 3),
        percent(row.memory_slack),
        significant(row.communication, 3),
        percent(row.megatron_gap),
        percent(row.contiguous_gap),
    ]
