"""A problem that takes no time: what methods warm up on."""

from __future__ import annotations

from instances.files import instance_from_json
from instances.objective import Goal
from solvers.core.interface import Problem

_MODEL = {"name": "tiny", "layers": 3, "hidden": 8, "heads": 1, "kv_heads": 1, "ffn": 8, "vocab": 8, "sequence": 8}
_TRAINING = {"global_batch": 2, "micro_batches": [1], "schedule": "gpipe", "recompute": "none"}
_NETWORK = {
    "latency": [[1e-6, 2e-6, 3e-6], [4e-6, 5e-6, 6e-6], [7e-6, 8e-6, 9e-6]],
    "bandwidth": [[1e9, 2e9, 3e9], [4e9, 5e9, 6e9], [7e9, 8e9, 9e9]],
}
_GPU = {"memory": 1e9, "power_active": 2, "power_idle": 1}


def tiny_problem(goal: Goal | None = None) -> Problem:
    """Four GPUs of three groups, three blocks, two sequences; the goal is time unless another is given."""
    instance = {
        "schema": "geotrain-bench/instance/1",
        "name": "tiny",
        "model": {**_MODEL, "gated_ffn": False, "tied_embeddings": False},
        "training": {**_TRAINING, "state_bytes_per_parameter": 16, "gradient_bytes": 2},
        "groups": [
            {"name": name, "gpu": name, "region": name, "count": count, "flops": flops, **_GPU}
            for name, count, flops in (("a", 1, 1e9), ("b", 1, 2e9), ("c", 2, 3e9))
        ],
        "network": _NETWORK,
    }
    return Problem(instance_from_json(instance, "tiny"), goal or Goal(time_weight=1.0))
