"""Measured seconds of one block by model, GPU and micro-batch, in fp16: the precision of the cost model's activations.

`layer_times.csv` has fp32 as well, which nothing here uses.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from instances.catalogue.reading import rows, sources


class BlockTime(NamedTuple):
    """Seconds forward and backward, nothing recomputed."""

    forward_s: float
    backward_s: float


def block_times(model: str, gpu: str) -> dict[int, BlockTime]:
    """The times of one block by micro-batch size; empty if it was not measured."""
    return {
        int(row["micro_batch"]): BlockTime(float(row["forward_s"]), float(row["backward_s"]))
        for row in _rows()
        if (row["model"], row["gpu"]) == (model, gpu)
    }


def profiled_gpus(model: str) -> tuple[str, ...]:
    """GPU types on which the model's block was measured."""
    return tuple(dict.fromkeys(row["gpu"] for row in _rows() if row["model"] == model))


def profiled_models() -> tuple[str, ...]:
    """Models whose block was measured on any GPU."""
    return tuple(dict.fromkeys(row["model"] for row in _rows()))


def block_time_sources(model: str) -> list[str]:
    """Where the times of a model come from."""
    return sources(row["source"] for row in _rows() if row["model"] == model)


@cache
def _rows() -> tuple[dict[str, str], ...]:
    return tuple(row for row in rows("layer_times") if row["precision"] == "fp16")
