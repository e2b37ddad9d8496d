"""CrossPipe's 1F1B runs across two and four data centres under injected delay, on 32 GH200 as eight GPUs.

Source: CrossPipe (USENIX ATC 2025), tables 5 and 6. A forward pass of a stage takes 38 ms; the seconds of a backward
pass are taken from the row without delay between two data centres, once for each table.
"""

from __future__ import annotations

from collections.abc import Mapping

from scipy.optimize import brentq

from bench.simulation.simulate import Rules, simulate
from bench.studies.fidelity.clusters import cluster, group
from bench.studies.fidelity.rows import Measured, table
from instances.instance import Instance, Model, Profile, Training
from instances.plan import Plan

SOURCE = "CrossPipe"
STAGES, BLOCKS = 8, 64  # 62 blocks, with the embedding and the head as one each
FORWARD_S = 0.038
STRICT = Rules("1f1b")
AT_ONCE = 1e30
"""bytes/s of links without delay."""


def run_of(row: Mapping[str, str], backward_s: float) -> tuple[Instance, Plan]:
    """The instance and plan of a row, at so many seconds of a backward pass."""
    sites, count = int(row["sites"]), int(row["micro_batches"])
    model = Model(
        name="70b",
        layers=BLOCKS,
        hidden=8192,
        heads=64,
        kv_heads=8,
        ffn=28672,
        gated_ffn=True,
        vocab=128256,
        sequence=4096,
        tied_embeddings=False,
    )
    training = Training(
        global_batch=count,
        micro_batches=(1,),
        schedule="gpipe",
        recompute="full" if row["recompute"] == "full" else "none",
        state_bytes_per_parameter=16,
        gradient_bytes=4,
    )
    per_block = STAGES / BLOCKS
    times = {
        "forward": FORWARD_S * per_block,
        "backward": backward_s * per_block,
        "head_forward": 0,
        "head_backward": 0,
    }
    profile = Profile(**{key: {"1": float(seconds)} for key, seconds in times.items()})
    groups = [group(f"site-{site}", STAGES // sites, profile=profile) for site in range(sites)]
    send_s, message = float(row["send_over_forward"]) * FORWARD_S, 2 * model.sequence * model.hidden
    latency, bandwidth = float(row["latency_over_forward"]) * FORWARD_S, message / send_s if send_s else AT_ONCE

    def matrix(inside: float, between: float) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(inside if i == j else between for j in range(sites)) for i in range(sites))

    instance = cluster("crosspipe", model, training, groups, matrix(0.0, latency), matrix(AT_ONCE, bandwidth))
    order = [site for site in range(sites) for _ in range(STAGES // sites)]
    return instance, Plan.from_groups(1, [BLOCKS // STAGES] * STAGES, [order])


def measured() -> list[Measured]:
    """All rows, by seconds of the whole iteration; `other` is with sends that block."""
    found, backward = [], {}
    for row in table("crosspipe"):
        seconds, case, still = (
            float(row["seconds_per_micro_batch"]),
            row["case"],
            float(row["latency_over_forward"]) == 0,
        )
        count, why = int(row["micro_batches"]), ""
        if case not in backward:
            # The first row of each table is the one without delay between two data centres.
            backward[case] = _backward(row, seconds * count)
            why = "gives the seconds of a backward pass"
        run = run_of(row, backward[case])
        name = (
            f"table {int(case) + 4}, {row['sites']} sites, latency {row['latency_over_forward']} and send "
            f"{row['send_over_forward']} forward passes" + (", no delay" if still else "")
        )
        played = [simulate(*run, rule).time_s for rule in (STRICT, Rules("1f1b", blocking=True))]
        found.append(Measured(SOURCE, name, seconds * count, played[0], why, other=played[1]))
    return found


def _backward(row: Mapping[str, str], iteration_s: float) -> float:
    """Seconds of a backward pass with which the row comes out as measured."""
    return float(brentq(lambda guess: simulate(*run_of(row, guess), STRICT).time_s - iteration_s, 1e-3, 1.0))
