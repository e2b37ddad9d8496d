"""GPUs with measured block times instead of a speed, in regions over measured links.

Source of the times: the fp16 operator profile that ships with Sailor (Strati et al., SOSP 2025; MIT). It has
no head; the head's times are the block's times the ratio of their FLOPs (Sailor's fp32 profile of OPT-350M on
a V100 has a head of 2.6 blocks where FLOPs say 3.1).
"""

from __future__ import annotations

from instances.catalogue.gpus import BlockTime, block_time_sources, block_times, profiled_models
from instances.catalogue.models import model
from instances.catalogue.networks import campaign
from instances.catalogue.reading import significant
from instances.errors import InputError
from instances.generator.assembly import assemble, notes_on
from instances.generator.family import AUTO, Family, Option, Options
from instances.generator.places import Places, pick_types, place_evenly
from instances.generator.sizing import Size, comparable, training_options, training_with
from instances.instance import Instance, Profile, Training
from instances.seeds import stream
from instances.workload import Workload

NETWORKS = ("aws-64-streams", "aws-dtfm", "gcp-1-stream")
REGIONS = Places("regions", gpus_each=3, most=8)
TYPES_PER_REGION = 2
LEFT_OUT = ("GH200-96GB",)  # five times as fast and four times as large as the others: it would be the plan
SIZE = Size(stash_share=0.15)


def _make(gpus: int, seed: int, options: Options) -> Instance:
    network, chosen = campaign(options["network"]), model(options["model"])
    uniform = stream("profiled", network.name, chosen.name, options["regions"] or AUTO, gpus, seed).random
    regions = REGIONS.draw(uniform, options, gpus, network.places)
    types = comparable([name for name in profiled_models()[chosen.name] if name not in LEFT_OUT], gpus)
    placed = place_evenly(gpus, regions, lambda share: pick_types(uniform, types, share, TYPES_PER_REGION))
    work = Workload.of(chosen, training_with(options, 1))
    head_blocks = work.head_forward_flops / work.block_forward_flops
    return assemble(
        options,
        SIZE,
        network,
        placed,
        used_sources=block_time_sources(chosen.name),
        notes={**notes_on(network, options), "head": f"times of {head_blocks:.3g} blocks, by FLOPs; not measured"},
        measured=lambda gpu, training: _profile(chosen.name, gpu, training, head_blocks),
    )


def _profile(model_name: str, gpu: str, training: Training, head_blocks: float) -> Profile:
    """Measured times of a GPU type; InputError for a micro-batch nobody measured."""
    times = block_times(model_name, gpu)
    missing = [str(size) for size in training.micro_batches if size not in times]
    if missing:
        raise InputError(
            f"micro-batches: {', '.join(missing)} was not measured; measured are {', '.join(map(str, times))}"
        )
    chosen = {str(size): times[size] for size in training.micro_batches}

    def backward(time: BlockTime) -> float:
        return time.backward_s + (time.forward_s if training.recompute == "full" else 0.0)

    return Profile(
        forward={size: time.forward_s for size, time in chosen.items()},
        backward={size: significant(backward(time)) for size, time in chosen.items()},
        head_forward={size: significant(head_blocks * time.forward_s) for size, time in chosen.items()},
        # The head's logits are always recomputed.
        head_backward={
            size: significant(head_blocks * (time.forward_s + time.backward_s)) for size, time in chosen.items()
        },
    )


FAMILY = Family(
    name="profiled",
    summary="GPUs with measured block times instead of a speed, in regions over measured links",
    options={
        "network": Option("aws-dtfm", "measurement campaign of the links", choices=NETWORKS),
        **REGIONS.option(),
        **training_options("opt-350m-sailor"),
        "model": Option("opt-350m-sailor", "a model that was measured", choices=tuple(profiled_models()), named=True),
        # What a recomputed attention core takes was not measured.
        "recompute": Option("full", "activations recomputed backward", choices=("none", "full")),
    },
    make=_make,
)
