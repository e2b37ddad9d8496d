"""Perseus' pipelines on A100 and A40: iteration time and the energy of every GPU, from the seconds of its passes.

Source: ml-energy/zeus at 38cb3f9, sosp24_data (Apache-2.0). Nothing is calibrated: a GPU draws its rated 300 W while it
computes, and while it waits what the authors measured of one that is blocked in a receive. Passes are the measured
means of each GPU, the schedule is strict 1F1B, and links inside the machine count as instant.

Their run of gpt3-6.7b is left out: what counts as computing there contains the communication of tensor parallelism.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from bench.simulation.simulate import Rules, simulate
from bench.simulation.timeline import TimeLine
from bench.studies.fidelity.clusters import cluster, group
from bench.studies.fidelity.rows import Measured, table
from instances.instance import Model, Profile, Training
from instances.plan import Plan

TIME, ENERGY = "Perseus, time", "Perseus, energy of each GPU"
RATED_W = 300.0
BLOCKED_W = {"A100-PCIe-80GB": 83.64, "A40": 70.38}
INSTANT = 1e30

Runs = dict[tuple[str, str], list[dict[str, str]]]


@cache
def runs() -> Runs:
    """The rows of each run, one for each GPU in the order of stages."""
    found: Runs = defaultdict(list)
    for row in table("perseus"):
        found[row["gpu"], row["model"]].append(row)
    return found


def play(rows: list[dict[str, str]]) -> TimeLine:
    """The simulated iteration of a run: a block a stage, whose passes take as long as they did."""
    stages, count = len(rows), int(rows[0]["micro_batches"])
    groups = []
    for number, row in enumerate(rows):
        passes = {"forward": row["forward_s"], "backward": row["backward_s"]}
        heads = {key: {"1": 0.0} for key in ("head_forward", "head_backward")}
        profile = Profile(**{key: {"1": float(seconds)} for key, seconds in passes.items()}, **heads)
        power = {"power_active": RATED_W, "power_idle": BLOCKED_W[row["gpu"]]}
        groups.append(group(f"stage-{number}", 1, profile=profile).model_copy(update=power))
    model = Model(
        name=rows[0]["model"],
        layers=stages,
        hidden=1,
        heads=1,
        kv_heads=1,
        ffn=1,
        gated_ffn=False,
        vocab=1,
        sequence=1,
        tied_embeddings=False,
    )
    training = Training(
        global_batch=count,
        micro_batches=(1,),
        schedule="gpipe",
        recompute="none",
        state_bytes_per_parameter=16,
        gradient_bytes=2,
    )
    latency, bandwidth = (tuple((value,) * stages for _ in rows) for value in (0.0, INSTANT))
    instance = cluster("perseus", model, training, groups, latency, bandwidth)
    return simulate(instance, Plan.from_groups(1, [1] * stages, [range(stages)]), Rules("1f1b"))


def measured() -> list[Measured]:
    """The time of each run, and the energy of each of its GPUs."""
    found = []
    for (gpu, model), rows in runs().items():
        line, name = play(rows), f"{model} on {len(rows)} {gpu}"
        seconds = max(float(row["iteration_s"]) for row in rows)
        found.append(Measured(TIME, name, seconds, line.time_s))
        for stage, (row, busy) in enumerate(zip(rows, line.busy, strict=True)):
            joules = RATED_W * busy + BLOCKED_W[gpu] * (line.time_s - busy)
            found.append(Measured(ENERGY, f"{name}, stage {stage}", float(row["energy_j"]), float(joules), unit="J"))
    return found
