"""Choose the batch for a model and a pool, so that some plan fits but no single GPU can hold one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from instances.catalogue.gpus import gpu_type
from instances.catalogue.models import model, model_names, published_parameters
from instances.errors import InputError, shortened
from instances.generator.family import AUTO, Option, Options
from instances.generator.fitting import Sites, fits_in_listed_order, fits_one_gpu, fits_somewhere
from instances.instance import Group, Model, Training
from instances.workload import Workload

STATE_BYTES = 16.0  # mixed-precision Adam: 2 weights + 2 gradients + 12 optimiser (ZeRO, arXiv 1910.02054)
GRADIENT_BYTES = 2.0
GIB = 2**30
LARGEST_BATCH = 2**22
SMALLEST_POOL_RATIO, POOL_RATIO_PER_GPU = 1.3, 0.6
LADDER = ("gpt2-medium", "gpt2-large", "gpt3-1.3b", "gpt3-2.7b", "gpt3-6.7b", "gpt3-13b")
"""Models that `auto` chooses from, by rising size."""
RECOMPUTE = ("none", "selective", "full")


@dataclass(frozen=True)
class Size:
    """How large a model and a batch a family gives its pools, where the options leave them open.

    Attributes
    ----------
    state_share
        Of the pool's memory: what the state of a model that `auto` chooses may take.
    stash_share
        Of the pool's memory: what the stash of the batch takes. All of it is held at once, whatever the plan.
    batch_per_gpu
        Sequences for each GPU, in place of `stash_share`.
    largest_model
        Of those that `auto` chooses from.
    single_gpu_allowed
        Whether a plan may fit a single GPU.
    """

    state_share: float = 0.0
    stash_share: float = 0.0
    batch_per_gpu: int | None = None
    largest_model: str = LADDER[-1]
    single_gpu_allowed: bool = False


def training_options(model: str, recompute: str = "full") -> dict[str, Option]:
    """The options that every family has, with a family's own defaults; the model may be `auto`."""
    choices = (AUTO, *model_names()) if model == AUTO else model_names()
    return {
        "model": Option(model, "model of the catalogue", choices=choices, named=True),
        "batch": Option(AUTO, "global batch in sequences; auto: chosen with the size", kind="integer"),
        "recompute": Option(recompute, "activations recomputed backward", choices=RECOMPUTE),
        "micro-batches": Option("1,2,4,8", "choices of the micro-batch size, comma separated"),
    }


def chosen_model(options: Options, size: Size, pool_bytes: float) -> Model:
    """The model that was asked for, or else the largest of `LADDER` whose state is small enough for the pool."""
    if options["model"] is not None:
        return model(options["model"])
    steps = LADDER[: LADDER.index(size.largest_model) + 1]
    small = [step for step in steps if published_parameters(step)[0] * STATE_BYTES <= size.state_share * pool_bytes]
    return model(small[-1] if small else LADDER[0])


def comparable(types: Sequence[str], gpus: int) -> list[str]:
    """The GPU types of which `gpus` can share a model that none of them can hold alone.

    In a small pool a GPU with many times the memory of another would be the plan, or the other of no use.
    """
    smallest = min(gpu_type(name).memory for name in types)
    limit = max(SMALLEST_POOL_RATIO, POOL_RATIO_PER_GPU * gpus) * smallest
    return [name for name in types if gpu_type(name).memory <= limit]


def training_for(options: Options, size: Size, model: Model, groups: Sequence[Group], sites: Sites = None) -> Training:
    """How to train `model` on `groups`: the batch that was asked for, or the usable one nearest to what `size` wants.

    Usable: some plan fits, and none on a single GPU (unless that is allowed). Batches at which the uniform
    baseline fits too come first. InputError says what is wrong with the batch that was asked for, or with all.
    """
    batch = options["batch"]
    reasons: dict[str, None] = {}
    usable: list[Training] = []
    for candidate in [batch] if batch is not None else _round_batches(_wanted_batch(options, size, model, groups)):
        training = training_with(options, candidate)
        reason = None if size.single_gpu_allowed else _too_easy(model, training, groups)
        # The quicker question first; it is also what makes one usable batch better than another.
        if reason is None and fits_in_listed_order(model, training, groups, sites):
            return training
        reason = reason or _too_large(model, training, groups, sites)
        if reason is None:
            usable.append(training)
        else:
            reasons[reason] = None
    if usable:
        return usable[0]
    what = f"batch {batch}" if batch is not None else "no batch will do"
    raise InputError(
        f"model {model.name}, recompute {options['recompute']}: {what}: {'; or else '.join(reasons)}; "
        "another size, model, batch or recompute mode may do"
    )


def training_with(options: Options, batch: int) -> Training:
    """How to train with this batch, whether or not it fits; InputError if an option makes no sense."""
    if batch > LARGEST_BATCH:
        raise InputError(f"batch: {batch} is above {LARGEST_BATCH}")
    return Training(
        global_batch=batch,
        micro_batches=_sizes(options["micro-batches"]),
        schedule="gpipe",
        recompute=options["recompute"],
        state_bytes_per_parameter=STATE_BYTES,
        gradient_bytes=GRADIENT_BYTES,
    )


def _wanted_batch(options: Options, size: Size, model: Model, groups: Sequence[Group]) -> float:
    if size.batch_per_gpu is not None:
        return size.batch_per_gpu * sum(group.count for group in groups)
    work = Workload.of(model, training_with(options, 1))
    pool_bytes = sum(group.count * group.memory for group in groups)
    return size.stash_share * pool_bytes / (model.layers * work.stash_bytes + work.head_input_bytes)


def _too_easy(model: Model, training: Training, groups: Sequence[Group]) -> str | None:
    """Why there is nothing to plan, or None."""
    largest = max(groups, key=lambda group: group.memory)
    easy = fits_one_gpu(model, training, largest.memory)
    return f"a single {largest.gpu} holds a plan, so there is nothing to plan" if easy else None


def _too_large(model: Model, training: Training, groups: Sequence[Group], sites: Sites) -> str | None:
    """Why there is no plan, or None."""
    if all(training.global_batch % size for size in training.micro_batches):
        return "no choice of micro-batches divides it"
    gpus, gib = sum(group.count for group in groups), sum(group.count * group.memory for group in groups) / GIB
    fits = fits_somewhere(model, training, groups, sites)
    return None if fits else f"no plan fits {gpus} GPUs of {gib:.0f} GiB together"


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    whole = all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts)
    if not whole or not all(0 < int(part) <= LARGEST_BATCH for part in parts):
        raise InputError(f"micro-batches: found {shortened(text)}, expected whole numbers such as 1,2,4")
    sizes = tuple(map(int, parts))
    if len(set(sizes)) != len(sizes):
        raise InputError(f"micro-batches: {shortened(text)} repeats a size")
    return sizes


def _round_batches(aim: float) -> list[int]:
    """Powers of two and three times them, nearest to `aim` first: many numbers of pipelines divide them."""
    rounds = [size for power in range(22) for size in (2**power, 3 * 2**power) if size <= LARGEST_BATCH]
    return sorted(rounds, key=lambda size: (max(size / aim, aim / size), size))
