"""The files of a recommendation: the plan, its picture, and the words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.planning.recommend import Recommendation
from bench.planning.what_ifs import COLUMNS, WhatIf
from bench.reporting.formatting import table
from bench.reporting.plots.files import save
from bench.reporting.plots.plan import plan_figure
from instances.disk import write_text


def write_plan(found: Recommendation, sentences: Sequence[str], rows: Sequence[WhatIf], folder: Path) -> list[Path]:
    """Write plan.json, plan.png and plan.md; their paths. InputError names a file that cannot be written."""
    plan, file = found.plan, found.answer.plan
    if plan is None or file is None:
        raise ValueError("there is no plan to write")
    paths = [folder / name for name in ("plan.json", "plan.png", "plan.md")]
    write_text(paths[0], f"{file.to_line()}\n")
    save(plan_figure(found.instance, plan), paths[1])
    parts = [f"# A plan for {found.instance.name}", *sentences, "![The plan](plan.png)"]
    if rows:
        parts += ["## What if", table(COLUMNS, [row._asdict() for row in rows], ("what if",))]
    write_text(paths[2], "\n\n".join(parts) + "\n")
    return paths
