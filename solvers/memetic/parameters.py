"""Parameters, a dataclass per component; all are options of the solver. Tuning notes are in docs/memetic.md."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Construction:
    """Constructed plans.

    Attributes
    ----------
    site_by_site
        Whether the first population contains the best site-by-site plan of each grid.
    construct
        Whether new plans are constructed; otherwise they are random.
    tries
        Constructions, half of them chains and half site by site, of which the best is improved; one new plan in
        five is random instead. A try takes about ten evaluations, an annealing a thousand. Untuned.
    """

    site_by_site: bool = True
    construct: bool = True
    tries: int = 30


@dataclass(frozen=True)
class Reproduction:
    """The origin of children; the remaining share, 0.25, are elites, most of them partly destroyed and repaired.

    Attributes
    ----------
    transplant, crossover, fresh
        Shares of plans transferred to a neighbouring grid, of children of two plans, of new plans.
    layer_fit
        Whether splits of children are fitted to their placements; otherwise they are inherited or random. Moves
        that change a grid or a whole stage always fit.
    elites
        Members per grid; no clear difference from 1 to 24.
    greed
        Selection pressure on grids: the k-th most promising one is drawn with probability of about 1 / k**greed; 1
        and 2 were not clearly different.
    stagnation
        Stagnation penalty: relative loss of promise of a grid for each descendant since its best plan improved; no
        difference from 0.0002 to 0.02.
    """

    transplant: float = 0.3
    crossover: float = 0.3
    fresh: float = 0.15
    layer_fit: bool = True
    elites: int = 8
    greed: float = 1.5
    stagnation: float = 0.005


@dataclass(frozen=True)
class Improvement:
    """Annealing, then local search.

    Attributes
    ----------
    anneal
        Share of plans that are annealed; the others go straight to local search, a fraction of the work. The best
        value is 0.2 on some problems and 1 on others.
    descent
        Whether local search follows.
    focus
        Share of swaps that start in the slowest pipeline or gradient exchange; 0.4 was no different.
    structural
        Maximum share of proposals that move columns, tails or segments; lower on large grids, where they take
        longer. Untuned.
    regrid
        Share of proposals that add or drop a stage or change the micro-batch, in every second annealing; no
        measured benefit.
    length
        Length of an annealing in proposals per slot; 10 was worse, 60 to 300 no better in equal time: they leave too
        few restarts.
    hot, cold
        Initial and final temperature relative to the score. The initial one is multiplied by a random factor from
        1/4 to 4; no difference from 0.006 to 0.012. The final one is untuned.
    guide
        Maximum weight of the smooth surrogate (`kernel/surrogate.py`) beside the maxima of T_r and D_s; 0 was worse,
        no difference from 0.1 to 0.4.
    """

    anneal: float = 0.35
    descent: bool = True
    focus: float = 0.7
    structural: float = 0.2
    regrid: float = 0.01
    length: float = 30.0
    hot: float = 0.008
    cold: float = 1e-5
    guide: float = 0.2


class Settings(NamedTuple):
    """The parameters as compiled code takes them."""

    construct: bool
    tries: int
    transplant: float
    crossover: float
    fresh: float
    layer_fit: bool
    greed: float
    stagnation: float
    anneal: float
    descent: bool
    focus: float
    structural: float
    regrid: float
    length: float
    hot: float
    cold: float
    guide: float


ALLOWED = {
    **dict.fromkeys(["tries", "elites", "default_evaluations", "front_capacity"], (1, inf)),
    **dict.fromkeys(["transplant", "crossover", "fresh", "anneal", "focus", "structural", "regrid"], (0, 1)),
    **dict.fromkeys(["length", "guide"], (0, inf)),
    "greed": (0, 10),
    "stagnation": (0, 10),
    **dict.fromkeys(["hot", "cold"], (1e-12, 1e12)),
}
"""Range of each numeric option."""


def check_options(options: Any) -> None:
    """ValueError names the first option that is out of its range."""
    for name, (least, most) in ALLOWED.items():
        value = getattr(options, name)
        if not (least <= value <= most and value < inf):
            wanted = f"at least {least}" if most == inf else f"a number from {least} to {most}"
            raise ValueError(f"option {name!r}: found {value}, expected {wanted}")
    if options.transplant + options.crossover + options.fresh > 1:
        raise ValueError("options 'transplant', 'crossover', 'fresh': their sum is above 1")
