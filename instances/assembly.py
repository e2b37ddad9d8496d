"""Put an instance together from GPUs in places and the links between them."""

from __future__ import annotations

from dataclasses import dataclass

from instances.catalogue.gpus import GpuType


@dataclass(frozen=True)
class Placed:
    """Interchangeable GPUs: `count` of one type in one place."""

    place: str
    gpu: GpuType
    count: int
