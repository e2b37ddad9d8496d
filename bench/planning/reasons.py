"""A plan in words: what it uses, what limits it, why GPUs are left out, what it saves, how good it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from bench.planning.recommend import Recommendation
from bench.records.record import Result
from bench.reporting.formatting import about, percent, significant
from instances.instance import Instance
from instances.objective import Goal, parse_objective
from instances.plan import Gpu, Plan, gpu_name
from instances.referee.check import Infeasible, check
from instances.referee.evaluate import Evaluation, Pipeline, Step, evaluate
from solvers.core.interface import Status

TRIES = 200
"""Exchanges tried for each group that is left out; the referee takes some ms for each on a large pool."""


def in_words(found: Recommendation) -> list[str]:
    """A sentence or two for each question; for an answer without a plan, why there is none."""
    plan = found.plan
    if plan is None:
        return [f"No plan: {found.answer.status}. {_sentence(found.answer.reason or 'nothing was found')}"]
    cost = evaluate(found.instance, plan)
    goal = parse_objective(found.answer.objective).goal(found.answer.reference)
    return [
        _used(found.instance, plan),
        _limits(found.instance, plan, cost),
        _memory(found.instance, cost),
        *_left_out(found.instance, plan, goal, found.answer.without or ()),
        *_saved(found),
        proven(found.answer),
    ]


def proven(answer: Result) -> str:
    """How good the plan is known to be."""
    if answer.status is Status.OPTIMAL:
        return "It is proven optimal."
    if answer.gap is None:
        return "Nothing is proven about how much better a plan could be; a longer --time-limit may."
    return f"No plan is more than {percent(answer.gap)} better: that is proven; a longer --time-limit may prove more."


def _used(instance: Instance, plan: Plan) -> str:
    groups = Counter(gpu.group for row in plan.pipelines for gpu in row)
    parts = [f"{count} of {instance.groups[k].count} {instance.groups[k].name}" for k, count in sorted(groups.items())]
    pipelines = f"{plan.replicas} pipeline{'s' if plan.replicas > 1 else ''}"
    stages = f"{plan.stages} stage{'s' if plan.stages > 1 else ''}"
    return (
        f"It uses {sum(groups.values())} of {instance.gpus} GPUs ({', '.join(parts)}) as {pipelines} of {stages}, "
        f"with layers {' '.join(map(str, plan.layers))} and micro-batches of {plan.micro_batch}."
    )


def _limits(instance: Instance, plan: Plan, cost: Evaluation) -> str:
    """Where the time of an iteration goes, and what would have to be faster."""
    slowest = cost.slowest
    parts = []
    if cost.steady_s:
        ahead, back = (_step(instance, plan, slowest, s) for s in (slowest.slowest_forward, slowest.slowest_backward))
        where = ahead if ahead == back else f"forward {ahead} and backward {back}"
        parts.append(f"{about(cost.steady_s / cost.time_s)} is waiting for the slowest step, {where}")
    parts.append(f"{about(cost.fill_s / cost.time_s)} is filling and draining the pipeline")
    stage = cost.slowest_exchange
    if stage is not None:
        holders = dict.fromkeys(instance.groups[row[stage].group].name for row in plan.pipelines)
        size = significant(cost.gradient_bytes[stage] / 1e9, 3)
        parts.append(
            f"{about(cost.sync_s / cost.time_s)} is the exchange of {size} GB of gradients of stage {stage} "
            f"({', '.join(holders)})"
        )
    return f"Of the {significant(cost.time_s)} s of an iteration {'; '.join(parts)}."


def _step(instance: Instance, plan: Plan, pipeline: Pipeline, step: Step) -> str:
    row = plan.pipelines[pipeline.number]
    here = gpu_name(instance, row[step.stage])
    if step.link:
        return f"the link between {here} and {gpu_name(instance, row[step.stage + 1])}"
    return f"stage {step.stage} on {here}"


def _memory(instance: Instance, cost: Evaluation) -> str:
    fullest = max(cost.gpus, key=lambda share: share.memory / share.memory_capacity)
    return (
        f"Memory is used up to {about(fullest.memory / fullest.memory_capacity)} ({gpu_name(instance, fullest.gpu)})."
    )


def _left_out(instance: Instance, plan: Plan, goal: Goal, asked: tuple[str, ...]) -> Iterator[str]:
    """For each group with GPUs to spare: what the plan would cost with one of them in the best place for it."""
    used = {gpu for row in plan.pipelines for gpu in row}
    value = goal.value(evaluate(instance, plan))
    for k, group in enumerate(instance.groups):
        spare = [gpu for gpu in (Gpu(k, i) for i in range(group.count)) if gpu not in used]
        if not spare or any(name.partition("/")[0] == group.name for name in asked):
            continue
        others = [check(instance, other, goal) for other in islice(_exchanges(plan, spare[0]), TRIES)]
        values = [goal.value(other) for other in others if not isinstance(other, Infeasible)]
        what = f"{len(spare)} of {group.count} {group.name}" if len(spare) < group.count else f"all {group.name}"
        if values:
            change = min(values) / value - 1
            verdict = f"{about(abs(change))} {'worse' if change >= 0 else 'better: search longer'}"
            yield f"Left out: {what}; with one of them in the best place for it the plan would be {verdict}."
        elif others:
            yield f"Left out: {what}; in no stage of this plan is one of them feasible: {_commonest(others)}."
        else:
            yield f"Left out: {what}; every stage has GPUs of that kind already."


def _exchanges(plan: Plan, spare: Gpu) -> Iterator[Plan]:
    """The plan with a spare GPU in each place that differs from those before; GPUs of its own group are its equals."""
    seen = set()
    for r, row in enumerate(plan.pipelines):
        for s, gpu in enumerate(row):
            neighbours = tuple(other.group for other in row[max(0, s - 1) : s + 2])
            if gpu.group == spare.group or (s, neighbours) in seen:
                continue
            seen.add((s, neighbours))
            changed = [list(each) for each in plan.pipelines]
            changed[r][s] = spare
            yield replace(plan, pipelines=tuple(map(tuple, changed)))


def _commonest(others: list[Evaluation | Infeasible]) -> str:
    reasons = Counter(other.reasons[0] for other in others if isinstance(other, Infeasible))
    return reasons.most_common(1)[0][0]


def _saved(found: Recommendation) -> Iterator[str]:
    answer = found.answer
    if answer.time_s is None or answer.energy_j is None:
        return
    for solver, other in found.baselines.items():
        if other.time_s is None or other.energy_j is None:
            yield f"`{solver}` finds no plan to compare with."
            continue
        time, energy = 1 - answer.time_s / other.time_s, 1 - answer.energy_j / other.energy_j
        parts = [
            f"{about(abs(share))} {'less' if share >= 0 else 'more'} {what}"
            for share, what in ((time, "time"), (energy, "energy"))
        ]
        yield f"Against the plan of `{solver}` ({significant(other.time_s)} s) it takes {' and '.join(parts)}."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
