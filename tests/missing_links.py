"""Pools with missing links, for tests: pairs in one direction or both, and diagonals."""

from __future__ import annotations

from instances.files import instance_from_json, instance_to_json
from instances.instance import Instance
from instances.seeds import stream


def without_links(instance: Instance, seed: int, chance: float = 0.25) -> Instance:
    """The instance with each directed pair, and each diagonal, taken away with the given chance."""
    draw = stream("missing links", seed)
    data = instance_to_json(instance)
    for latency, bandwidth in zip(data["network"]["latency"], data["network"]["bandwidth"], strict=True):
        for j in range(len(bandwidth)):
            if draw.random() < chance:
                bandwidth[j] = None
                latency[j] = None if draw.random() < 0.5 else latency[j]
    return instance_from_json(data, f"{instance.name} without links")
