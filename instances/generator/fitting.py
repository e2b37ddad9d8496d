"""Whether a model fits a pool at all, and whether one GPU could do without the others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations

from instances.instance import Group, Model, Site, Training
from instances.workload import Workload

Sites = Mapping[str, Site] | None


def fits_somewhere(model: Model, training: Training, groups: Sequence[Group], sites: Sites = None) -> bool:
    """Whether some plan fits. Exact without power caps; with them, True is proof and False is not.

    Of R * S GPUs the largest are the best, and the best way to share them out gives each stage R neighbours
    in the order of memory: the i-th largest stage can never hold more than GPU number i * R does.
    """
    largest_first = sorted(_listed(groups), key=lambda gpu: -gpu.memory)
    memories = [gpu.memory for gpu, powered in _powered(largest_first, sites) if powered]
    return any(
        _fits_stages(model, training, memories[replicas - 1 : stages * replicas : replicas], replicas, size)
        for stages, replicas, size in _grids(model, training, len(memories))
    )


def fits_in_listed_order(model: Model, training: Training, groups: Sequence[Group], sites: Sites = None) -> bool:
    """Whether the uniform baseline has a plan: equal layers, the first GPUs of the list, stage by stage.

    Earlier stages hold the remainder; some number of GPUs at the end of the list may be left out.
    """
    powers = [powered for _, powered in _powered(_listed(groups), sites)]
    listed = _listed(groups)[: [*powers, False].index(False)]
    work = Workload.of(model, training)
    for stages, replicas, size in _grids(model, training, len(listed)):
        each, more = divmod(model.layers, stages)
        needs = [
            work.stage_bytes(each + (stage < more), stage == 0, stage == stages - 1, replicas, size)
            for stage in range(stages)
        ]
        if all(needs[slot // replicas] <= listed[slot].memory for slot in range(stages * replicas)):
            return True
    return False


def fits_one_gpu(model: Model, training: Training, memory: float) -> bool:
    """Whether a single GPU with `memory` bytes can hold a whole plan."""
    return any(_fits_stages(model, training, [memory], 1, size) for _, _, size in _grids(model, training, 1))


def _grids(model: Model, training: Training, gpus: int) -> Iterator[tuple[int, int, int]]:
    """Stages, replicas and the micro-batch that needs the least memory, for all grids of up to `gpus` GPUs."""
    for stages in range(1, min(model.layers, gpus) + 1):
        for replicas in range(1, gpus // stages + 1):
            usable = (size for size in training.micro_batches if training.global_batch % (replicas * size) == 0)
            if (size := min(usable, default=0)) > 0:
                yield stages, replicas, size


def _fits_stages(model: Model, training: Training, limits: Sequence[float], replicas: int, micro_batch: int) -> bool:
    """Whether stages with these bytes to spend, in any order, hold all layers and at least one each."""
    work = Workload.of(model, training)

    def most_layers(first: bool, last: bool) -> list[int]:
        counts = range(1, model.layers + 1)
        needs = [work.stage_bytes(count, first, last, replicas, micro_batch) for count in counts]
        return [bisect_right(needs, limit) for limit in limits]

    if len(limits) == 1:
        return most_layers(first=True, last=True)[0] >= model.layers
    middle, as_first, as_last = most_layers(False, False), most_layers(True, False), most_layers(False, True)
    total, scarce = sum(middle), sorted(range(len(limits)), key=middle.__getitem__)[:3]
    return any(
        min(as_first[i], as_last[j], *(middle[stage] for stage in scarce if stage not in (i, j))) >= 1
        and total - middle[i] - middle[j] + as_first[i] + as_last[j] >= model.layers
        for i, j in permutations(range(len(limits)), 2)
    )


def _listed(groups: Sequence[Group]) -> list[Group]:
    """The group of each GPU."""
    return [group for group in groups for _ in range(group.count)]


def _powered(gpus: Iterable[Group], sites: Sites) -> Iterator[tuple[Group, bool]]:
    """Each GPU, and whether it may be on together with those before it that are."""
    left = {region: site.power_cap for region, site in (sites or {}).items() if site.power_cap is not None}
    for gpu in gpus:
        powered = gpu.power_active <= left.get(gpu.region, gpu.power_active)
        if powered and gpu.region in left:
            left[gpu.region] -= gpu.power_active
        yield gpu, powered
