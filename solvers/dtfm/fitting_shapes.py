"""Which grids DT-FM's scheduler is worth running on: those that some partition of the GPUs fits."""

from dataclasses import replace

from instances.instance import Instance
from instances.plan import Gpu, Plan
from instances.referee.violations import slot_bytes, violations
from instances.tables import Tables
from solvers.placements.uniform import Shape, uniform_plans


def fillable_shapes(instance: Instance, tables: Tables, used: int) -> list[Shape]:
    """The shapes of exactly `used` GPUs, those listed first, that some partition of these GPUs fits."""
    sizes: dict[tuple[int, int], list[int]] = {}
    for plan in uniform_plans(instance, tables, used):
        if not violations(instance, _roomiest(instance, plan)):
            sizes.setdefault((plan.replicas, plan.stages), []).append(plan.micro_batch)
    return [Shape(*grid, tuple(fitting)) for grid, fitting in sizes.items()]


def _roomiest(instance: Instance, plan: Plan) -> Plan:
    """The plan with its GPUs moved: those with most memory to the stage that needs most, and so on.

    If that does not fit, no other placement of the same GPUs does: their draw at each site is the same too.
    """
    gpus = sorted((gpu for row in plan.pipelines for gpu in row), key=lambda gpu: -instance.groups[gpu.group].memory)
    needs = slot_bytes(instance, plan)
    columns: dict[int, list[Gpu]] = {}
    for rank, stage in enumerate(sorted(range(plan.stages), key=lambda stage: -needs[stage])):
        columns[stage] = gpus[rank * plan.replicas : (rank + 1) * plan.replicas]
    return replace(plan, pipelines=tuple(zip(*(columns[stage] for stage in range(plan.stages)), strict=True)))
