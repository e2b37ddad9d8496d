"""An instance with some GPUs taken away, and the way back: "what if these were gone?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from instances.errors import InputError
from instances.instance import Instance, Matrix
from instances.plan import Gpu, Plan, gpu_called


@dataclass(frozen=True)
class Reduced:
    """The smaller instance, and for each of its groups the original GPUs that are left."""

    instance: Instance
    left: tuple[tuple[Gpu, ...], ...]

    def restore(self, plan: Plan) -> Plan:
        """A plan for the smaller instance in the names of the original one."""
        rows = tuple(tuple(self.left[gpu.group][gpu.number] for gpu in row) for row in plan.pipelines)
        return Plan(plan.micro_batch, plan.layers, rows)


def without(instance: Instance, names: Sequence[str]) -> Reduced:
    """Take away whole groups (`GROUP`) or single GPUs (`GROUP/i`). InputError names what does not exist."""
    gone: set[Gpu] = set()
    for name in names:
        gone |= _named(instance, name)
    left = [
        tuple(Gpu(k, i) for i in range(group.count) if Gpu(k, i) not in gone) for k, group in enumerate(instance.groups)
    ]
    kept = [k for k, gpus in enumerate(left) if gpus]
    if not kept:
        raise InputError(f"{instance.name}: no GPU is left without {', '.join(names)}")
    groups = tuple(instance.groups[k].model_copy(update={"count": len(left[k])}) for k in kept)
    network = instance.network.model_copy(
        update={
            field: _submatrix(matrix, kept)
            for field in ("latency", "bandwidth", "energy_per_byte")
            if (matrix := getattr(instance.network, field)) is not None
        }
    )
    regions = {group.region for group in groups}
    sites = {region: site for region, site in (instance.sites or {}).items() if region in regions} or None
    smaller = instance.model_copy(update={"groups": groups, "network": network, "sites": sites, "provenance": None})
    fresh = Instance.model_validate(smaller.model_dump(by_alias=True))
    return Reduced(fresh, tuple(left[k] for k in kept))


def _named(instance: Instance, name: str) -> set[Gpu]:
    try:
        if "/" in name:
            return {gpu_called(instance, name)}
        k = instance.group_index(name)
    except KeyError:
        group_name = name.partition("/")[0]
        raise InputError(f"{instance.name}: groups: there is no {group_name!r} to leave out") from None
    except ValueError as error:
        raise InputError(f"{instance.name}: groups: {error}") from None
    return {Gpu(k, i) for i in range(instance.groups[k].count)}


def _submatrix(matrix: Matrix, kept: Sequence[int]) -> Matrix:
    return tuple(tuple(matrix[k][j] for j in kept) for k in kept)
