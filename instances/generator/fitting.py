"""Whether a model fits a pool at all, and whether one GPU could do without the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from instances.instance import Group, Model, Site, Training
from instances.workload import Workload


def fits_somewhere(
    model: Model, training: Training, groups: Sequence[Group], sites: Mapping[str, Site] | None = None
) -> bool:
    """Whether some plan fits. Exact without power caps; with them, True is proof and False is not.

    Of R * S GPUs the largest are the best, and the best way to share them out gives each stage R neighbours
    in the order of memory: the i-th largest stage can never hold more than GPU number i * R does.
    """
    memories = sorted(_powered(groups, sites or {}), reverse=True)
    for stages in range(1, min(model.layers, len(memories)) + 1):
        for replicas in range(1, len(memories) // stages + 1):
            size = _smallest_micro_batch(training, replicas)
            if size is not None:
                limits = [memories[(stage + 1) * replicas - 1] for stage in range(stages)]
                if _fits_stages(model, training, limits, replicas, size):
                    return True
    return False


def fits_in_listed_order(
    model: Model, training: Training, groups: Sequence[Group], sites: Mapping[str, Site] | None = None
) -> bool:
    """Whether the uniform baseline has a plan: equal layers, the first GPUs of the list, stage by stage.

    Earlier stages hold the remainder; some number of GPUs at the end of the list may be left out.
    """
    listed = [group for group in groups for _ in range(group.count)]
    listed = listed[: _powered_prefix(listed, sites or {})]
    work = Workload.of(model, training)
    for stages in range(1, min(model.layers, len(listed)) + 1):
        each, more = divmod(model.layers, stages)
        split = [each + (stage < more) for stage in range(stages)]
        for replicas in range(1, len(listed) // stages + 1):
            size = _smallest_micro_batch(training, replicas)
            if size is None:
                continue
            needs = [
                _slot_bytes(work, training, layers, stage == 0, stage == stages - 1, replicas, size)
                for stage, layers in enumerate(split)
            ]
            if all(needs[slot // replicas] <= listed[slot].memory for slot in range(stages * replicas)):
                return True
    return False


def fits_one_gpu(model: Model, training: Training, memory: float) -> bool:
    """Whether a single GPU with `memory` bytes can hold a whole plan."""
    size = _smallest_micro_batch(training, replicas=1)
    return size is not None and _fits_stages(model, training, [memory], 1, size)


def _smallest_micro_batch(training: Training, replicas: int) -> int | None:
    """The usable micro-batch that needs the least memory."""
    usable = (size for size in training.micro_batches if training.global_batch % (replicas * size) == 0)
    return min(usable, default=None)


def _fits_stages(model: Model, training: Training, limits: Sequence[float], replicas: int, micro_batch: int) -> bool:
    """Whether stages with these bytes to spend, in any order, hold all layers and at least one each."""
    work = Workload.of(model, training)

    def most_layers(limit: float, first: bool, last: bool) -> int:
        def need(layers: int) -> float:
            return _slot_bytes(work, training, layers, first, last, replicas, micro_batch)

        layers = min(model.layers, max(0, int((limit - need(0)) / (need(1) - need(0)))))
        # The division may round up past a full stage.
        return layers if layers and need(layers) <= limit else layers - 1

    if len(limits) == 1:
        return most_layers(limits[0], first=True, last=True) >= model.layers
    middle = [most_layers(limit, first=False, last=False) for limit in limits]
    as_first = [most_layers(limit, first=True, last=False) for limit in limits]
    as_last = [most_layers(limit, first=False, last=True) for limit in limits]
    total, scarce = sum(middle), sorted(range(len(limits)), key=middle.__getitem__)[:3]
    for i in range(len(limits)):
        for j in range(len(limits)):
            if i == j or min(as_first[i], as_last[j]) < 1:
                continue
            smallest = min((middle[stage] for stage in scarce if stage not in (i, j)), default=1)
            if smallest >= 1 and total - middle[i] - middle[j] + as_first[i] + as_last[j] >= model.layers:
                return True
    return False


def _slot_bytes(
    work: Workload, training: Training, layers: int, first: bool, last: bool, replicas: int, micro_batch: int
) -> float:
    return work.stage_bytes(
        layers,
        first,
        last,
        in_flight=training.global_batch // replicas,
        micro_batch=micro_batch,
        state_bytes=training.state_bytes_per_parameter,
    )


def _powered_prefix(listed: Sequence[Group], sites: Mapping[str, Site]) -> int:
    """How many GPUs from the start of the list may be on at once."""
    left = {region: site.power_cap for region, site in sites.items()}
    for position, group in enumerate(listed):
        power = left.get(group.region)
        if power is not None:
            if power < group.power_active:
                return position
            left[group.region] = power - group.power_active
    return len(listed)


def _powered(groups: Sequence[Group], sites: Mapping[str, Site]) -> list[float]:
    """Memory of each GPU that may be on at once: at a capped site the largest first, while power lasts."""
    left = {region: site.power_cap for region, site in sites.items()}
    memories: list[float] = []
    for group in sorted(groups, key=lambda group: -group.memory):
        power, count = left.get(group.region), group.count
        if power is not None:
            count = min(count, int(power / group.power_active))
            left[group.region] = power - count * group.power_active
        memories += [group.memory] * count
    return memories
