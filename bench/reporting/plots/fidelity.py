"""Measured and predicted iterations, by source."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from bench.reporting.plots.style import NUMBER, SOLVERS, panels
from bench.studies.fidelity.compare import OTHER as SECOND
from bench.studies.fidelity.rows import Measured

OURS, OTHER = SOLVERS["memetic"].colour, SOLVERS["dtfm"].colour


def fidelity_figure(rows: Sequence[Measured]) -> Figure:
    """A panel for each source: predicted over measured, the second prediction in a paler mark."""
    sources = list(dict.fromkeys(row.source for row in rows))
    figure, axes = panels(sources, (3.4, 3.2))
    for ax, source in zip(axes, sources, strict=True):
        shown = [row for row in rows if row.source == source and not row.why_unscored]
        measured = [row.measured for row in shown]
        unit = shown[0].unit
        ends = min(measured) * 0.7, max(measured) * 1.4
        ax.plot(ends, ends, color="0.5", linewidth=0.8)
        others = [row for row in shown if row.other is not None]
        if others:
            name = fill(f"beside it: {SECOND[source]}", 34)
            seen = [row.measured for row in others], [row.other or 0 for row in others]
            ax.scatter(*seen, 14, marker="x", color=OTHER, label=name)
        ax.scatter(measured, [row.predicted for row in shown], 14, marker="o", color=OURS, label="prediction")
        ax.legend(loc="upper left", fontsize=6, frameon=False)
        ax.set(xscale="log", yscale="log", xlabel=f"measured [{unit}]", ylabel=f"predicted [{unit}]")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(NUMBER)
            axis.set_minor_formatter(NullFormatter())
    return figure
