"""What a plan's picture says, and where everything goes, in inches from the upper left corner."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from bench.reporting.formatting import joules, seconds
from instances.instance import Instance
from instances.plan import Plan
from instances.referee.evaluate import Evaluation, Step, evaluate

MOST_BOXES = 64
"""Beyond so many GPUs the slowest pipelines stand for all of them."""
ACROSS = 8
"""Boxes in a line."""
WIDTH, BOX_HEIGHT, LINK_WIDTH, LINE_HEIGHT = 1.35, 0.84, 0.66, 1.24
MARGIN, TOP = 0.25, 1.5
LEAST_WIDTH = 8.5


@dataclass(frozen=True)
class Box:
    """One stage of one pipeline, at `x` and `y`."""

    pipeline: int
    stage: int
    x: float
    y: float


@dataclass(frozen=True)
class Sheet:
    """A picture: its boxes, how wide they are together and where they end, and the words below them."""

    instance: Instance
    plan: Plan
    evaluation: Evaluation
    boxes: tuple[Box, ...]
    width: float
    below: float
    notes: tuple[str, ...]

    @property
    def kinds(self) -> list[str]:
        """What the boxes' colours tell apart: the regions, or the GPU types where there is one region."""
        used = sorted({self.plan.groups[box.pipeline][box.stage] for box in self.boxes})
        return list(dict.fromkeys(self.kind(group) for group in used))

    def kind(self, group: int) -> str:
        """Region, or GPU type, of a group."""
        several = len({group.region for group in self.instance.groups}) > 1
        return self.instance.groups[group].region if several else self.instance.groups[group].gpu


def sheet_of(instance: Instance, plan: Plan) -> Sheet:
    """Lay out a feasible plan."""
    found = evaluate(instance, plan)
    stages = _shown_stages(plan, found)
    pipelines = _shown_pipelines(found, len(stages))
    boxes = tuple(_boxes(pipelines, stages))
    width = max(LEAST_WIDTH, max(box.x for box in boxes) + WIDTH + LINK_WIDTH * (len(stages) > ACROSS) + MARGIN)
    notes = []
    if len(pipelines) < plan.replicas:
        rest = [pipeline.seconds for pipeline in found.pipelines if pipeline.number not in pipelines]
        notes.append(
            f"Not drawn: {len(rest)} more of the {plan.replicas} pipelines, with {len(rest) * plan.stages} GPUs, "
            f"none of them slower: {seconds(min(rest))} to {seconds(max(rest))}."
        )
    if len(stages) < plan.stages:
        notes.append(f"Not drawn: {plan.stages - len(stages)} of the {plan.stages} stages, where the numbers jump.")
    notes += [*bottlenecks(found), left_out(instance, plan)]
    letters = int((width - 2 * MARGIN) * 72 / (0.58 * 8))
    lines = [line for note in notes for line in textwrap.wrap(note, letters, max_lines=6, placeholder=" and more.")]
    return Sheet(instance, plan, found, boxes, width, boxes[-1].y + LINE_HEIGHT, tuple(lines))


def _shown_stages(plan: Plan, found: Evaluation) -> list[int]:
    """All stages, or, of very deep pipelines, both ends and what holds the plan up."""
    stages = range(plan.stages)
    if plan.stages <= MOST_BOXES:
        return list(stages)
    slow = [found.slowest.slowest_forward.stage, found.slowest.slowest_backward.stage, found.slowest_exchange]
    keep = {stage + more for stage in slow if stage is not None for more in (0, 1)}
    ends = (MOST_BOXES - len(keep)) // 2
    return sorted((keep & set(stages)) | set(stages[:ends]) | set(stages[-ends:]))


def _shown_pipelines(found: Evaluation, stages: int) -> list[int]:
    """All pipelines, or as many of the slowest as there is room for."""
    by_time = sorted(found.pipelines, key=lambda pipeline: -pipeline.seconds)
    return sorted(pipeline.number for pipeline in by_time[: max(1, MOST_BOXES // stages)])


def _boxes(pipelines: list[int], stages: list[int]) -> Iterator[Box]:
    """Boxes line by line: a deep pipeline takes several lines, short ones stand side by side if they are many."""
    lines = ceil(len(stages) / ACROSS)
    per_line = ceil(len(stages) / lines)
    beside = max(1, ACROSS // len(stages)) if len(pipelines) * lines > 6 else 1
    for place, pipeline in enumerate(pipelines):
        for position, stage in enumerate(stages):
            column = place % beside * len(stages) + position % per_line
            line = place // beside * lines + position // per_line
            yield Box(pipeline, stage, MARGIN + column * (WIDTH + LINK_WIDTH), TOP + line * LINE_HEIGHT)


def headline(instance: Instance, plan: Plan, found: Evaluation) -> tuple[str, str]:
    """Title and subtitle."""
    shape = f"{_count(plan.replicas, 'pipeline')} of {_count(plan.stages, 'stage')}"
    batches = f"{_count(found.micro_batch_count, 'micro-batch', 'es')} of {plan.micro_batch}"
    return instance.name, (
        f"{shape}, {batches} each; {seconds(found.time_s)} and {joules(found.energy_j)} an iteration"
    )


def bottlenecks(found: Evaluation) -> list[str]:
    """What holds the plan up, as sentences."""
    slowest = found.slowest
    forward, backward = slowest.slowest_forward, slowest.slowest_backward
    which = f"Pipeline {slowest.number} is the slowest. Its slowest" if len(found.pipelines) > 1 else "The slowest"
    sentences = [
        f"{which} steps: forward {_step(forward)}, "
        f"{seconds(forward.forward_s)}; backward {_step(backward, back=True)}, {seconds(backward.backward_s)}."
    ]
    if found.slowest_exchange is not None:
        sentences.append(f"The gradient exchange waits for stage {found.slowest_exchange}, {seconds(found.sync_s)}.")
    return sentences


def _step(step: Step, back: bool = False) -> str:
    if not step.link:
        return f"stage {step.stage}"
    ends = (step.stage + 1, step.stage) if back else (step.stage, step.stage + 1)
    return f"the link from stage {ends[0]} to {ends[1]}"


def left_out(instance: Instance, plan: Plan) -> str:
    """The GPUs that the plan does not use, by group."""
    used = {gpu for row in plan.pipelines for gpu in row}
    spare = {
        group.name: [number for number in range(group.count) if (k, number) not in used]
        for k, group in enumerate(instance.groups)
    }
    names = [f"{name}/{_ranges(numbers)}" for name, numbers in spare.items() if numbers]
    if not names:
        return f"All {instance.gpus} GPUs are used."
    return f"Left out, {instance.gpus - len(used)} of {instance.gpus} GPUs: {', '.join(names)}."


def _ranges(numbers: list[int]) -> str:
    """`0+2-5` for 0, 2, 3, 4, 5; the numbers rise, and those of a run lie as far above their places."""
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    return "+".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def folded(name: str, most: int, lines: int = 3) -> list[str]:
    """A name in lines of `most` characters, broken after a dash or blank where that helps; too long, it loses some."""
    found: list[str] = []
    while len(name) > most and len(found) < lines - 1:
        cut = max(name.rfind(mark, 0, most) for mark in "- ") + 1
        cut = cut if cut > most // 4 else most
        found.append(name[:cut])
        name = name[cut:]
    return [*found, name if len(name) <= most else "…" + name[1 - most :]]


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{plural if number != 1 else ''}"
