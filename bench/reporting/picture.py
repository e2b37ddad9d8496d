"""The picture of an answer: of its plan, or of its front."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bench.reporting.plots.files import save
from bench.reporting.plots.front import front_figure
from bench.reporting.plots.plan import plan_figure
from bench.reporting.traces import FRONT
from instances.files import plan_from_json
from instances.instance import Instance


def draw_answer(instance: Instance, result: Mapping[str, Any], path: Path) -> bool:
    """Write the picture of what `solve` found; False if it found nothing. InputError if the file cannot be written."""
    if result["front"]:
        points = [
            {**result, "gpus": instance.gpus, "time_s": point["time_s"], "energy_j": point["energy_j"]}
            for point in result["front"]
        ]
        save(front_figure(pd.DataFrame(points, columns=FRONT)), path)
        return True
    if not result["plan"]:
        return False
    save(plan_figure(instance, plan_from_json(result["plan"], instance, "plan")), path)
    return True
