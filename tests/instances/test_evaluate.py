"""The referee against arithmetic by hand, against a simulated schedule, and against itself added up."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from math import fsum

import pytest

from instances.files import read_plan
from instances.instance import Instance
from instances.plan import Gpu, Plan
from instances.rates import Rates
from instances.referee.evaluate import evaluate, gradient_bytes, stage_seconds
from instances.referee.violations import violations
from instances.workload import Workload
from tests.cases import CLOSE, DATA
from tests.editing import DROP, HAND, changed, hand_instance
from tests.random_plans import drawn

SEEDS = range(120)


def compute_seconds(instance: Instance, plan: Plan, group: int, stage: int) -> tuple[float, float]:
    """Forward and backward seconds of one micro-batch on a GPU of `group` in `stage`."""
    work, last = Workload.of(instance.model, instance.training), stage == plan.stages - 1
    return stage_seconds(work, instance.groups[group], plan.micro_batch, plan.layers[stage], last)


def close(expected: float) -> object:
    return pytest.approx(expected, rel=CLOSE, abs=1e-12)


def test_counts_worked_by_hand() -> None:
    """A model of 2 blocks: hidden 10, 1 head, feed-forward 30, vocabulary 100, sequences of 50 tokens.

    parameters of a block      10*10*(2 + 2) + 2*10*30            =   1 000
    of an embedding            100*10                             =   1 000
    forward FLOP of a block    2*50*1000 + 4*50*50*10             = 200 000
    of the head                2*50*10*100                        = 100 000
    message between stages     2*50*10                            =   1 000 bytes
    attention core             5*50*50*1                          =  12 500 bytes
    stash of a block           50*(10*(14 + 4) + 2*2*30) + 12500  =  27 500 bytes
    logits                     4*50*100                           =  20 000 bytes
    """
    instance = hand_instance()
    work = Workload.of(instance.model, instance.training)
    assert work.block_parameters == 1000
    assert work.embedding_parameters == 1000
    assert work.block_forward_flops == 200_000
    assert work.head_forward_flops == 100_000
    assert work.backward_factor == 2
    assert work.message_bytes == work.head_input_bytes == 1000
    assert work.stash_bytes == 27_500
    assert work.working_bytes == 0
    assert work.logits_bytes == 20_000


@pytest.mark.parametrize(
    ("recompute", "factor", "stash", "working"),
    [
        ("none", 2.0, 27_500, 0),  # everything is kept
        ("selective", 2.5, 15_000, 12_500),  # 4*50*50*10 / 200000 = 0.5 to redo the core, 27500 - 12500 kept
        ("full", 3.0, 1000, 27_500),  # only the block's input is kept
    ],
)
def test_recomputing_trades_memory_for_time(recompute: str, factor: float, stash: int, working: int) -> None:
    instance = hand_instance()
    work = Workload.of(instance.model, instance.training.model_copy(update={"recompute": recompute}))
    assert (work.backward_factor, work.stash_bytes, work.working_bytes) == (factor, stash, working)


def test_one_pipeline_of_two_stages_worked_by_hand() -> None:
    """GPU a (1 MFLOP/s) holds block 1, GPU b (2 MFLOP/s) block 2 and the head; 4 micro-batches of 1 sequence.

    forward    on a  200 000 / 1 M                    = 0.2 s     on b  (200 000 + 100 000) / 2 M      = 0.15 s
    backward   on a  2 * 200 000 / 1 M                = 0.4 s     on b  (2 * 200 000 + 3 * 100 000) / 2 M = 0.35 s
    send       a to b  1000 / 10 000                  = 0.1 s     b to a  1000 / 2000                  = 0.5 s
    latency    0.05 s each way

    fill       0.2 + 0.15 + 0.4 + 0.35 + 0.1 + 0.5 + 0.05 + 0.05  = 1.8 s
    steady     3 * (0.2 + 0.5): a's forward and the way back are the slowest steps  = 2.1 s
    time       1.8 + 2.1, and no gradients to exchange            = 3.9 s

    energy     a is busy 4 * (0.2 + 0.4) = 2.4 s:    100 W * 2.4 s + 10 W * 1.5 s  = 255 J
               b is busy 4 * (0.15 + 0.35) = 2.0 s:  200 W * 2.0 s + 20 W * 1.9 s  = 438 J
               4000 bytes there and 4000 back:       4000 * 0.001 + 4000 * 0.002   =  12 J
               together                                                              705 J

    memory     a  16 * (1000 + 1000) + 4 * 27 500                       = 142 000 bytes
               b  16 * (1000 + 1000) + 4 * 27 500 + 4 * 1000 + 20 000   = 166 000 bytes
    """
    instance = hand_instance()
    found = evaluate(instance, read_plan(DATA / "hand-plan.json", instance))
    assert found.micro_batch_count == 4
    assert found.fill_s == close(1.8)
    assert found.steady_s == close(2.1)
    assert found.pipeline_s == close(3.9)
    assert found.sync_s == 0
    assert found.time_s == close(3.9)
    assert found.energy_j == close(705)
    assert found.network_energy_j == close(12)
    assert found.tokens_per_s == close(4 * 50 / 3.9)
    a, b = found.gpus
    assert (a.gpu, a.busy_s, a.idle_s, a.energy_j, a.memory) == (Gpu(0, 0), close(2.4), close(1.5), close(255), 142_000)
    assert (b.gpu, b.busy_s, b.idle_s, b.energy_j, b.memory) == (Gpu(1, 0), close(2.0), close(1.9), close(438), 166_000)
    assert a.memory_capacity == b.memory_capacity == 200_000
    assert (found.carbon_g, found.cost_usd) == (None, None)


def test_two_pipelines_of_one_stage_worked_by_hand() -> None:
    """Both GPUs hold the whole model, so each does 2 micro-batches and the gradients are exchanged.

    on a       forward (2 * 200 000 + 100 000) / 1 M = 0.5 s, backward (2 * 400 000 + 300 000) / 1 M = 1.1 s
    on b       half of that: 0.25 s and 0.55 s
    pipelines  a: 2 * 1.6 = 3.2 s, b: 2 * 0.8 = 1.6 s; the slower counts    = 3.2 s

    gradient   2 bytes * (2 * 1000 + 2 * 1000)                              = 8000 bytes, a half from each
               a to b 0.05 + 4000 / 10 000 = 0.45 s, b to a 0.05 + 4000 / 2000 = 2.05 s
               two rounds of the slower way                                 = 4.1 s
    time       3.2 + 4.1                                                    = 7.3 s

    energy     a: 100 W * 3.2 s + 10 W * 4.1 s                              = 361 J
               b: 200 W * 1.6 s + 20 W * 5.7 s                              = 434 J
               2 * 4000 bytes each way: 8000 * 0.001 + 8000 * 0.002         =  24 J
               together                                                       819 J

    memory     16 * 4000 + 2 * 2 * 27 500 + 2 * 1000 + 20 000               = 196 000 bytes on each
    """
    instance = hand_instance()
    found = evaluate(instance, Plan(1, (2,), ((Gpu(0, 0),), (Gpu(1, 0),))))
    assert (found.fill_s, found.steady_s, found.pipeline_s) == (close(1.6), close(1.6), close(3.2))
    assert (found.sync_s, found.time_s) == (close(4.1), close(7.3))
    assert [share.energy_j for share in found.gpus] == [close(361), close(434)]
    assert (found.network_energy_j, found.energy_j) == (close(24), close(819))
    assert [share.memory for share in found.gpus] == [196_000, 196_000]


def test_the_slowest_pipeline_is_the_one_that_ends_last_and_not_the_one_that_fills_last() -> None:
    """Two pipelines of 4 micro-batches: a to b over a far link, and two GPUs c (0.25 MFLOP/s) side by side.

    a to b   1.8 s as above, with 3 s instead of 0.05 s each way 7.7 s to fill, and 2.1 s steady   =  9.8 s
    c to c   0.8 + 1.2 forward and 1.6 + 2.8 backward to fill, and 3 * (1.2 + 2.8) steady          = 18.4 s
    """
    far, near = 3.0, 1e12
    slow = {**HAND["groups"][0], "name": "c", "count": 2, "flops": 250_000, "memory": 1e9}
    changes = {
        "groups": [*HAND["groups"], slow],
        "training.global_batch": 8,
        "network.latency": [[0, far, 0], [far, 0, 0], [0, 0, 0]],
        "network.bandwidth": [[10_000, 10_000, near], [2000, 10_000, near], [near, near, near]],
        "network.energy_per_byte": DROP,
    }
    instance = changed(hand_instance(), changes)
    found = evaluate(instance, Plan(1, (1, 1), ((Gpu(0, 0), Gpu(1, 0)), (Gpu(2, 0), Gpu(2, 1)))))
    assert (found.fill_s, found.steady_s, found.pipeline_s) == (close(6.4), close(12.0), close(18.4))


def test_tied_embeddings_are_held_once_by_a_single_stage_and_twice_by_two() -> None:
    instance = hand_instance()
    tied = instance.model_copy(update={"model": instance.model.model_copy(update={"tied_embeddings": True})})
    single, double = Plan(1, (2,), ((Gpu(0, 0),),)), Plan(1, (1, 1), ((Gpu(0, 0), Gpu(1, 0)),))
    assert gradient_bytes(instance, single)[0] - gradient_bytes(tied, single)[0] == 2 * 1000
    assert [gradient_bytes(tied, double)[stage] for stage in (0, 1)] == [2 * 2000, 2 * 2000]


def test_half_of_the_peak_is_reached_at_the_half_batch() -> None:
    instance = hand_instance()
    half = instance.groups[0].model_copy(update={"half_batch": 1.0})
    slower = instance.model_copy(update={"groups": (half, instance.groups[1])})
    plan = read_plan(DATA / "hand-plan.json", instance)
    assert compute_seconds(slower, plan, 0, 0) == (close(2 * 0.2), close(2 * 0.4))
    assert compute_seconds(slower, plan, 1, 1) == (close(0.15), close(0.35))


def test_an_infeasible_plan_has_no_cost() -> None:
    instance = hand_instance()
    with pytest.raises(ValueError, match="the stages hold 3 layers, the model has 2"):
        evaluate(instance, Plan(1, (2, 1), ((Gpu(0, 0), Gpu(1, 0)),)))


def test_a_figure_that_the_sites_do_not_give_is_an_error() -> None:
    instance = hand_instance()
    found = evaluate(instance, read_plan(DATA / "hand-plan.json", instance))
    with pytest.raises(ValueError, match="carbon"):
        found.energy_as("carbon")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_parts_add_up(seed: int) -> None:
    instance, plan = drawn(seed)
    found = evaluate(instance, plan)
    assert found.pipeline_s == close(found.fill_s + found.steady_s)
    assert found.time_s == close(found.pipeline_s + found.sync_s)
    assert found.energy_j == close(fsum(share.energy_j for share in found.gpus) + found.network_energy_j)
    for share in found.gpus:
        assert share.busy_s + share.idle_s == close(found.time_s)
        assert min(share.busy_s, share.idle_s) >= 0
    assert [pipeline.number for pipeline in found.pipelines] == list(range(plan.replicas))
    for pipeline, row in zip(found.pipelines, plan.groups, strict=True):
        assert [step.stage for step in pipeline.steps if not step.link] == list(range(len(row)))
        slowest = max(step.forward_s for step in pipeline.steps) + max(step.backward_s for step in pipeline.steps)
        assert pipeline.steady_s == close((found.micro_batch_count - 1) * slowest)
        assert pipeline.slowest_forward.forward_s + pipeline.slowest_backward.backward_s == slowest
    assert found.slowest.seconds == found.pipeline_s == max(pipeline.seconds for pipeline in found.pipelines)
    assert len(found.exchange_s) == len(found.gradient_bytes) == plan.stages
    assert found.sync_s == max(found.exchange_s)
    assert (found.slowest_exchange is None) == (found.sync_s == 0)
    assert sorted(share.gpu for share in found.gpus) == sorted(gpu for row in plan.pipelines for gpu in row)


def run_schedule(instance: Instance, plan: Plan, row: tuple[int, ...]) -> float:
    """Seconds until one pipeline has finished, machine by machine and micro-batch by micro-batch.

    Every GPU and every directed link is a machine that serves jobs first come, first served; latency
    delays a message after its send and keeps nobody busy.
    """
    free: dict[object, float] = defaultdict(float)  # when a machine can take its next job

    def serve(machine: object, ready: float, seconds: float) -> float:
        start = max(ready, free[machine])
        free[machine] = start + seconds
        return free[machine]

    message = 2 * instance.model.sequence * instance.model.hidden * plan.micro_batch
    count = instance.training.global_batch // (plan.replicas * plan.micro_batch)
    compute = [compute_seconds(instance, plan, group, stage) for stage, group in enumerate(row)]

    def forwards() -> None:
        at = 0.0
        for stage, group in enumerate(row):
            at = serve(stage, at, compute[stage][0])
            if stage + 1 < len(row):
                there = row[stage + 1]
                sent = serve(("link", stage, stage + 1), at, message / instance.network.bandwidth[group][there])
                at = sent + instance.network.latency[group][there]

    def backwards() -> float:
        at = free[len(row) - 1]  # the last stage turns round when its last forward has ended
        for stage in reversed(range(len(row))):
            at = serve(stage, at, compute[stage][1])
            if stage > 0:
                there = row[stage - 1]
                sent = serve(("link", stage, stage - 1), at, message / instance.network.bandwidth[row[stage]][there])
                at = sent + instance.network.latency[row[stage]][there]
        return at

    # Served in rising order of micro-batch, a first-in-first-out machine meets its jobs as they arrive.
    for _ in range(count):
        forwards()
    return max(backwards() for _ in range(count))


@pytest.mark.parametrize("seed", SEEDS)
def test_pipeline_seconds_are_those_of_the_simulated_schedule(seed: int) -> None:
    instance, plan = drawn(seed)
    found = evaluate(instance, plan)
    assert found.pipeline_s == close(max(run_schedule(instance, plan, row) for row in plan.groups))


@pytest.mark.parametrize("seed", SEEDS)
def test_exchange_seconds_are_those_of_every_transfer_queued_at_its_two_ports(seed: int) -> None:
    instance, plan = drawn(seed)
    slowest = 0.0
    for stage in range(plan.stages):
        holders = [row[stage] for row in plan.groups]
        share = gradient_bytes(instance, plan)[stage] / plan.replicas
        queue: dict[tuple[str, int], float] = defaultdict(float)  # seconds of work at each port
        for sender, k in enumerate(holders):
            for receiver, j in enumerate(holders):
                if sender != receiver:
                    seconds = instance.network.latency[k][j] + share / instance.network.bandwidth[k][j]
                    queue["out", sender] += seconds
                    queue["in", receiver] += seconds
        slowest = max([slowest, *(2 * seconds for seconds in queue.values())])
    assert evaluate(instance, plan).sync_s == close(slowest)


@pytest.mark.parametrize("seed", SEEDS)
def test_energy_is_idle_power_all_the_time_and_the_rest_while_busy(seed: int) -> None:
    """All GPUs wait for the whole iteration, then the extra power of work is added, then every byte sent."""
    instance, plan = drawn(seed)
    found = evaluate(instance, plan)
    count, size = found.micro_batch_count, plan.micro_batch
    for figure in ("energy", "carbon", "cost"):
        rates = Rates.of(instance, figure)
        waiting = [rates.idle[group] * found.time_s for row in plan.groups for group in row]
        extra = [
            (rates.active[group] - rates.idle[group]) * count * seconds
            for row in plan.groups
            for stage, group in enumerate(row)
            for seconds in compute_seconds(instance, plan, group, stage)
        ]
        message = 2 * instance.model.sequence * instance.model.hidden * size
        links = [
            count * message * (rates.per_byte[k][j] + rates.per_byte[j][k])
            for row in plan.groups
            for k, j in pairwise(row)
        ]
        gradients = [
            2 * gradient_bytes(instance, plan)[stage] / plan.replicas * rates.per_byte[row[stage]][other[stage]]
            for stage in range(plan.stages)
            for row_number, row in enumerate(plan.groups)
            for other_number, other in enumerate(plan.groups)
            if row_number != other_number
        ]
        assert found.energy_as(figure) == close(fsum(waiting + extra + links + gradients))


def test_the_random_plans_reach_every_shape() -> None:
    plans = [drawn(seed)[1] for seed in SEEDS]
    assert all(not violations(*drawn(seed)) for seed in SEEDS)
    assert sum(plan.replicas > 1 and plan.stages > 1 for plan in plans) > 10
    assert sum(plan.stages > 2 for plan in plans) > 10
    assert sum(plan.replicas > 2 for plan in plans) > 5


@pytest.mark.parametrize(("replicas", "period"), [(64, 1), (60, 7), (37, 2)])
def test_transfers_counted_by_group_are_those_listed_one_by_one(replicas: int, period: int) -> None:
    """Pipelines of one stage on GPUs of two groups in turns: every ordered pair of them exchanges, to the last bit."""
    many = {"groups.0.count": replicas, "groups.1.count": replicas, "groups.0.memory": 1e12, "groups.1.memory": 1e12}
    instance = changed(hand_instance(), {**many, "training.global_batch": replicas})
    holders = [int(r % period == 0) for r in range(replicas)]
    found = evaluate(instance, Plan.from_groups(1, (2,), [[k] for k in holders]))
    share = found.gradient_bytes[0] / replicas
    network = instance.network
    pairs = [(k, j) for r, k in enumerate(holders) for s, j in enumerate(holders) if r != s]
    ports = [
        fsum(network.latency[k][j] + share / network.bandwidth[k][j] for k, j in ends)
        for r, own in enumerate(holders)
        for ends in (
            [(own, j) for s, j in enumerate(holders) if r != s],
            [(j, own) for s, j in enumerate(holders) if r != s],
        )
    ]
    assert found.sync_s == 2 * max(ports)
    assert network.energy_per_byte is not None
    size = 2 * found.gradient_bytes[0] / replicas
    assert found.network_energy_j == fsum(network.energy_per_byte[k][j] * size for k, j in pairs)
