"""Figures: functions from a frame and an `Axes` to the `Axes`; `save_figures` draws and saves those of a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from bench.reporting.frames import BASELINE
from instances.disk import remove

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTIONS = {
    "savings": f"Time and energy that plans save against {BASELINE}'s, of the same plan: medians over the runs "
    "with a plan, lines from the worst to the best. Left of 0 the plan is worse.",
    "gaps": "Share of all runs whose plan comes within a gap of the proven optimum and, apart from it, of the "
    "best known value where no optimum is proven. Markers show the exact hits; runs without a plan never count as "
    "within, so a line may end below 100 %.",
    "anytime": "The best plan so far by search seconds: median gap to the best known value over all runs at a "
    "size, drawn once half of them have a plan, up to the end of the last run. Bands, where they would not hide "
    "each other, hold the middle half of the runs.",
    "fronts": "The trade-off between iteration time and energy, one step curve per run; hollow markers are "
    "fronts proven complete. The percentage is the hypervolume, median over the runs with a front: the area that a "
    "front dominates, as a share of that of all plans found for the instance. Points are the plans of solvers that "
    "gave no front, whatever they minimised.",
}
IN_WORDS = {
    "savings": f"Dots of time and energy saved against {BASELINE}, by instance and objective, for {{solvers}}.",
    "gaps": "Step curves of the share of runs by gap, for {solvers}.",
    "anytime": "Falling step curves of the median gap by search seconds, for {solvers}.",
    "fronts": "Energy by iteration time for {instances}.",
}


@dataclass(frozen=True)
class Drawn:
    """A figure in the report's folder: file name, caption, and what it shows in words for those who cannot see it."""

    name: str
    caption: str
    alt: str


def save_figures(runs: pd.DataFrame, traces: pd.DataFrame, fronts: pd.DataFrame, folder: Path) -> list[Drawn]:
    """Draw what the runs allow, as PNG files in `folder`; a figure with nothing to show is left out.

    A file that an earlier report left under the name of such a figure is removed.
    """
    from bench.reporting.plots.anytime import anytime_figure
    from bench.reporting.plots.files import save
    from bench.reporting.plots.front import fronts_figure
    from bench.reporting.plots.gaps import gaps_figure
    from bench.reporting.plots.savings import savings_figure

    saved = runs.loc[runs["solver"] != BASELINE, "time_saving"]
    makers: dict[str, Callable[[], Figure | None]] = {
        "savings": lambda: savings_figure(runs) if saved.notna().any() else None,
        "gaps": lambda: gaps_figure(runs),
        "anytime": lambda: anytime_figure(runs, traces),
        "fronts": lambda: fronts_figure(runs, fronts),
    }
    solvers, instances = (", ".join(dict.fromkeys(names)) for names in (runs["solver"], fronts["instance"]))
    drawn = []
    for name, make in makers.items():
        path = folder / f"{name}.png"
        figure = make() if len(runs) else None
        if figure is None:
            remove(path)
        else:
            save(figure, path)
            drawn.append(Drawn(path.name, CAPTIONS[name], IN_WORDS[name].format(solvers=solvers, instances=instances)))
    return drawn
