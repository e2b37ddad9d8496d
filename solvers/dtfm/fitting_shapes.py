"""Which grids DT-FM's scheduler is worth running on: those that some partition of the GPUs fits."""

from collections.abc import Iterator
from math import fsum

from instances.instance import Instance
from instances.referee.violations import BYTE_SLACK, POWER_SLACK
from instances.tables import Tables
from instances.workload import Workload
from solvers.placements.uniform import Shape, equal_layers, full_shapes, listed_gpus


def fillable_shapes(instance: Instance, tables: Tables, used: int) -> list[Shape]:
    """The shapes of exactly `used` GPUs, those listed first, that some partition of these GPUs fits.

    Layers are equal and every GPU is used, so the draw at each site is known, and the stage that needs
    most may as well get the GPUs with most memory: if that does not fit, nothing does.
    """
    memory: list[float] = []
    draw: dict[str, list[float]] = {}
    for gpu in listed_gpus(instance)[:used]:
        group = instance.groups[gpu.group]
        memory.append(group.memory)
        draw.setdefault(group.region, []).append(group.power_active)
    for region, site in (instance.sites or {}).items():
        if site.power_cap and fsum(draw.get(region, ())) > site.power_cap * (1 + POWER_SLACK):
            return []
    memory.sort(reverse=True)
    return list(_fitting(instance, tables, used, memory))


def _fitting(instance: Instance, tables: Tables, used: int, memory: list[float]) -> Iterator[Shape]:
    training = instance.training
    work = Workload.of(instance.model, training)
    for replicas, stages, sizes in full_shapes(tables, used):
        fitting = []
        for size in sizes:
            needs = [
                work.stage_bytes(
                    count,
                    first=stage == 0,
                    last=stage == stages - 1,
                    in_flight=training.global_batch // replicas,
                    micro_batch=size,
                    state_bytes=training.state_bytes_per_parameter,
                )
                for stage, count in enumerate(equal_layers(tables.layers, stages))
            ]
            smallest = memory[replicas - 1 :: replicas]  # of each stage's GPUs
            if all(
                need <= there + BYTE_SLACK for need, there in zip(sorted(needs, reverse=True), smallest, strict=True)
            ):
                fitting.append(size)
        if fitting:
            yield Shape(replicas, stages, tuple(fitting))
