"""How all figures look: one colour and marker per solver, safe for the colour-blind, and text shown as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any, Literal, NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench.reporting.names import short_labels


class Style(NamedTuple):
    """Of one solver; `dashes` is a dash pattern of seaborn, empty for a solid line."""

    colour: str
    marker: str
    dashes: tuple[int, ...] | str = ""

    @property
    def line(self) -> Any:
        """The dash pattern as a line style of matplotlib."""
        return (0, self.dashes) if self.dashes else "-"


# Okabe and Ito's colours, darkened where they are too pale for a line on white, with black and grey.
SOLVERS = {
    "megatron": Style("#6b6b6b", "s"),
    "contiguous": Style("#8c5a2b", "P"),
    "random": Style("#cc79a7", "X"),
    "dtfm": Style("#e69f00", "^"),
    "memetic": Style("#0072b2", "o"),
    "brute": Style("#000000", "D"),
    "cpsat": Style("#009e73", "v"),
    "milp": Style("#d55e00", "<"),
    "exec": Style("#7b3fa0", ">"),
    "bound": Style("#b8a600", "d"),
}
OTHERS = (Style("#56b4e9", "h"), Style("#882255", "*"), Style("#117733", "p"), Style("#332288", "8"))
VARIANTS: tuple[tuple[int, ...] | str, ...] = ("", (4, 1), (1, 1), (4, 1, 1, 1))
"""Lines of a solver's variants, that is, of its runs with other options."""
REGIONS = ("#56b4e9", "#e69f00", "#66c2a4", "#cc79a7", "#f0e442", "#9aa6d6", "#d98c5f", "#b5b5b5")
"""Fills under black text."""
HATCHES = ("", "///", "...", "xxx", "---")
ALARM = "#b3002d"
AXES = {"axes.grid": True, "grid.color": "0.9", "axes.spines.top": False, "axes.spines.right": False}
MOST_PANELS = 6
MOST_ROWS = 36
"""Of a figure that has a row for each problem, network or the like: what fits a page."""
GAPS_FROM = 1e-4
"""Gaps below this share the linear piece of an axis with the exact hits at 0."""
RATIO = FuncFormatter(lambda position, _: f"{1 + position:,.6g}")
PERCENT = FuncFormatter(lambda position, _: f"{100 * position:,.6g} %")
NUMBER = FuncFormatter(lambda position, _: f"{position:,.6g}")


def styles(solvers: Iterable[str]) -> dict[str, Style]:
    """The style of each solver of a report, by its label; one that the suite does not know gets a spare one.

    A label may carry options, as in `memetic[size=50]`: the colour stays the solver's, the line changes;
    without options it is solid.
    """
    labels = list(dict.fromkeys(solvers))
    names = [name for name in dict.fromkeys(label.partition("[")[0] for label in labels) if name not in SOLVERS]
    bases = SOLVERS | {name: OTHERS[number % len(OTHERS)] for number, name in enumerate(sorted(names))}
    found = {label: bases[label] for label in labels if label in bases}
    for label in labels:
        base = bases[label.partition("[")[0]]
        variant = sum(style.colour == base.colour for style in found.values())
        found.setdefault(label, base._replace(dashes=VARIANTS[variant % len(VARIANTS)]))
    return {label: found[label] for label in labels}


def panels(titles: Sequence[str], size: tuple[float, float], **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure with one panel of `size` (inches) for each title, three to a row; `MOST_PANELS` fit a page."""
    across = min(3, len(titles))
    down = ceil(len(titles) / across)
    figure = Figure(figsize=(max(6.5, size[0] * across), 0.7 + size[1] * down), layout="constrained")
    # The font stays that of the text that is added later.
    fonts = {"font.family": ["sans-serif"], "font.sans-serif": ["DejaVu Sans"]}
    with sns.axes_style("ticks", AXES | fonts):
        axes = list(figure.subplots(down, across, squeeze=False, **shared).flat)
    for ax in axes[len(titles) :]:
        ax.remove()
    for ax, title in zip(axes, titles, strict=False):
        ax.set_title(plain(title), fontsize=9, loc="left")
    return figure, axes[: len(titles)]


def draw_steps(frame: pd.DataFrame, x: str, y: str, look: Mapping[str, Style], ax: Axes) -> None:
    """A step curve for each solver, through its rows in their order; later ones are thinner, so all stay visible."""
    shown = {solver: style for solver, style in look.items() if solver in set(frame["solver"])}
    step = min(0.6, 2.5 / len(shown))
    widths = {solver: 1.5 + step * place for place, solver in enumerate(reversed(shown))}
    dashes = {solver: style.dashes for solver, style in shown.items()}
    as_it_is: dict[str, Any] = {"estimator": None, "errorbar": None, "sort": False, "drawstyle": "steps-post"}
    by_solver = {"dashes": dashes, "size": "solver", "sizes": widths, "hue_order": list(shown), **_by_solver(shown)}
    sns.lineplot(frame, x=x, y=y, ax=ax, **as_it_is, **by_solver)


def draw_marks(frame: pd.DataFrame, x: str, y: str, look: Mapping[str, Style], ax: Axes) -> None:
    """The marker of its solver at each row."""
    if len(frame):  # seaborn would warn
        markers = {solver: style.marker for solver, style in look.items()}
        sns.scatterplot(frame, x=x, y=y, ax=ax, s=50, zorder=3, markers=markers, **_by_solver(look))


def _by_solver(look: Mapping[str, Style]) -> dict[str, Any]:
    palette = {solver: style.colour for solver, style in look.items()}
    return {"hue": "solver", "palette": palette, "style": "solver", "legend": False, "clip_on": False}


def legend_above(figure: Figure, look: Mapping[str, Style], solvers: Iterable[str]) -> None:
    """One legend for all panels."""
    names = short_labels(look)
    entries = [entry(style, names[solver]) for solver, style in look.items() if solver in set(solvers)]
    columns = max(1, min(6, _columns(figure.get_figwidth(), entries)))
    figure.legend(handles=entries, loc="outside upper center", ncols=columns, frameon=False, fontsize=8)


def legend_below(ax: Axes, entries: Sequence[Line2D], title: str | None = None) -> None:
    """A legend of one panel, in as many columns as there is room for."""
    grid = ax.get_gridspec()
    assert isinstance(ax.figure, Figure)
    assert grid is not None
    columns = max(1, min(3, _columns(ax.figure.get_figwidth() / grid.ncols, entries)))
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (-0.02, -0.16), "alignment": "left"}
    ax.legend(handles=entries, title=title, title_fontsize=8, fontsize=8, ncols=columns, frameon=False, **place)


def _columns(inches: float, entries: Sequence[Line2D]) -> int:
    """So many columns of a legend at size 8 are as wide as that."""
    longest = max(len(str(entry.get_label())) for entry in entries)
    return int((inches - 0.4) / (0.55 + 0.062 * longest))


def size_ranges(gpus: pd.Series[int]) -> pd.Series[str]:
    """For each number of GPUs the title of its panel: itself, or a range of sizes if there are too many for a page."""
    sizes = sorted(set(gpus))
    each = max(1, ceil(len(sizes) / MOST_PANELS))
    titles: dict[int, str] = {}
    for first in range(0, len(sizes), each):
        own = sizes[first : first + each]
        titles |= dict.fromkeys(own, f"{own[0]:,} GPUs" if len(own) == 1 else f"{own[0]:,} to {own[-1]:,} GPUs")
    return gpus.map(titles)


def cut_rows(rows: pd.Series[str]) -> pd.Series[str]:
    """The rows that fit a page, those with the most entries first to stay; the rest share one."""
    if rows.nunique() <= MOST_ROWS:
        return rows
    kept = rows.value_counts().index[: MOST_ROWS - 1]
    return rows.where(rows.isin(kept), f"{rows.nunique() - len(kept)} others")


def entry(style: Style, text: str, **line: Any) -> Line2D:
    """An entry of a legend."""
    line = {"color": style.colour, "marker": style.marker, "linestyle": style.line, **line}
    return Line2D([], [], label=plain(text), **line)


def gap_axis(ax: Axes, which: Literal["x", "y"], linear_decades: float) -> None:
    """A logarithmic axis of gaps from 0 on; its linear piece is as long as so many decades."""
    axis, set_scale = (ax.xaxis, ax.set_xscale) if which == "x" else (ax.yaxis, ax.set_yscale)
    set_scale("symlog", linthresh=GAPS_FROM, linscale=linear_decades)
    axis.set_major_locator(FixedLocator([0, *(GAPS_FROM * 10**power for power in range(12))]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(PERCENT)


def plain(text: str) -> str:
    """Text as it is: no dollar sign starts a formula, and no leading underscore hides a legend's entry."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
