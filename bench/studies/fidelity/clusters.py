"""Instances for measured runs: what their authors had, as far as it bears on time."""

from __future__ import annotations

from collections.abc import Sequence

from instances.instance import Group, Instance, Matrix, Model, Network, Profile, Training

AMPLE, ANY_W = 1e15, 1.0
"""Bytes and watts where only time is compared: the runs fitted, and their energy was not measured."""


def group(name: str, count: int, flops: float = 1.0, profile: Profile | None = None) -> Group:
    """GPUs of a measured cluster, by their FLOP/s or by measured seconds."""
    limits = {"memory": AMPLE, "power_active": ANY_W, "power_idle": ANY_W}
    return Group(name=name, gpu=name, region=name, count=count, flops=flops, profile=profile, **limits)


def cluster(
    name: str, model: Model, training: Training, groups: Sequence[Group], latency: Matrix, bandwidth: Matrix
) -> Instance:
    """An instance of measured groups and links."""
    return Instance(
        schema="geotrain-bench/instance/1",
        name=name,
        model=model,
        training=training,
        groups=tuple(groups),
        network=Network(latency=latency, bandwidth=bandwidth),
    )
