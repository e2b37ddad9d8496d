"""Uniform plans (docs/model.md, Baselines): equal layers, ranks in listed order; the reference for caps.

Source: the rank layout of Megatron-LM with tensor parallelism 1 (Narayanan et al. 2021): neighbouring
ranks hold the same stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from instances.instance import Instance
from instances.objective import Reference
from instances.plan import Gpu, Plan
from instances.referee.check import check
from instances.referee.evaluate import Evaluation, evaluate
from instances.tables import Tables


def equal_layers(layers: int, stages: int) -> tuple[int, ...]:
    """Layers as equal as possible; earlier stages get the remainder (30 on 4 are 8+8+7+7)."""
    share, remainder = divmod(layers, stages)
    return tuple(share + (stage < remainder) for stage in range(stages))


class Shape(NamedTuple):
    """A grid of R pipelines of S stages and the micro-batch sizes that it allows, smallest first."""

    replicas: int
    stages: int
    micro_batches: tuple[int, ...]


def full_shapes(tables: Tables, used: int) -> Iterator[Shape]:
    """All legal shapes with R*S = `used` exactly, few stages first."""
    for stages in range(1, min(used, tables.layers) + 1):
        replicas = used // stages
        sizes = tuple(size for size in tables.micro_batches if tables.batch % (replicas * size) == 0)
        if used % stages == 0 and sizes:
            yield Shape(replicas, stages, sizes)


def listed_gpus(instance: Instance) -> list[Gpu]:
    """Every GPU, in the order of the file: the ranks of the usual launch."""
    return [Gpu(k, index) for k, group in enumerate(instance.groups) for index in range(group.count)]


def uniform_plans(instance: Instance, tables: Tables, used: int) -> Iterator[Plan]:
    """All uniform plans on the first `used` GPUs, feasible or not; few stages first, then small micro-batches."""
    ranks = listed_gpus(instance)
    for replicas, stages, sizes in full_shapes(tables, used):
        rows = tuple(tuple(ranks[s * replicas + r] for s in range(stages)) for r in range(replicas))
        for size in sizes:
            yield Plan(size, equal_layers(tables.layers, stages), rows)


def best_uniform(instance: Instance, tables: Tables) -> tuple[Plan | None, int]:
    """The fastest feasible uniform plan and the number of plans tried.

    All GPUs are used if some grid of all of them is feasible; else the largest number that has a feasible
    grid, leaving out the GPUs listed last. Ties go to fewer stages, then to the smaller micro-batch.
    """
    tried = 0
    for used in range(tables.gpus, 0, -1):
        best: Plan | None = None
        best_time = 0.0
        for plan in uniform_plans(instance, tables, used):
            tried += 1
            checked = check(instance, plan)
            if isinstance(checked, Evaluation) and (best is None or checked.time_s < best_time):
                best, best_time = plan, checked.time_s
        if best is not None:
            return best, tried
    return None, tried


def reference_of(instance: Instance) -> Reference | None:
    """Time and energy of the best uniform plan; None if there is none."""
    plan, _ = best_uniform(instance, Tables.of(instance))
    if plan is None:
        return None
    evaluation = evaluate(instance, plan)
    return Reference(evaluation.time_s, evaluation.energy_j)
