"""Random plans of a given instance, and instances on which every plan fits."""

from __future__ import annotations

from itertools import pairwise

from instances.instance import Instance
from instances.plan import Plan
from instances.seeds import stream
from instances.tables import Tables
from tests.random_instances import random_instance


def with_ample_memory(instance: Instance) -> Instance:
    """The same instance with ample memory and without power caps: every legal grid and split is feasible."""
    groups = [group.model_copy(update={"memory": 1e15}) for group in instance.groups]
    sites = {name: site.model_copy(update={"power_cap": None}) for name, site in (instance.sites or {}).items()}
    fresh = instance.model_copy(update={"groups": tuple(groups), "sites": sites or None})
    return Instance.model_validate(fresh.model_dump(by_alias=True))


def random_plan(instance: Instance, seed: int) -> Plan:
    """A legal grid, layer split and choice of GPUs, drawn evenly; whether it fits the memory is left open."""
    draw = stream("random plan", instance.name, seed)
    grids = Tables.of(instance).grids()
    grid = grids[int(draw.random() * len(grids))]
    gpus = [k for k, group in enumerate(instance.groups) for _ in range(group.count)]
    gpus.sort(key=lambda _: draw.random())
    cuts = sorted(range(1, instance.model.layers), key=lambda _: draw.random())[: grid.stages - 1]
    ends = [0, *sorted(cuts), instance.model.layers]
    layers = [end - start for start, end in pairwise(ends)]
    rows = [gpus[r * grid.stages : (r + 1) * grid.stages] for r in range(grid.replicas)]
    return Plan.from_groups(grid.micro_batch, layers, rows)


def drawn(seed: int) -> tuple[Instance, Plan]:
    """A random instance with room for everything, and a plan for it."""
    instance = with_ample_memory(random_instance(seed))
    return instance, random_plan(instance, seed)
