"""Values and seconds over several run folders, against the first."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bench.reporting.plots.style import panels, plain, styles

MEASURES = ("value", "CPU seconds")


def trend_figure(rows: pd.DataFrame) -> Figure:
    """A panel for each measure that there is: ratio to the first folder by folder, a line for each solver.

    `rows` has the columns `folder`, `solver`, `measure` and `ratio`.
    """
    measures = [measure for measure in MEASURES if (rows["measure"] == measure).any()]
    folders = dict.fromkeys(rows["folder"])
    names = {folder: Path(folder).name for folder in folders}
    if len(set(names.values())) < len(names):
        names = {folder: folder for folder in folders}
    first = next(iter(names.values()))
    look = styles(rows["solver"])
    figure, axes = panels([f"{measure}, ratio to {first}" for measure in measures], (6.2, 3.4))
    for measure, ax in zip(measures, axes, strict=False):
        own = rows[rows["measure"] == measure].assign(name=lambda frame: frame["folder"].map(names))
        alike = dict(list(own.groupby("solver", sort=False)))
        for above, (solver, line) in enumerate(reversed(alike.items())):
            own_look = {"color": look[str(solver)].colour, "marker": look[str(solver)].marker, "markersize": 6 + above}
            # Those below are wider, so that lines that coincide stay visible.
            width, label = 1.2 + above, plain(str(solver))
            sns.lineplot(line, x="name", y="ratio", ax=ax, label=label, linewidth=width, zorder=9 - above, **own_look)
        ax.axhline(1, color="0.6", linewidth=0.8)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}x"))
        ax.set(xlabel="run folder", ylabel=f"{measure}: geometric mean of ratios")
        ax.legend(fontsize=7, frameon=False)
    return figure
