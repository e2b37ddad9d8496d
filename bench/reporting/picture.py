"""The picture of an answer: of its plan, or of its front."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bench.records.record import Result
from bench.reporting.plots.files import save
from bench.reporting.plots.front import front_figure
from bench.reporting.plots.plan import plan_figure
from bench.reporting.traces import FRONT
from instances.files import plan_of
from instances.instance import Instance


def draw_answer(instance: Instance, result: Result, path: Path) -> bool:
    """Write the picture of what `solve` found; False if it found nothing. InputError if the file cannot be written."""
    if result.front:
        points = pd.DataFrame([point.model_dump() for point in result.front])
        run = {**result.model_dump(include={"instance", "solver", "seed"}), "status": str(result.status)}
        save(front_figure(points.assign(**run, gpus=instance.gpus).reindex(columns=FRONT)), path)
        return True
    if result.plan is None:
        return False
    save(plan_figure(instance, plan_of(result.plan, instance, "plan")), path)
    return True
