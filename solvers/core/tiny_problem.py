"""A problem that takes no time: what methods warm up on."""

from __future__ import annotations

from instances.instance import Group, Instance, Model, Network, Training
from instances.objective import Goal
from solvers.core.interface import Problem


def tiny_problem(goal: Goal | None = None) -> Problem:
    """Four GPUs of three groups, three blocks, two sequences; the goal is time unless another is given."""
    groups = [
        Group(name=name, gpu=name, region=name, count=count, flops=flops, memory=1e9, power_active=2.0, power_idle=1.0)
        for name, count, flops in (("a", 1, 1e9), ("b", 1, 2e9), ("c", 2, 3e9))
    ]
    instance = Instance(
        schema="geotrain-bench/instance/1",
        name="tiny",
        model=Model(
            name="tiny",
            layers=3,
            hidden=8,
            heads=1,
            kv_heads=1,
            ffn=8,
            gated_ffn=False,
            vocab=8,
            sequence=8,
            tied_embeddings=False,
        ),
        training=Training(
            global_batch=2,
            micro_batches=(1,),
            schedule="gpipe",
            recompute="none",
            state_bytes_per_parameter=16.0,
            gradient_bytes=2.0,
        ),
        groups=tuple(groups),
        network=Network(
            latency=((1e-6, 2e-6, 3e-6), (4e-6, 5e-6, 6e-6), (7e-6, 8e-6, 9e-6)),
            bandwidth=((1e9, 2e9, 3e9), (4e9, 5e9, 6e9), (7e9, 8e9, 9e9)),
        ),
    )
    return Problem(instance, goal or Goal(time_weight=1.0))
