"""Choose the batch for a model and a pool, so that some plan fits but no single GPU can hold one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from instances.catalogue import model_names
from instances.errors import InputError
from instances.family import AUTO, Option, Options
from instances.fitting import fits_one_gpu, fits_somewhere
from instances.instance import Group, Model, Site, Training

STATE_BYTES = 16.0  # mixed-precision Adam: 2 weights + 2 gradients + 12 optimiser (ZeRO, arXiv 1910.02054)
GRADIENT_BYTES = 2.0
GIB = 2**30
LARGEST_BATCH = 2**22
_RECOMPUTE: dict[str, Literal["none", "selective", "full"]] = {
    "none": "none",
    "selective": "selective",
    "full": "full",
}


def training_options(
    model: str, recompute: str = "full", micro_batches: str = "1,2,4,8", auto_model: bool = False
) -> dict[str, Option]:
    """The options that every family has, with a family's own defaults."""
    choices = (AUTO, *model_names()) if auto_model else model_names()
    return {
        "model": Option(model, "model of the catalogue", choices=choices, named=True),
        "batch": Option(AUTO, "global batch in sequences; auto: chosen with the size", kind="integer"),
        "recompute": Option(recompute, "activations recomputed backward", choices=tuple(_RECOMPUTE)),
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
    with the batch that was asked for, or with all of them.
    """
    batch = options.integer("batch")
    reasons: dict[str, None] = {}
    for candidate in [batch] if batch is not None else _round_batches(aim):
        training = training_with(options, candidate)
        reason = _obstacle(model, training, groups, sites or {}, single_gpu_allowed)
        if reason is None:
            return training
        reasons[reason] = None
    what = f"batch {batch}" if batch is not None else "no batch will do"
    raise InputError(
        f"model {model.name}, recompute {options.text('recompute')}: {what}: {'; or else '.join(reasons)}; "
        "another size, model, batch or recompute mode may do"
    )


def training_with(options: Options, batch: int) -> Training:
    """How to train with this batch, whether or not it fits; InputError if an option makes no sense."""
    if batch > LARGEST_BATCH:
        raise InputError(f"batch: {batch} is above {LARGEST_BATCH}")
    return Training(
        global_batch=batch,
        micro_batches=_sizes(options.text("micro-batches")),
        schedule="gpipe",
        recompute=_RECOMPUTE[options.text("recompute")],
        state_bytes_per_parameter=STATE_BYTES,
        gradient_bytes=GRADIENT_BYTES,
    )


def _obstacle(
    model: Model,
    training: Training,
    groups: Sequence[Group],
    sites: Mapping[str, Site],
    single_gpu_allowed: bool,
) -> str | None:
    """Why the batch is not usable, or None."""
    if all(training.global_batch % size for size in training.micro_batches):
        return "no choice of micro-batches divides it"
    largest = max(groups, key=lambda group: group.memory)
    if not single_gpu_allowed and fits_one_gpu(model, training, largest.memory):
        return f"a single {largest.gpu} holds a plan, so there is nothing to plan"
    if not fits_somewhere(model, training, groups, sites):
        gpus, gib = (
            sum(group.count for group in groups),
            sum(group.count * group.memory for group in groups) / GIB,
        )
        return f"no plan fits {gpus} GPUs of {gib:.0f} GiB together"
    return None


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() and 0 < int(part) <= LARGEST_BATCH for part in parts):
        raise InputError(f"micro-batches: {text!r} is no list of whole numbers such as 1,2,4")
    sizes = tuple(map(int, parts))
    if len(set(sizes)) != len(sizes):
        raise InputError(f"micro-batches: {text!r} repeats a size")
    return sizes


def _round_batches(aim: float) -> list[int]:
    """Powers of two and three times them, nearest to `aim` first: many numbers of pipelines divide them."""
    rounds = [size for power in range(22) for size in (2**power, 3 * 2**power) if size <= LARGEST_BATCH]
    return sorted(rounds, key=lambda size: (max(size / aim, aim / size), size))
