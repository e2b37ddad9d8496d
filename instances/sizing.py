"""Choose the batch for a model and a pool, so that some plan fits but no single GPU can hold one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from instances.catalogue import model_names
from instances.errors import InputError
from instances.family import AUTO, Option, Options
from instances.instance import Group, Model, Site, Training
from instances.workload import Workload

STATE_BYTES = 16  # mixed-precision Adam: ZeRO (arXiv 1910.02054), 2 weights + 2 gradients + 12 optimiser
GRADIENT_BYTES = 2
GIB = 2**30
WIDEST_SEARCH = 4096
"""How far, as a factor, a batch may lie from the one that was aimed at."""


def training_options(
    model: str, recompute: str = "full", micro_batches: str = "1,2,4,8"
) -> dict[str, Option]:
    """The options that every family has, with a family's own defaults."""
    return {
        "model": Option(model, "model of the catalogue", choices=model_names()),
        "batch": Option(AUTO, "global batch in sequences; auto: chosen with the size", kind="integer"),
        "recompute": Option(
            recompute, "activations recomputed in the backward pass", choices=("none", "selective", "full")
        ),
        "micro-batches": Option(micro_batches, "choices of the micro-batch size, comma separated"),
    }


def training_for(
    options: Options,
    model: Model,
    groups: Sequence[Group],
    aim: float,
    sites: Mapping[str, Site] | None = None,
    single_gpu_allowed: bool = False,
) -> Training:
    """How to train `model` on `groups`: the batch that was asked for, or the usable one nearest to `aim`.

    Usable: some plan fits, and none on a single GPU (unless that is allowed). InputError says what is wrong
    with the batch that was asked for, or why there is none.
    """
    batch = options.integer("batch")
    reasons: list[str] = []
    for candidate in [batch] if batch is not None else _round_batches(aim):
        training = _training(options, candidate)
        reason = _obstacle(model, training, groups, sites or {}, single_gpu_allowed)
        if reason is None:
            return training
        reasons.append(reason)
    # The nearest batch says most about what is wrong.
    raise InputError(f"model {model.name}, recompute {options.text('recompute')}: {reasons[0]}")


def fits_somewhere(
    model: Model, training: Training, groups: Sequence[Group], sites: Mapping[str, Site] | None = None
) -> bool:
    """Whether a plan with layers as equal as possible fits. True is proof; other splits are not looked at."""
    memories = sorted(_powered(groups, sites or {}), reverse=True)
    work = Workload.of(model, training)
    size = min(training.micro_batches)
    for stages in range(1, min(model.layers, len(memories)) + 1):
        for replicas in range(1, len(memories) // stages + 1):
            if training.global_batch % (replicas * size):
                continue
            needs = sorted(_stage_needs(model, training, work, stages, replicas, size), reverse=True)
            # Stage by stage, neediest first, the largest memories: if this fails, any assignment does.
            if all(need <= memories[(rank + 1) * replicas - 1] for rank, need in enumerate(needs)):
                return True
    return False


def fits_one_gpu(model: Model, training: Training, memory: float) -> bool:
    """Whether a single GPU with `memory` bytes can hold a whole plan."""
    work = Workload.of(model, training)
    usable = [size for size in training.micro_batches if training.global_batch % size == 0]
    return any(next(_stage_needs(model, training, work, 1, 1, size)) <= memory for size in usable)


def _stage_needs(
    model: Model, training: Training, work: Workload, stages: int, replicas: int, micro_batch: int
) -> Iterator[float]:
    """Bytes by stage with layers as equal as possible, the remainder in the middle, away from the embeddings."""
    each, more = divmod(model.layers, stages)
    start = (stages - more) // 2
    for stage in range(stages):
        yield work.stage_bytes(
            each + (start <= stage < start + more),
            first=stage == 0,
            last=stage == stages - 1,
            in_flight=training.global_batch // replicas,
            micro_batch=micro_batch,
            state_bytes=training.state_bytes_per_parameter,
        )


def _powered(groups: Sequence[Group], sites: Mapping[str, Site]) -> list[float]:
    """Memory of each GPU that can be on at the same time: at a capped site the largest first, while power lasts."""
    left = {region: site.power_cap for region, site in sites.items()}
    memories = []
    for group in sorted(groups, key=lambda group: -group.memory):
        power = left.get(group.region)
        count = group.count
        if power is not None:
            count = min(count, int(power / group.power_active))
            left[group.region] = power - count * group.power_active
        memories += [group.memory] * count
    return memories


def _obstacle(
    model: Model,
    training: Training,
    groups: Sequence[Group],
    sites: Mapping[str, Site],
    single_gpu_allowed: bool,
) -> str | None:
    if all(training.global_batch % size for size in training.micro_batches):
        return f"no choice of micro-batches divides the batch of {training.global_batch}"
    largest = max(groups, key=lambda group: group.memory)
    if not single_gpu_allowed and fits_one_gpu(model, training, largest.memory):
        return (
            f"a single {largest.gpu} holds a plan for a batch of {training.global_batch}, so there is nothing to "
            "plan; ask for a larger model or batch, or for less recomputation"
        )
    if not fits_somewhere(model, training, groups, sites):
        total = sum(group.count * group.memory for group in groups)
        return (
            f"no equal split fits {sum(group.count for group in groups)} GPUs with {total / GIB:.0f} GiB "
            f"together at a batch of {training.global_batch}; ask for a smaller model or batch, more "
            "recomputation or more GPUs"
        )
    return None


def _training(options: Options, batch: int) -> Training:
    texts = options.text("micro-batches").split(",")
    if not all(text.isascii() and text.isdecimal() and 0 < int(text) <= 1_000_000 for text in texts):
        raise InputError(
            f"micro-batches: {options.text('micro-batches')!r} is no list of whole numbers such as 1,2,4"
        )
    sizes = tuple(int(text) for text in texts)
    if len(set(sizes)) != len(sizes):
        raise InputError(f"micro-batches: {options.text('micro-batches')!r} repeats a size")
    if batch > 1_000_000_000:
        raise InputError(f"batch: {batch} is above 1000000000")
    return Training(
        global_batch=batch,
        micro_batches=sizes,
        schedule="gpipe",
        recompute=_RECOMPUTE[options.text("recompute")],
        state_bytes_per_parameter=STATE_BYTES,
        gradient_bytes=GRADIENT_BYTES,
    )


def _round_batches(aim: float) -> list[int]:
    """Powers of two and three times them, nearest to `aim` first: batches that many numbers of pipelines divide."""
    powers = [2**exponent for exponent in range(22)]
    rounds = [
        size
        for power in powers
        for size in (power, 3 * power)
        if 1 / WIDEST_SEARCH <= size / aim <= WIDEST_SEARCH
    ]
    # Nearest by ratio; the smaller one on ties.
    return sorted(rounds, key=lambda size: (max(size / aim, aim / size), size))
