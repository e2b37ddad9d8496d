"""How all figures look: one colour and marker per solver, safe for the colour-blind, and text shown as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter


class Style(NamedTuple):
    """Of one solver; `dashes` is a line style of matplotlib."""

    colour: str
    marker: str
    dashes: str | tuple[int, tuple[int, ...]]


# Okabe and Ito's colours, darkened where they are too pale for a line on white, with black and grey.
SOLVERS = {
    "megatron": Style("#6b6b6b", "s", "-"),
    "contiguous": Style("#8c5a2b", "P", "-"),
    "random": Style("#cc79a7", "X", "-"),
    "dtfm": Style("#e69f00", "^", "-"),
    "memetic": Style("#0072b2", "o", "-"),
    "brute": Style("#000000", "D", "-"),
    "cpsat": Style("#009e73", "v", "-"),
    "milp": Style("#d55e00", "<", "-"),
    "routes": Style("#7b3fa0", ">", "-"),
    "bound": Style("#b8a600", "d", "-"),
}
OTHERS = (
    Style("#56b4e9", "h", "-"),
    Style("#882255", "*", "-"),
    Style("#117733", "p", "-"),
    Style("#332288", "8", "-"),
)
VARIANTS = ("-", (0, (4, 1)), (0, (1, 1)), (0, (4, 1, 1, 1)))
"""Lines of a solver's variants, that is, of its runs with other options."""
REGIONS = ("#56b4e9", "#e69f00", "#66c2a4", "#cc79a7", "#f0e442", "#9aa6d6", "#d98c5f", "#b5b5b5")
"""Fills under black text."""
HATCHES = ("", "///", "...", "xxx", "---")
ALARM = "#b3002d"
GRID = "0.9"


def styles(solvers: Iterable[str]) -> dict[str, Style]:
    """The style of each solver of a report, by its label; one that the suite does not know gets a spare one.

    A label may carry options, as in `memetic[size=50]`: the colour stays the solver's, the line changes.
    """
    labels = list(dict.fromkeys(solvers))
    names = [name for name in dict.fromkeys(label.partition("[")[0] for label in labels) if name not in SOLVERS]
    bases = SOLVERS | {name: OTHERS[number % len(OTHERS)] for number, name in enumerate(sorted(names))}
    found: dict[str, Style] = {}
    for label in labels:
        base = bases[label.partition("[")[0]]
        variant = sum(style.colour == base.colour for style in found.values())
        found[label] = base._replace(dashes=VARIANTS[variant % len(VARIANTS)])
    return found


def plain(text: str) -> str:
    """Text as it is: no dollar sign starts a formula, and no leading underscore hides a legend's entry."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def tidy(ax: Axes) -> Axes:
    """Only the lower and the left axis, over a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=GRID)
    ax.set_axisbelow(True)
    return ax


def legend_above(figure: Figure, columns: int) -> None:
    """One legend for all panels, each name once."""
    found = {text: handle for ax in figure.axes for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    if found:
        across = min(columns, len(found))
        figure.legend(list(found.values()), list(found), loc="outside upper center", ncols=across, frameon=False)


def percent_ticks(position: float, _: object = None) -> str:
    """A gap, given as a fraction, as a tick."""
    return f"{100 * position:,.6g} %"


PERCENT = FuncFormatter(percent_ticks)
NUMBER = FuncFormatter(lambda position, _: f"{position:,.6g}")
