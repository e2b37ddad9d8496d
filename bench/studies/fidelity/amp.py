"""AMP's 1F1B runs of GPT-2 medium on 16 T4 and on 12 V100 with 4 T4, from block times that its authors profiled.

Source: DachengLi1/AMP at 72eeea4. DeepSpeed's 1F1B, 16-bit training, gradients exchanged in 32 bits. Nothing is
calibrated: a backward pass counts as two forward passes, as in their own estimate, and a micro-batch of b sequences
as b times the profiled one. Ranks in listed order, stage by stage; latencies are not stated and count as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from statistics import fmean

from bench.simulation.simulate import Rules, simulate
from bench.studies.fidelity.clusters import cluster, group
from bench.studies.fidelity.rows import Measured, table
from instances.instance import Group, Instance, Model, Profile, Training
from instances.plan import Gpu, Plan

SOURCE = {"homogeneous": "AMP, 16 T4", "mixed": "AMP, 12 V100 and 4 T4"}
SIZES = (1, 2, 4, 8)
BLOCKS, FIRST_BLOCK = 24, 2
NODES = {"homogeneous": ("T4",) * 4, "mixed": ("V100", "V100", "V100", "T4")}
GPUS_PER_NODE = 4
INSIDE_GBIT = {"T4": 50, "V100": 170}
BETWEEN_GBIT = {"T4": 50, "V100": 10}
BYTES_PER_GBIT = 1e9 / 8


@cache
def pool(name: str) -> Instance:
    """One of their two clusters, a group for each node."""
    nodes = NODES[name]
    groups = [_node(f"{kind}-{number}", kind) for number, kind in enumerate(nodes)]
    gbit = [
        [INSIDE_GBIT[a] if i == j else min(BETWEEN_GBIT[a], BETWEEN_GBIT[b]) for j, b in enumerate(nodes)]
        for i, a in enumerate(nodes)
    ]
    bandwidth = tuple(tuple(each * BYTES_PER_GBIT for each in row) for row in gbit)
    latency = tuple((0.0,) * len(nodes) for _ in nodes)
    model = Model(
        name="gpt2-medium",
        layers=BLOCKS,
        hidden=1024,
        heads=16,
        kv_heads=16,
        ffn=4096,
        gated_ffn=False,
        vocab=52256,
        sequence=1024,
        tied_embeddings=False,
    )
    training = Training(
        global_batch=32,
        micro_batches=SIZES,
        schedule="gpipe",
        recompute="none",
        state_bytes_per_parameter=16,
        gradient_bytes=4,
    )
    return cluster(f"amp-{name}", model, training, groups, latency, bandwidth)


def _node(name: str, kind: str) -> Group:
    """Four GPUs whose blocks all take the mean of the profiled ones, and whose head takes what comes after them."""
    entries = [float(row["forward_s"]) for row in table("amp_layers") if row["gpu"] == kind]
    block, head = fmean(entries[FIRST_BLOCK : FIRST_BLOCK + BLOCKS]), sum(entries[FIRST_BLOCK + BLOCKS :])
    seconds = {
        "forward": block,
        "backward": 2 * block,
        "head_forward": head,
        "head_backward": 2 * head,
    }
    by_size = {key: {str(size): size * each for size in SIZES} for key, each in seconds.items()}
    return group(name, GPUS_PER_NODE, profile=Profile(**by_size))


def plan_of(row: Mapping[str, str]) -> Plan:
    """Their plan of a row: rank s R + r is stage s of pipeline r."""
    replicas, layers = int(row["replicas"]), tuple(map(int, row["blocks"].split("-")))
    ranks = [[s * replicas + r for s in range(len(layers))] for r in range(replicas)]
    rows = tuple(tuple(Gpu(rank // GPUS_PER_NODE, rank % GPUS_PER_NODE) for rank in line) for line in ranks)
    return Plan(int(row["micro_batch"]), layers, rows)


def measured() -> list[Measured]:
    """All rows; `other` is the estimate of AMP's authors."""
    found = []
    for row in table("amp"):
        predicted = simulate(pool(row["cluster"]), plan_of(row), Rules("1f1b")).time_s
        name = f"{row['replicas']} x {row['stages']}, micro-batch {row['micro_batch']}, blocks {row['blocks']}"
        seconds = float(row["iteration_s"])
        found.append(Measured(SOURCE[row["cluster"]], name, seconds, predicted, other=float(row["amp_estimate_s"])))
    return found
