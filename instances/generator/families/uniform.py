"""The control: equal GPUs in one place, where choosing among them should not help."""

from __future__ import annotations

from instances.catalogue.gpus import gpu_type, gpu_types
from instances.catalogue.networks import campaign
from instances.generator.assembly import Placed, assemble
from instances.generator.family import AUTO, Family, Option, Options
from instances.generator.sizing import Size, training_options
from instances.instance import Instance

NETWORK = "aws-64-streams"
SIZE = Size(state_share=0.15, stash_share=0.15, single_gpu_allowed=True)


def _make(gpus: int, seed: int, options: Options) -> Instance:
    # Nothing is drawn: every seed gives the same instance.
    network = campaign(NETWORK)
    return assemble(
        options,
        SIZE,
        network,
        [Placed("site", "site", gpu_type(options["gpu"]), gpus)],
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
