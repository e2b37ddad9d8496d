"""What can be tuned, one dataclass a component; all are options of the solver. Tuning notes are in docs/memetic.md."""

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
        Whether the best plan of each grid that is made site by site is in the population from the beginning.
    construct
        Whether plans are constructed; without it new ones are random.
    tries
        Constructions, half of them chains and half made site by site, of which the best is improved; one new plan in
        five is random instead. A try costs about ten evaluations, an annealing a thousand. Untuned.
    """

    site_by_site: bool = True
    construct: bool = True
    tries: int = 30


@dataclass(frozen=True)
class Reproduction:
    """Where children come from; the rest, 0.25, are elites, most of them partly emptied and refilled.

    Attributes
    ----------
    transplant, crossover, fresh
        Shares of plans brought over to a neighbouring grid, of children of two plans, of new plans.
    layer_fit
        Whether splits of children are fitted to their placements; without it they are inherited or random. Moves
        that change a grid or a whole stage always fit.
    elites
        Members of a grid's niche; from 1 to 24 no clear difference.
    greed
        The k-th most promising grid is drawn with a chance of about 1 / k**greed; 1 and 2 were not clearly different.
    stagnation
        How much worse a grid is taken to be for each descendant since its best plan got better; from 0.0002 to 0.02
        no difference.
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
        Share of plans that are annealed; the others go to local search at once, a fraction of the work. Some
        problems want 0.2, some 1.
    descent
        Whether there is a local search.
    focus
        Share of exchanges that start at the slowest pipeline or exchange; 0.4 was no different.
    structural
        Most of the proposals that move columns, tails or segments; less on big grids, where they cost more. Untuned.
    regrid
        Share of the proposals that add or drop a stage or change the micro-batch, in every second annealing; of
        no measured use today.
    length
        Proposals per slot; 10 was worse, 60 to 300 no better in equal time: they leave too few restarts.
    hot, cold
        First and last temperature as shares of the score; the first is multiplied by a random factor from 1/4 to 4;
        0.006 to 0.012 were no different, the last is untuned.
    guide
        Most of the weight of the guide (`kernel/surrogate.py`) beside the maxima of T_r and D_s: tells plans of equal
        time apart; 0 was worse, 0.1 to 0.4 equal.
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
"""Least and most of each option that is a number."""


def check_options(options: Any) -> None:
    """ValueError names the first option that is out of its range."""
    for name, (least, most) in ALLOWED.items():
        value = getattr(options, name)
        if not (least <= value <= most and value < inf):
            wanted = f"at least {least}" if most == inf else f"a number from {least} to {most}"
            raise ValueError(f"option {name!r}: found {value}, expected {wanted}")
    if options.transplant + options.crossover + options.fresh > 1:
        raise ValueError("options 'transplant', 'crossover', 'fresh': their sum is above 1")
