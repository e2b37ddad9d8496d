"""Figures: functions from a frame and an `Axes` to the `Axes`; `save_figures` draws and saves those of a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from bench.reporting.frames import BASELINE
from bench.reporting.names import short_labels, short_names
from instances.disk import remove

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTIONS = {
    "savings": "What plans save against {baseline}: time on problems that minimise time, energy on those that minimise "
    "energy, by network and number of GPUs; medians over problems. Blue is saved, red is lost; grey cells have nothing "
    "to compare.",
    "profile": "Performance profile: on how many problems a solver comes within a ratio of the best known value. "
    "Each problem counts once, with the median over its runs; runs without a plan count as infinitely bad, so a line "
    "may end below 100 %.",
    "gaps": "Gap to the proven optimum, a mark for each problem: the median over its runs with a plan. The bars are "
    "medians over problems.",
    "anytime": "The best plan so far by search seconds: median gap to the best known value over all runs at a "
    "size, drawn once half of them have a plan, up to the end of the last run. Bands, of the four "
    "solvers that end best, hold the middle half of the runs.",
    "proofs": "Exact methods by the number of GPUs. Left, the search seconds of every run: filled marks are proofs, "
    "hollow ones runs that ended without, most of them at their limit; lines join the medians as far as half of the "
    "runs at a size are proofs. Right, the share of all runs that end with a proof.",
    "fronts": "The trade-off between iteration time and energy, one step curve per run; hollow markers are "
    "fronts proven complete. The percentage is the hypervolume, median over the runs with a front: the area that a "
    "front dominates, as a share of that of all plans found for the instance. Points are the plans of solvers that "
    "gave no front, whatever they minimised.",
}
IN_WORDS = {
    "savings": "Heat maps of time and energy saved against {baseline}, for {solvers}.",
    "profile": "Step curves of the share of problems by ratio to the best known value, for {solvers}.",
    "gaps": "Rows of marks at the gap to the optimum, for {solvers}.",
    "anytime": "Falling step curves of the median gap by search seconds, for {solvers}.",
    "proofs": "Search seconds and share of proofs by number of GPUs, for the exact methods among {solvers}.",
    "fronts": "Energy by iteration time for {instances}.",
}
ABSENT = {
    "savings": "no plan can be compared with one of {baseline}",
    "profile": "no plan is known of any problem",
    "gaps": "no solver has a plan for a problem whose optimum is known",
    "anytime": "no solver that records its search has a plan in half of its runs at any size",
    "proofs": "no exact method has a result",
    "fronts": "no run has a front",
}


@dataclass(frozen=True)
class Drawn:
    """A figure in the report's folder: its name, caption, and what it shows in words for those who cannot see it."""

    name: str
    caption: str
    alt: str

    @property
    def png(self) -> str:
        """The file name of the picture for a preview."""
        return f"{self.name}.png"

    @property
    def svg(self) -> str:
        """The file name of the picture for a page."""
        return f"{self.name}.svg"

    @property
    def pdf(self) -> str:
        """The file name of the picture for a paper."""
        return f"{self.name}.pdf"

    @property
    def files(self) -> tuple[str, ...]:
        """All of its file names."""
        return self.png, self.svg, self.pdf


def save_figures(
    runs: pd.DataFrame, traces: pd.DataFrame, fronts: pd.DataFrame, folder: Path, baseline: str = BASELINE
) -> tuple[list[Drawn], list[str]]:
    """Draw what the runs allow, as files in `folder`; of each figure that is left out, a line says why.

    Files that an earlier report left under the name of such a figure are removed.
    """
    from bench.reporting.plots.anytime import anytime_figure
    from bench.reporting.plots.front import fronts_figure
    from bench.reporting.plots.gaps import gaps_figure
    from bench.reporting.plots.profile import profile_figure
    from bench.reporting.plots.proofs import proofs_figure
    from bench.reporting.plots.savings import savings_figure

    makers: dict[str, Callable[[], Figure | None]] = {
        "savings": lambda: savings_figure(runs, baseline),
        "profile": lambda: profile_figure(runs),
        "gaps": lambda: gaps_figure(runs),
        "anytime": lambda: anytime_figure(runs, traces),
        "proofs": lambda: proofs_figure(runs),
        "fronts": lambda: fronts_figure(runs, fronts),
    }
    shown = {"solvers": short_labels(runs["solver"]), "instances": short_names(fronts["instance"])}
    words = {kind: ", ".join(names.values()) for kind, names in shown.items()} | {"baseline": baseline}
    drawn, absent = [], []
    for name, make in makers.items():
        texts = Drawn(name, CAPTIONS[name].format(**words), IN_WORDS[name].format(**words))
        if draw(make() if len(runs) else None, texts, folder):
            drawn.append(texts)
        else:
            absent.append(f"{name}: {ABSENT[name].format(**words)}")
    return drawn, absent


def draw(figure: Figure | None, drawn: Drawn, folder: Path) -> bool:
    """Save a figure in every format, or remove the files that it would have; whether there is a figure."""
    from bench.reporting.plots.files import save

    for name in drawn.files:
        if figure is None:
            remove(folder / name)
        else:
            save(figure, folder / name)
    return figure is not None
