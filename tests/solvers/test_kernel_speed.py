"""How fast the kernel is at a grid of 8 x 8 on one core: `pytest --benchmark-only tests/solvers/test_kernel_speed.py`.

Wanted: 1,000,000 full evaluations and 3,000,000 incremental ones a second; `extra_info` has the figures.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from instances.generator.family import generate
from instances.objective import Goal
from instances.tables import Tables
from solvers.kernel.packed import Packed, pack

pytestmark = pytest.mark.wide  # its loops take long to compile
REPLICAS, STAGES = 8, 8


@pytest.fixture(scope="module", params=["homogeneous", "mixed"])
def packed(request: pytest.FixtureRequest) -> tuple[Packed, int]:
    """64 GPUs in eight regions, a random placement in work, and the position of R."""
    from tests.solvers.kernel_calls import load

    instance = generate("dtfm", 64, 1, {"scenario": "worldwide", "gpu-mix": request.param})
    tables = Tables.of(instance)
    problem = pack(tables, Goal(time_weight=1.0))
    problem.group[:] = np.random.default_rng(0).permutation(problem.group)
    problem.layers[:STAGES] = tables.layers // STAGES
    position = tables.replicas.index(REPLICAS)
    load(*problem[:3], position, 0, STAGES)
    return problem, position


def report(benchmark: Any, count: int) -> None:
    if benchmark.enabled:
        benchmark.extra_info["millions_per_s"] = count / benchmark.stats.stats.min / 1e6


def test_full_evaluations(benchmark: Any, packed: tuple[Packed, int]) -> None:
    from tests.solvers.kernel_calls import measure_many

    problem, position = packed
    rng = np.random.default_rng(1)
    placements = np.array([rng.permutation(problem.group) for _ in range(64)])
    layers = problem.layers[:STAGES].copy()
    count = 100_000
    arguments = (*problem[:3], position, 0, STAGES, layers, placements)
    measure_many(*arguments, 1)
    benchmark.pedantic(measure_many, args=(*arguments, count), rounds=10)
    report(benchmark, count)


@pytest.mark.parametrize(("name", "every"), [("exchanges", 1 << 40), ("one shift in ten", 10), ("shifts", 1)])
def test_incremental_evaluations(benchmark: Any, packed: tuple[Packed, int], name: str, every: int) -> None:
    from tests.solvers.kernel_calls import try_many

    problem, _ = packed
    rng = np.random.default_rng(2)
    slots = REPLICAS * STAGES
    pairs = np.array([rng.choice(slots, 2, replace=False) for _ in range(4096)])
    shifts = np.array([rng.choice(STAGES, 2, replace=False) for _ in range(64)])
    count = 300_000
    arguments = (*problem[:3], pairs, shifts, every)
    try_many(*arguments, 1, np.zeros(5))
    benchmark.pedantic(try_many, args=(*arguments, count, np.zeros(5)), rounds=10)
    report(benchmark, count)
