"""DT-FM's GPipe pipelines of eight V100s under one delay and one bandwidth everywhere.

Source: results/gpt3_xl_fp16.md of DS3Lab/Decentralized_FM_alpha. Activations are recomputed in full and gradients have
16 bits, as in their code. Their central parameter server, which our exchange is not, is predicted by the same formula.
"""

from __future__ import annotations

from collections.abc import Mapping

from scipy.optimize import brentq

from bench.studies.fidelity.clusters import cluster, group
from bench.studies.fidelity.rows import Measured, table
from instances.instance import Instance, Model, Training
from instances.plan import Plan
from instances.referee.evaluate import evaluate_feasible

SOURCE = "DT-FM, uniform networks"
STAGES = 8
COMPUTE_ROW, LINK_ROW = 35, 51
"""The longest pipelines, of 108 micro-batches, where what the model leaves out weighs least: at 10 Gbit/s and 0.1 ms
for the V100s' speed, at 1 Gbit/s and 50 ms for the share of the bandwidth that carries payload."""


def model_of(layers: int) -> Model:
    """GPT-XL as they ran it."""
    return Model(
        name="gpt-xl",
        layers=layers,
        hidden=2048,
        heads=16,
        kv_heads=16,
        ffn=8192,
        gated_ffn=False,
        vocab=50257,
        sequence=2048,
        tied_embeddings=False,
    )


def training_of(batch: int) -> Training:
    """Micro-batches of one sequence; 16-bit gradients; full recomputation."""
    return Training(
        global_batch=batch,
        micro_batches=(1,),
        schedule="gpipe",
        recompute="full",
        state_bytes_per_parameter=16,
        gradient_bytes=2,
    )


def run_of(row: Mapping[str, str], flops: float, payload: float) -> tuple[Instance, Plan]:
    """The instance and plan of a row, at so many FLOP/s and that share of the bandwidth."""
    replicas, layers = int(row["replicas"]), int(row["layers"])
    latency, bandwidth = float(row["delay_ms"]) / 1e3, float(row["gbit_per_s"]) * 1e9 / 8 * payload
    gpus = group("V100", STAGES * replicas, flops=flops)
    training = training_of(int(row["batch"]))
    instance = cluster("dtfm-uniform", model_of(layers), training, [gpus], ((latency,),), ((bandwidth,),))
    return instance, Plan.from_groups(1, [layers // STAGES] * STAGES, [[0] * STAGES] * replicas)


def calibration() -> tuple[float, float]:
    """FLOP/s of the V100s and the share of bandwidth, each from its one row, which is not scored."""
    rows = table("dtfm_uniform")

    def error(row: Mapping[str, str], flops: float, payload: float) -> float:
        return evaluate_feasible(*run_of(row, flops, payload)).time_s - float(row["iteration_s"])

    flops = float(brentq(lambda guess: error(rows[COMPUTE_ROW], guess, 1.0), 1e12, 1e15))
    return flops, float(brentq(lambda share: error(rows[LINK_ROW], flops, share), 0.1, 2.0))


def measured() -> list[Measured]:
    """All rows of the sweep."""
    flops, payload = calibration()
    found = []
    for number, row in enumerate(table("dtfm_uniform")):
        why = {COMPUTE_ROW: "gives the FLOP/s", LINK_ROW: "gives the share of the bandwidth"}.get(number, "")
        predicted = evaluate_feasible(*run_of(row, flops, payload)).time_s
        name = (
            f"{row['replicas']} x {STAGES}, {row['layers']} layers, batch {row['batch']}, {row['delay_ms']} ms, "
            f"{row['gbit_per_s']} Gbit/s, exchange {row['exchange']}"
        )
        found.append(Measured(SOURCE, name, float(row["iteration_s"]), predicted, why))
    return found
