"""Measured seconds of one block by model, GPU and micro-batch."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from instances.catalogue.reading import rows, sources

SOURCE_PRECISION = "fp16"  # the precision that the cost model counts activations in


class BlockTime(NamedTuple):
    """Seconds forward and backward, nothing recomputed."""

    forward_s: float
    backward_s: float


def block_times(model: str, gpu: str, precision: str = SOURCE_PRECISION) -> dict[int, BlockTime]:
    """The times of one block by micro-batch size; empty if it was not measured."""
    return {size: time for (*key, size), time in _times().items() if key == [model, gpu, precision]}


def profiled_gpus(model: str, precision: str = SOURCE_PRECISION) -> tuple[str, ...]:
    """GPU types on which the model's block was measured."""
    return tuple(dict.fromkeys(gpu for name, gpu, kind, _ in _times() if (name, kind) == (model, precision)))


def profiled_models(precision: str = SOURCE_PRECISION) -> tuple[str, ...]:
    """Models whose block was measured on any GPU."""
    return tuple(dict.fromkeys(name for name, _, kind, _ in _times() if kind == precision))


def block_time_sources(model: str, precision: str = SOURCE_PRECISION) -> list[str]:
    """Where the times of a model come from."""
    return sources(
        row["source"] for row in rows("layer_times") if (row["model"], row["precision"]) == (model, precision)
    )


@cache
def _times() -> dict[tuple[str, str, str, int], BlockTime]:
    return {
        (row["model"], row["gpu"], row["precision"], int(row["micro_batch"])): BlockTime(
            float(row["forward_s"]), float(row["backward_s"])
        )
        for row in rows("layer_times")
    }
