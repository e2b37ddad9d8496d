"""Random tiny instances with every feature of the problem, for tests against enumeration."""

from __future__ import annotations

import random
from typing import Any

from instances.files import instance_from_json
from instances.instance import SCHEMA, Instance
from instances.seeds import stream
from instances.workload import Workload

REGIONS = ("north", "south", "east")
MICRO_BATCHES = (1, 2, 3, 4, 8)  # 3 divides no batch drawn here: a choice that is allowed and unusable


def random_instance(seed: int, gpus: int | None = None) -> Instance:
    """An instance of 3 to 6 GPUs (or as many as asked for) in groups, equal for equal arguments.

    It varies group sizes, asymmetric links, link energy, power caps, carbon and price, half_batch, profiles,
    the recompute mode, gated and grouped-query blocks and tied embeddings. Memory is drawn around what the
    model needs, so it often binds; an instance without any feasible plan is rare but possible.
    """
    draw = stream("random instance", seed, gpus or 0)
    total = gpus or 3 + _below(draw, 4)
    counts = _split(draw, total)
    model = _model(draw)
    training = _training(draw)
    names = [f"g{k}" for k in range(len(counts))]
    regions = [REGIONS[_below(draw, 3)] for _ in counts]
    whole = _bytes_of_all_layers(model, training)
    groups = [
        _group(draw, names[k], regions[k], counts[k], whole, training["micro_batches"]) for k in range(len(counts))
    ]
    data = {
        "schema": SCHEMA,
        "name": f"random-{seed}",
        "model": model,
        "training": training,
        "groups": groups,
        "network": _network(draw, len(counts)),
        "sites": _sites(draw, groups),
    }
    return instance_from_json(data, f"random instance {seed}")


def random_objectives(seed: int, time_s: float, energy_j: float) -> list[str]:
    """One objective of every scalar kind; time and energy of some feasible plan set the caps around it.

    A cap may turn out to be below the least time or energy: then the answer is `infeasible`.
    """
    draw = stream("random objectives", seed)
    near = [0.6 + 0.6 * draw.random() for _ in range(2)]
    return [
        "time",
        "energy",
        f"weighted:{round(draw.random(), 3)}",
        f"energy@{time_s * near[0]!r}",
        f"time@{energy_j * near[1]!r}",
        "carbon",
        "cost",
    ]


def _below(draw: random.Random, limit: int) -> int:
    return int(draw.random() * limit)


def _chance(draw: random.Random, chance: float) -> bool:
    return draw.random() < chance


def _between(draw: random.Random, low: float, high: float) -> float:
    """Spread evenly over the orders of magnitude."""
    return float(low * (high / low) ** draw.random())


def _split(draw: random.Random, total: int) -> list[int]:
    """`total` GPUs in groups; half of the groups have one GPU."""
    counts: list[int] = []
    while sum(counts) < total:
        size = 1 if _chance(draw, 0.5) else 2 + _below(draw, 2)
        counts.append(min(size, total - sum(counts)))
    return counts


def _model(draw: random.Random) -> dict[str, Any]:
    heads = (2, 4)[_below(draw, 2)]
    hidden = 64 * heads
    return {
        "name": "tiny",
        "layers": 3 + _below(draw, 6),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": heads if _chance(draw, 0.5) else heads // 2,
        "ffn": 3 * hidden,
        "gated_ffn": _chance(draw, 0.5),
        "vocab": int(_between(draw, 100, 3000)),
        "sequence": (32, 128)[_below(draw, 2)],
        "tied_embeddings": _chance(draw, 0.5),
    }


def _training(draw: random.Random) -> dict[str, Any]:
    sizes = sorted({MICRO_BATCHES[_below(draw, len(MICRO_BATCHES))] for _ in range(2)} | {1})
    return {
        "global_batch": (8, 12, 16)[_below(draw, 3)] if 3 not in sizes else (8, 16)[_below(draw, 2)],
        "micro_batches": sizes,
        "schedule": "gpipe",
        "recompute": ("none", "selective", "full")[_below(draw, 3)],
        "state_bytes_per_parameter": 16,
        "gradient_bytes": (2, 4)[_below(draw, 2)],
    }


def _bytes_of_all_layers(model: dict[str, Any], training: dict[str, Any]) -> float:
    """What a one-stage pipeline of a two-pipeline plan needs: the scale for drawing memories."""
    from instances.instance import Model, Training

    parsed = Training(**{**training, "micro_batches": tuple(training["micro_batches"])})
    work = Workload.of(Model(**model), parsed)
    return work.stage_bytes(model["layers"], True, True, replicas=2, micro_batch=1)


def _group(draw: random.Random, name: str, region: str, count: int, whole: float, sizes: list[int]) -> dict[str, Any]:
    active = _between(draw, 50, 500)
    flops = _between(draw, 2e9, 2e10)
    group: dict[str, Any] = {
        "name": name,
        "gpu": "any",
        "region": region,
        "count": count,
        "flops": flops,
        "memory": whole * _between(draw, 0.35, 4.0),
        "power_active": active,
        "power_idle": active * (1.0 if _chance(draw, 0.1) else 0.1 + 0.5 * draw.random()),
    }
    kind = draw.random()
    if kind < 0.3:
        group["half_batch"] = 2 * draw.random()
    elif kind < 0.6:
        group["profile"] = _profile(draw, flops, sizes)
    return group


def _profile(draw: random.Random, flops: float, sizes: list[int]) -> dict[str, Any]:
    """Measured seconds that follow no formula; the head may be free."""
    block = 3e7 / flops
    head = 0.0 if _chance(draw, 0.2) else block * 2 * draw.random()
    return {
        "forward": {str(size): block * (size + draw.random()) for size in sizes},
        "backward": {str(size): block * (1.5 + draw.random()) * (size + draw.random()) for size in sizes},
        "head_forward": {str(size): head * size for size in sizes},
        "head_backward": {str(size): head * size * (1 + draw.random()) for size in sizes},
    }


def _network(draw: random.Random, size: int) -> dict[str, Any]:
    symmetric = _chance(draw, 0.3)
    fast, slow = 2e9, _between(draw, 3e6, 1e9)

    def matrix(low: float, high: float, zero: float) -> list[list[float]]:
        rows = [[0.0 if _chance(draw, zero) else _between(draw, low, high) for _ in range(size)] for _ in range(size)]
        return [[rows[min(k, j)][max(k, j)] if symmetric else rows[k][j] for j in range(size)] for k in range(size)]

    network: dict[str, Any] = {"latency": matrix(1e-6, 1e-2, 0.1), "bandwidth": matrix(slow, fast, 0.0)}
    if _chance(draw, 0.5):
        network["energy_per_byte"] = matrix(1e-8, 3e-5, 0.2)
    return network


def _sites(draw: random.Random, groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Carbon and price everywhere, so that every objective can be asked; a power cap at some."""
    sites: dict[str, Any] = {}
    for region in dict.fromkeys(group["region"] for group in groups):
        draws = [group["count"] * group["power_active"] for group in groups if group["region"] == region]
        sites[region] = {"carbon": _between(draw, 20, 800), "price": _between(draw, 0.03, 0.4)}
        if _chance(draw, 0.35):
            sites[region]["power_cap"] = sum(draws) * (0.3 + 0.8 * draw.random())
    return sites
