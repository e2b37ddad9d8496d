"""GPUs with measured block times instead of a speed, in regions over measured links.

Source of the times: the fp16 operator profile that ships with Sailor (Strati et al., SOSP 2025; MIT). It has
no head; the head's times are the block's times the ratio of their FLOPs (Sailor's fp32 profile of OPT-350M on
a V100 has a head of 2.6 blocks where FLOPs say 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from instances.catalogue import campaign, gpu_type, model
from instances.catalogue.layer_times import (
    BlockTime,
    block_time_sources,
    block_times,
    profiled_gpus,
    profiled_models,
)
from instances.catalogue.reading import significant
from instances.errors import InputError
from instances.generator.assembly import Placed, assemble, groups_of, network_of
from instances.generator.drawing import Uniform, pick_some, spread
from instances.generator.family import AUTO, Family, Option, Options
from instances.generator.regional import link_in, merged, notes_on, types_for
from instances.generator.sizing import block_flops, comparable, filling_batch, training_for, training_options
from instances.instance import Group, Instance, Profile, Training
from instances.seeds import stream
from instances.workload import Workload

NETWORKS = ("aws-64-streams", "aws-dtfm", "gcp-1-stream")
FEWEST_REGIONS, MOST_REGIONS, GPUS_PER_REGION = 2, 8, 3
TYPES_PER_REGION = 2
LEFT_OUT = ("GH200-96GB",)  # five times as fast and four times as large as the others: it would be the plan
STASH_SHARE = 0.15


def _make(gpus: int, seed: int, options: Options) -> Instance:
    network, chosen = campaign(options.text("network")), model(options.text("model"))
    uniform = stream("profiled", network.name, chosen.name, options.integer("regions") or AUTO, gpus, seed).random
    count = options.integer("regions") or min(MOST_REGIONS, max(FEWEST_REGIONS, gpus // GPUS_PER_REGION))
    regions = pick_some(uniform, network.places, min(count, gpus, len(network.places)))
    placed = merged(_drawn(gpus, comparable(_types(chosen.name), gpus), regions, uniform))
    groups = groups_of(placed, block_flops(options, chosen))
    aim = filling_batch(options, chosen, sum(group.count * group.memory for group in groups), STASH_SHARE)
    training = training_for(options, chosen, groups, aim)
    work = Workload.of(chosen, training)
    head_blocks = work.head_forward_flops / work.block_forward_flops
    return assemble(
        chosen,
        training,
        [_measured(group, chosen.name, training, head_blocks) for group in groups],
        network_of(placed, link_in(network)),
        [
            *network.sources,
            *block_time_sources(chosen.name),
            *(source for entry in placed for source in entry.gpu.sources),
        ],
        notes={
            **notes_on(network),
            "head": f"times of {head_blocks:.3g} blocks, by FLOPs; not measured",
        },
    )


def _types(model_name: str) -> list[str]:
    return [name for name in profiled_gpus(model_name) if name not in LEFT_OUT]


def _drawn(gpus: int, types: Sequence[str], regions: Sequence[str], uniform: Uniform) -> list[Placed]:
    placed = []
    for region, share in spread(gpus, regions).items():
        drawn = pick_some(uniform, types, min(types_for(share, TYPES_PER_REGION), len(types)))
        placed += [Placed(region, region, gpu_type(name), size) for name, size in spread(share, drawn).items()]
    return placed


def _measured(group: Group, model_name: str, training: Training, head_blocks: float) -> Group:
    """The group with measured times in place of its speed; InputError for a micro-batch nobody measured."""
    times = block_times(model_name, group.gpu)
    missing = [str(size) for size in training.micro_batches if size not in times]
    if missing:
        raise InputError(
            f"micro-batches: {', '.join(missing)} was not measured; there are {', '.join(map(str, times))}"
        )
    chosen = {str(size): times[size] for size in training.micro_batches}

    def backward(time: BlockTime) -> float:
        return time.backward_s + (time.forward_s if training.recompute == "full" else 0.0)

    profile = Profile(
        forward={size: time.forward_s for size, time in chosen.items()},
        backward={size: significant(backward(time)) for size, time in chosen.items()},
        head_forward={size: significant(head_blocks * time.forward_s) for size, time in chosen.items()},
        # The head's logits are always recomputed.
        head_backward={
            size: significant(head_blocks * (time.forward_s + time.backward_s)) for size, time in chosen.items()
        },
    )
    return Group.model_validate({**group.model_dump(), "half_batch": None, "profile": profile})


FAMILY = Family(
    name="profiled",
    summary="GPUs with measured block times instead of a speed, in regions over measured links",
    options={
        "network": Option("aws-dtfm", "measurement campaign of the links", choices=NETWORKS),
        "regions": Option(AUTO, "number of regions; auto: one for every three GPUs, two to eight", kind="integer"),
        **training_options("opt-350m-sailor"),
        "model": Option("opt-350m-sailor", "a model that was measured", choices=profiled_models(), named=True),
        # What a recomputed attention core takes was not measured.
        "recompute": Option("full", "activations recomputed backward", choices=("none", "full")),
    },
    make=_make,
)
