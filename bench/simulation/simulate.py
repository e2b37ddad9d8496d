"""Play out one iteration of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bench.simulation.durations import Durations, Speeds
from bench.simulation.timeline import TimeLine
from instances.instance import Instance
from instances.plan import Plan

Schedule = Literal["gpipe", "1f1b", "1f1b-eager"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
"""Fill-drain; one forward, one backward in strict turns; backward if one is ready, else forward while there is room."""


@dataclass(frozen=True)
class Rules:
    """How an iteration is played out; by default by the rules of the cost model.

    Attributes
    ----------
    schedule
        In which order a GPU computes.
    blocking
        Whether a GPU computes nothing while it sends activations or their gradients.
    uplink
        All that leaves a site shares so many times the bandwidth of its fastest link to another site, max-min fair.
        None: links never contend.
    """

    schedule: Schedule = "gpipe"
    blocking: bool = False
    uplink: float | None = None


def simulate(
    instance: Instance,
    plan: Plan,
    rules: Rules = Rules(),
    speeds: Speeds | None = None,
) -> TimeLine:
    """The time line of a plan without `violations` (its memory apart); `speeds` replace the instance's speeds."""
    from bench.simulation.exchange import ROUNDS, run_exchange
    from bench.simulation.pipelines import Setup, Times, run_pipelines
    from bench.simulation.traffic import idle_traffic

    work = Durations.of(instance, plan, speeds)
    slots, replicas, stages = len(work.compute), work.replicas, work.stages
    shared = rules.uplink is not None
    uplink = work.uplink * (rules.uplink or 1.0)
    setup = Setup(
        stages=stages,
        micro_batches=work.count,
        order=SCHEDULES.index(rules.schedule),
        blocking=rules.blocking,
        compute=work.compute,
        message=work.message,
        bandwidth=work.bandwidth,
        latency=work.latency,
        site=work.site if shared else np.full_like(work.site, -1),
    )
    times = Times(*np.full((2, slots, 2, work.count, 2), np.nan))
    run_pipelines(setup, idle_traffic(2 * slots, uplink), times)

    exchange = np.full((stages, replicas, 2, ROUNDS, replicas - 1, 2), np.nan)
    peer_site = work.peer_site if shared else np.full_like(work.peer_site, -1)
    line = TimeLine(instance, plan, work, times.compute, times.send, exchange)
    peers = work.share, work.peer_bandwidth, work.peer_latency, peer_site
    run_exchange(line.pipeline_s, *peers, idle_traffic(2 * slots, uplink), exchange)
    return line
