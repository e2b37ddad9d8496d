"""The control: equal GPUs in one place, where choosing among them should not help."""

from __future__ import annotations

from instances.catalogue import campaign, gpu_type, gpu_types
from instances.generator.assembly import Placed, assemble, groups_of, network_of
from instances.generator.family import AUTO, Family, Option, Options
from instances.generator.sizing import block_flops, chosen_model, filling_batch, training_for, training_options
from instances.instance import Instance

NETWORK = "aws-64-streams"
STATE_SHARE, STASH_SHARE = 0.15, 0.15


def _make(gpus: int, seed: int, options: Options) -> Instance:
    # Nothing is drawn: every seed gives the same instance.
    gpu, network = gpu_type(options.text("gpu")), campaign(NETWORK)
    placed = [Placed("site", "site", gpu, gpus)]
    pool_bytes = gpus * gpu.memory
    model = chosen_model(options, pool_bytes, STATE_SHARE)
    groups = groups_of(placed, block_flops(options, model))
    aim = filling_batch(options, model, pool_bytes, STASH_SHARE)
    return assemble(
        model,
        training_for(options, model, groups, aim, single_gpu_allowed=True),
        groups,
        network_of(placed, lambda sender, receiver: network.link(sender.place, receiver.place)),
        [*network.sources, *gpu.sources],
        notes={"network": f"inside a region of {network.name}"},
    )


FAMILY = Family(
    name="uniform",
    summary="equal GPUs in one place: the control, where leaving GPUs out should not help",
    options={
        "gpu": Option("A10G", "GPU type of the catalogue", choices=tuple(gpu_types())),
        **training_options(AUTO),
    },
    make=_make,
)
