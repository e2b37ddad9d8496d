"""DT-FM's scheduler: a hybrid genetic algorithm over partitions of the devices into stages.

Source: Yuan et al. 2022 (arXiv 2206.01288), section 3, and the scheduler that its authors published
(DS3Lab/DT-FM, 2022). Steady state: a population of random partitions; each trail crosses two
parents, repairs the sizes of the groups, improves the child by cyclic partitioning (cycles.py), evaluates
it (cost.py) and lets it replace a parent. Nothing is added to the method: it sees no compute times.

Where the published code departs from its intent by mistake, this follows the intent:

    published                                            here
    assigns to random.seed, so runs are unseeded         one generator for the whole run
    accepts by max(cost, bool): a child between its      rejected only if worse than both parents,
      parents may be refused, and below 1 s one            else it replaces the worse
      worse than both be accepted
    drops the last cycle of the local search, with       kept
      two stages therefore all of it
    baseline gain: closes a cycle with the gain of       the mover's own gain
      another device than the one that moves
    returns a matching that uses removed edges           matching.py: the one whose bottleneck is evaluated
    costs assume symmetric links                         out- and in-sums; `hop` the mean of both directions
    fails for R = 1 and for S = 1                        the only partition, at once
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from solvers.core.compiled import compiled
from solvers.dtfm.cost import Groups, PartitionCost, check_input, cost_parts
from solvers.dtfm.cycles import Labels, cyclic_partitioning
from solvers.dtfm.message_times import Matrix


@dataclass(frozen=True)
class GeneticParameters:
    """The published settings. Both counts are at least 1."""

    population: int = 100
    crossed_devices: int = 5  # "five-point crossover": devices whose group comes from the first parent

    def __post_init__(self) -> None:
        for name in ("population", "crossed_devices"):
            if getattr(self, name) < 1:
                raise ValueError(f"GeneticParameters.{name}: found {getattr(self, name)}, expected at least 1")


@dataclass(frozen=True)
class GeneticOutcome:
    """The best partition found, (S, R) with devices ascending in each group, and how it was reached.

    `trace` holds (candidates evaluated, best fitness in s) at each improvement.
    """

    groups: Groups
    cost: PartitionCost
    candidates: int
    trace: tuple[tuple[int, float], ...]


@compiled
def cross(first: Labels, second: Labels, crossed: NDArray[np.int64], stages: int) -> Labels:
    """Give the second parent the first one's labels for the `crossed` devices, then repair the sizes.

    The parents' labels are not aligned, as published. Repair goes through the devices in order and moves
    one from a group that is too large to the first that is too small.
    """
    child = second.copy()
    for device in crossed:
        child[device] = first[device]
    sizes = np.bincount(child, minlength=stages)
    replicas = child.size // stages
    for device in range(child.size):
        if sizes[child[device]] > replicas:
            target = int(np.argmax(sizes < replicas))
            sizes[child[device]] -= 1
            sizes[target] += 1
            child[device] = target
    return child


def parent_to_replace(child: float, first: float, second: float) -> int | None:
    """Return which parent, 0 or 1, a child of this cost replaces; None if it is worse than both."""
    if child > max(first, second):
        return None
    return 0 if first >= second else 1


# 80 lines, of which 21 state the contract.
def search(
    hop: Matrix,
    exchange: Matrix,
    stages: int,
    generator: np.random.Generator,
    *,
    candidates: int = 5000,
    out_of_time: Callable[[], bool] = lambda: False,
    whole_gradient: Matrix | None = None,
    fitness: Callable[[Groups], float] | None = None,
    parameters: GeneticParameters | None = None,
) -> GeneticOutcome | None:
    """Search for a cheap partition of n devices into `stages` groups of n / `stages`.

    Parameters
    ----------
    hop : (n, n), s to hand the activations on; symmetric (message_times.MessageTimes.hop)
    exchange : (n, n), s for a sharded gradient transfer, both rounds (message_times.MessageTimes.exchange)
    candidates : partitions to evaluate at most, the initial population among them
    out_of_time : asked before each candidate; true ends the search
    whole_gradient : (n, n), s to send a stage's whole gradient (message_times.MessageTimes.whole_gradient);
        if given, the local search uses the baseline gain, else the paper's

    Returns
    -------
    The best of all candidates, or None if there was no time or budget for any.

    Raises
    ------
    ValueError
        The matrices do not fit, or `stages` does not divide n.
    """
    check_input(hop, exchange)
    devices = hop.shape[0]
    if stages < 1 or devices % stages:
        raise ValueError(f"stages: found {stages}, expected a divisor of the {devices} devices")
    parameters = parameters or GeneticParameters()
    hop, exchange = np.ascontiguousarray(hop, float), np.ascontiguousarray(exchange, float)
    times = hop
    if whole_gradient is not None:
        check_input(hop, whole_gradient)
        times = hop - (whole_gradient + whole_gradient.T) / 2
    limit = 1 if stages in (1, devices) else candidates
    best: GeneticOutcome | None = None
    least = inf
    evaluated = 0

    def goes_on() -> bool:
        return evaluated < limit and not out_of_time()

    def own_cost(groups: Groups, limit: float = inf) -> PartitionCost:
        return PartitionCost(*cost_parts(hop, exchange, groups, limit))

    def evaluate(labels: Labels, limit: float = inf) -> float:
        """Fitness in s; infinite if it is above the limit."""
        nonlocal best, evaluated, least
        groups = np.argsort(labels, kind="stable").reshape(stages, -1)
        score = fitness(groups) if fitness else own_cost(groups, limit).total
        evaluated += 1
        if best is None or score < least:
            trace = best.trace if best else ()
            best = GeneticOutcome(groups, own_cost(groups), evaluated, (*trace, (evaluated, score)))
            least = score
        return score

    population: list[Labels] = []
    costs: list[float] = []
    while len(population) < parameters.population and goes_on():
        labels = np.empty(devices, dtype=np.int64)
        labels[generator.permutation(devices)] = np.arange(devices) // (devices // stages)
        population.append(labels)
        costs.append(evaluate(labels))
    while goes_on():
        parents = generator.integers(parameters.population, size=2)  # may be the same one twice
        first, second = (population[index] for index in parents)
        crossed = generator.permutation(devices)[: parameters.crossed_devices]
        child = cross(first, second, crossed, stages)
        child = cyclic_partitioning(child, stages, times, whole_gradient is not None)
        cost = evaluate(child, max(costs[index] for index in parents))
        replaced = parent_to_replace(cost, *(costs[index] for index in parents))
        if replaced is not None:
            population[parents[replaced]], costs[parents[replaced]] = child, cost
    return best and replace(best, candidates=evaluated)
