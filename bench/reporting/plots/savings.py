"""What plans save against a baseline, by network and number of GPUs."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.reporting.by_solver import MINIMISED, PROBLEM
from bench.reporting.formatting import about
from bench.reporting.frames import BASELINE, saved
from bench.reporting.names import network_of, short_labels
from bench.reporting.plots.style import MOST_ROWS, cut_rows, panels, plain
from instances.objective import parse_objective

COLOURS: dict[str, Any] = {"cmap": "RdBu", "center": 0, "vmin": -1, "vmax": 1, "cbar": False}
"""Blue is saved, red is lost. What is beyond 100 % has the same colour, but says its number."""


def savings_by_network(runs: pd.DataFrame, baseline: str = BASELINE) -> pd.DataFrame:
    """By `measure` (time or energy), `solver` and `row`, the median over problems of what the plans have `saved`.

    A row is a network and a number of GPUs, or a network alone where rows would be too many for a page, or all of what
    is beyond. Counted are the problems that minimise the measure, each with the median over its runs; `saved`
    is missing where no plan can be compared.
    """
    compared = runs[(runs["solver"] != baseline) & (runs["objective"] != "front")]
    compared = compared.assign(row=rows_of(compared))
    kinds = compared["objective"].map(lambda text: parse_objective(text).kind)
    found = []
    for measure, minimising in MINIMISED.items():
        own = compared[kinds.isin(minimising)]
        problems = own.groupby(["row", "solver", *PROBLEM], sort=False)[saved(measure, baseline)].median()
        medians = problems.groupby(["row", "solver"], sort=False).median().astype("float64")
        found.append(medians.rename("saved").reset_index().assign(measure=measure))
    return pd.concat(found, ignore_index=True)


def rows_of(problems: pd.DataFrame) -> pd.Series[str]:
    """The row of each problem in a figure that must fit a page: network and GPUs, the network, or `others`."""
    networks = problems["instance"].map(network_of)
    exact = networks + problems["gpus"].map(" {:,}".format)
    return exact if exact.nunique() <= MOST_ROWS else cut_rows(networks)


def savings_figure(runs: pd.DataFrame, baseline: str = BASELINE) -> Figure | None:
    """A heat map for time and one for energy: networks and sizes by solver; None if nothing can be compared."""
    savings = savings_by_network(runs, baseline)
    if savings["saved"].isna().all():
        return None
    measures = list(dict.fromkeys(savings.loc[savings["saved"].notna(), "measure"]))
    solvers = [solver for solver in dict.fromkeys(runs["solver"]) if solver in set(savings["solver"])]
    problems = runs.assign(row=rows_of(runs), place=pd.factorize(runs["instance"].map(network_of))[0])
    rows = list(dict.fromkeys(problems.sort_values(["place", "gpus"], kind="stable")["row"]))
    rows = [row for row in rows if row in set(savings["row"])]
    titles = [f"{measure} saved against {baseline} [%]" for measure in measures]
    figure, axes = panels(titles, (max(2.6, 0.55 * len(solvers) + 1.2), 1.4 + 0.24 * len(rows)), sharey=True)
    for ax, measure in zip(axes, measures, strict=True):
        own = savings[savings["measure"] == measure].pivot_table("saved", "row", "solver", sort=False)
        draw_savings(own.reindex(index=rows, columns=solvers), ax)
    return figure


def draw_savings(savings: pd.DataFrame, ax: Axes) -> Axes:
    """[row, solver] Shares; a cell without a problem, or without a plan to compare, says n/a in grey."""
    texts = savings.map(lambda share: about(share, signed=True).removesuffix(" %"))
    ax.set_facecolor("0.93")
    cells = {
        "linewidths": 0.5,
        "linecolor": "white",
        "annot_kws": {"fontsize": 7},
        "fmt": "",
        "xticklabels": False,
        "yticklabels": False,
    }
    with warnings.catch_warnings():
        # seaborn still calls what matplotlib means to replace.
        warnings.filterwarnings("ignore", category=PendingDeprecationWarning)
        sns.heatmap(savings, annot=texts, ax=ax, **COLOURS, **cells)
    names = short_labels(savings.columns)
    ax.set_xticks([place + 0.5 for place in range(len(savings.columns))], [plain(names[s]) for s in savings.columns])
    ax.set_yticks([place + 0.5 for place in range(len(savings))], [plain(str(row)) for row in savings.index])
    ax.tick_params(axis="both", length=0, labelsize=8, labelrotation=0)
    for label in ax.get_xticklabels():
        label.set(rotation=40, ha="right", rotation_mode="anchor")
    ax.set(xlabel="", ylabel="")
    ax.grid(visible=False)
    return ax
