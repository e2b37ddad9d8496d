"""GPU types: what they reach in training, what they hold and draw, and block times that were measured on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from instances.catalogue.reading import look_up, rows, significant, sources
from instances.instance import Group

MIB = 2**20
BACKWARD_AND_FORWARD = 3.0
"""FLOPs of a measured block, backward included and nothing recomputed, over those of its forward pass."""


@dataclass(frozen=True)
class GpuType:
    """One GPU type. `basis` says for each figure whether it was measured, fitted or assumed, and how.

    Attributes
    ----------
    flops
        Achievable FLOP/s at large micro-batches, F_k: dense fp16 peak (with fp32 accumulation where the card
        has two rates) times the stated efficiency.
    memory
        Bytes that the driver reports, C_k.
    block_overhead_s
        Seconds of a block, forward and backward, that do not grow with the micro-batch.
    power_active, power_waiting
        W while computing (P_k) and while blocked on communication (Q_k).
    """

    name: str
    flops: float
    memory: float
    block_overhead_s: float
    power_active: float
    power_waiting: float
    basis: dict[str, str]
    sources: list[str]

    def group(self, name: str, region: str, count: int, block_forward_flops: float) -> Group:
        """`count` GPUs of this type in one place, as a group of an instance whose blocks cost so much.

        The overhead of a block becomes `half_batch` (u_k): the sequences that would take as long.
        """
        half_batch = self.block_overhead_s * self.flops / (BACKWARD_AND_FORWARD * block_forward_flops)
        return Group(
            name=name,
            gpu=self.name,
            region=region,
            count=count,
            flops=self.flops,
            memory=self.memory,
            power_active=self.power_active,
            power_idle=self.power_waiting,
            half_batch=significant(half_batch, 2),
        )


class BlockTime(NamedTuple):
    """Seconds of one block forward and backward, nothing recomputed."""

    forward_s: float
    backward_s: float


def gpu_type(name: str) -> GpuType:
    """The GPU type called `name`; InputError if the catalogue has none."""
    return look_up(gpu_types(), name, "GPU type")


@cache
def gpu_types() -> dict[str, GpuType]:
    """All GPU types by name."""
    return {row["name"]: _read(row) for row in rows("gpus")}


def _read(row: dict[str, str]) -> GpuType:
    facts = ("efficiency", "block_overhead", "power_active", "power_waiting")
    return GpuType(
        name=row["name"],
        flops=significant(float(row["peak_fp16_tflops"]) * 1e12 * float(row["efficiency"])),
        memory=float(int(row["memory_mib"]) * MIB),
        block_overhead_s=float(row["block_overhead_ms"]) / 1e3,
        power_active=float(row["power_active_w"]),
        power_waiting=float(row["power_waiting_w"]),
        basis={fact: row.get(f"{fact}_basis") or row[f"{fact}_source"] for fact in facts},
        sources=[
            f"{row['name']}: {row['source']}; memory: {row['memory_source']}",
            *(f"{row['name']}: {fact.replace('_', ' ')}: {row[f'{fact}_source']}" for fact in facts),
        ],
    )


def block_times(model: str, gpu: str) -> dict[int, BlockTime]:
    """The times of one block by micro-batch size; empty if it was not measured."""
    return {
        int(row["micro_batch"]): BlockTime(float(row["forward_s"]), float(row["backward_s"]))
        for row in _fp16_rows()
        if (row["model"], row["gpu"]) == (model, gpu)
    }


def profiled_models() -> dict[str, list[str]]:
    """Models whose block was measured, each with the GPU types it was measured on."""
    found: dict[str, dict[str, None]] = {}
    for row in _fp16_rows():
        found.setdefault(row["model"], {})[row["gpu"]] = None
    return {model: list(gpus) for model, gpus in found.items()}


def block_time_sources(model: str) -> list[str]:
    """Where the times of a model come from."""
    return sources(row["source"] for row in _fp16_rows() if row["model"] == model)


def _fp16_rows() -> list[dict[str, str]]:
    """Half precision, as the cost model's activations; `layer_times.csv` has fp32 as well."""
    return [row for row in rows("layer_times") if row["precision"] == "fp16"]


def block_overhead_s(points_by_model: Mapping[str, Sequence[tuple[int, float]]]) -> float:
    """Seconds of a block, forward and backward, at a micro-batch of nothing: the fit behind `block_overhead_ms`.

    Measured seconds y of micro-batch x are fitted by `overhead + slope * x`, least squares of relative errors,
    with one overhead for the GPU (kernel launches do not know the model) and one slope for each model. An
    overhead below 0 counts as 0.

    Parameters
    ----------
    points_by_model
        For each model its (micro-batch, seconds) pairs, two or more.
    """
    import numpy as np

    points = [(model, x, y) for model, pairs in points_by_model.items() for x, y in pairs]
    relative = [[1 / y, *(x / y * (model == other) for other in points_by_model)] for model, x, y in points]
    overhead, *_ = np.linalg.lstsq(np.array(relative), np.ones(len(points)), rcond=None)[0]
    return max(0.0, float(overhead))
