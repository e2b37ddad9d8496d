"""DT-FM's cost: recorded values, hand-made values, and its two exact parts against enumeration."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from solvers.dtfm.cost import partition_cost, read_pipelines
from solvers.dtfm.matching import bottleneck_matching
from solvers.dtfm.message_times import MessageTimes
from solvers.dtfm.path import held_karp, improved_path, path_length, shortest_path, spanning_bound
from tests.solvers.dtfm_facts import Problem, link_units, scenarios, tiny_problems

# Few different values make ties, which is where matchings and paths go wrong.
WEIGHTS = st.one_of(st.integers(0, 6).map(float), st.floats(0, 1, width=32).map(float))


def square(most: int) -> st.SearchStrategy[np.ndarray]:
    return st.integers(1, most).flatmap(lambda size: arrays(float, (size, size), elements=WEIGHTS))


def slowest_hops(hop: np.ndarray, pipelines: np.ndarray) -> float:
    """Charge pipelines as they stand: the slowest hop between each two stages."""
    return sum(max(hop[u, v] for u, v in zip(a, b, strict=True)) for a, b in pairwise(pipelines.T))


@pytest.mark.parametrize("problem", tiny_problems(), ids=lambda problem: problem.name)
def test_recorded_optima_cost_what_is_recorded(problem: Problem) -> None:
    optimum = problem.facts["optimum"]
    cost = partition_cost(problem.hop, problem.exchange, np.array(optimum["stages_in_order"]))
    assert cost.data_parallel == pytest.approx(optimum["data_parallel"], abs=1e-9)
    assert cost.pipeline == pytest.approx(optimum["pipeline"], abs=1e-9)
    assert cost.total == pytest.approx(optimum["total"], abs=1e-9)


@pytest.mark.parametrize("problem", scenarios(), ids=lambda problem: problem.name)
def test_each_scenarios_best_known_partition_costs_the_best_known_total(problem: Problem) -> None:
    """Stage s takes every 8th device of 64; in `spot`, a GPU of each instance or eight single ones."""
    groups = np.arange(64).reshape(8, 8).T
    if problem.name == "spot":
        groups = np.vstack([np.arange(32).reshape(8, 4).T, np.arange(32, 64).reshape(4, 8)])
    cost = partition_cost(problem.hop, problem.exchange, groups)
    assert cost.total == pytest.approx(problem.facts["best_known_total_s"], abs=1e-9)


@pytest.mark.parametrize("problem", tiny_problems(), ids=lambda problem: problem.name)
def test_pipelines_attain_the_cost_that_is_claimed_for_them(problem: Problem) -> None:
    groups = np.random.default_rng(1).permutation(len(problem.hop)).reshape(problem.stages, problem.replicas)
    pipelines = read_pipelines(problem.hop, groups)
    assert pipelines.shape == (problem.replicas, problem.stages)
    assert sorted(map(sorted, pipelines.T.tolist())) == sorted(map(sorted, groups.tolist()))
    claimed = partition_cost(problem.hop, problem.exchange, groups).pipeline
    assert slowest_hops(problem.hop, pipelines) == pytest.approx(claimed, rel=1e-12)


def test_asymmetric_links_charge_the_busier_direction() -> None:
    """Devices send in 2, 6 and 6 s and receive in 10, 2 and 2 s."""
    exchange = np.array([[0.0, 1.0, 1.0], [5.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    for matrix in (exchange, exchange.T.copy()):
        assert partition_cost(np.zeros((3, 3)), matrix, np.array([[0, 1, 2]])).data_parallel == 10.0


def test_the_matrices_are_the_formulas_arithmetic() -> None:
    """10 and 30 ms, 1 and 2 Gbit/s, 0.25 GB = 2 Gbit: 2.01 and 1.03 s, mean 1.52; a half twice: 2.02."""
    links = link_units([[0, 10], [30, 0]], [[1, 1], [2, 1]])
    times = MessageTimes.of(*links, 0.25e9, 0.25e9, replicas=2)
    assert times.hop == pytest.approx(np.array([[0, 1.52], [1.52, 0]]))
    assert times.exchange == pytest.approx(np.array([[0, 2.02], [1.06, 0]]))


@given(square(5))
@settings(deadline=None)
def test_the_matching_is_a_bottleneck_matching(weights: np.ndarray) -> None:
    size = len(weights)
    bottleneck, column_of = bottleneck_matching(weights)
    assert sorted(column_of) == list(range(size))
    assert max(weights[range(size), column_of]) == bottleneck
    assert bottleneck == min(max(weights[range(size), list(p)]) for p in permutations(range(size)))


@given(square(6))
@settings(deadline=None)
def test_the_path_is_a_shortest_path(weights: np.ndarray) -> None:
    weights = weights + weights.T
    size = len(weights)
    shortest = min(path_length(weights, np.array(p)) for p in permutations(range(size)))
    known = path_length(weights, improved_path(weights))
    assert known >= shortest - 1e-9
    for order in (shortest_path(weights, np.inf), held_karp(weights, known * (1 + 1e-12))):
        assert sorted(order) == list(range(size))
        assert path_length(weights, order) == pytest.approx(shortest, rel=1e-12)


def clustered(size: int, seed: int) -> np.ndarray:
    """Weights as between groups of a few sites: nearly equal inside a site, far more between two."""
    draw = np.random.default_rng(seed)
    site = draw.integers(0, 4, size)
    far = draw.random((4, 4)) * 100
    weights = 1 + draw.random((size, size)) * 1e-3 + (far + far.T)[site][:, site] * (site[:, None] != site)
    return weights + weights.T


@pytest.mark.parametrize("seed", range(30))
def test_the_spanning_bound_is_below_a_shortest_path_and_often_meets_it(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for weights in (clustered(11, seed), draw.random((11, 11)), 10.0 ** draw.integers(-9, 9, (11, 11))):
        weights = weights + weights.T
        shortest = path_length(weights, held_karp(weights, np.inf))
        for enough in (shortest, 2 * shortest, 100 * shortest):
            assert spanning_bound(weights, enough) <= shortest * (1 + 1e-12)
        assert path_length(weights, shortest_path(weights, np.inf)) == pytest.approx(shortest, rel=1e-12)
    even = np.ones((11, 11))
    assert spanning_bound(even, 10.0) == pytest.approx(10, rel=1e-12)


@pytest.mark.parametrize("size", [10, 12])
def test_dropping_hopeless_beginnings_leaves_the_path_exact(size: int) -> None:
    generator = np.random.default_rng(size)
    for _ in range(10):
        weights = generator.random((size, size))
        weights += weights.T
        exact = path_length(weights, held_karp(weights, np.inf))
        assert path_length(weights, shortest_path(weights, np.inf)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("size", [2, 5, 11, 18])
def test_no_path_is_returned_where_all_are_longer_than_the_limit(size: int) -> None:
    generator = np.random.default_rng(size)
    weights = generator.random((size, size))
    weights += weights.T
    length = path_length(weights, shortest_path(weights, np.inf))
    assert shortest_path(weights, length * (1 - 1e-9)).size == 0
    assert path_length(weights, shortest_path(weights, length * (1 + 1e-9))) == pytest.approx(length, rel=1e-12)


def test_many_stages_get_a_path_that_neither_reversal_nor_move_would_shorten_much() -> None:
    """40 groups on a line in random order: the only good path is the line, 39 long."""
    places = np.random.default_rng(0).permutation(40).astype(float)
    order = shortest_path(np.abs(places[:, None] - places[None, :]), np.inf)
    assert sorted(order) == list(range(40))
    assert np.all(np.abs(np.diff(places[order])) == 1)


@pytest.mark.parametrize(("stages", "replicas"), [(1, 1), (1, 4), (4, 1), (2, 1), (1, 2), (20, 1)])
def test_degenerate_sizes_cost_what_is_left_of_the_formula(stages: int, replicas: int) -> None:
    """All links 1 s: R - 1 transfers in a group and S - 1 hops."""
    ones = 1.0 - np.eye(stages * replicas)
    groups = np.arange(stages * replicas).reshape(stages, replicas)
    cost = partition_cost(ones, ones, groups)
    assert (cost.data_parallel, cost.pipeline) == (replicas - 1, stages - 1)
    assert read_pipelines(ones, groups).shape == (replicas, stages)


@pytest.mark.parametrize(
    ("hop", "exchange", "groups", "words"),
    [
        (np.zeros((2, 2)), np.zeros((3, 3)), [[0], [1]], "exchange: found shape"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), np.zeros((2, 2)), [[0], [1]], "hop: found an asymmetric"),
        (np.zeros((2, 2)), np.full((2, 2), np.nan), [[0], [1]], "exchange: found a time"),
        (np.full((2, 2), -1.0), np.zeros((2, 2)), [[0], [1]], "hop: found a time"),
        (np.zeros((2, 2)), np.zeros((2, 2)), [[0], [0]], "groups: expected"),
        (np.zeros((2, 2)), np.zeros((2, 2)), [0, 1], "groups: expected"),
    ],
)
def test_wrong_input_is_named(hop: np.ndarray, exchange: np.ndarray, groups: list, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        partition_cost(hop, exchange, np.array(groups))
