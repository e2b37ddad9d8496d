"""What a plan's picture says, and where everything goes, in inches from the upper left corner."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from math import ceil

from bench.reporting.formatting import joules, seconds, share_of
from instances.instance import Instance
from instances.plan import Plan
from instances.referee.evaluate import Evaluation, Step, evaluate

MOST_BOXES = 64
"""Beyond so many GPUs the slowest pipelines stand for all of them."""
ACROSS = 8
"""Boxes in a line."""
BOX_HEIGHT, LINK_WIDTH, LINE_HEIGHT = 0.84, 0.66, 1.24
NARROW, WIDE = 1.0, 1.35
MARGIN, TOP = 0.25, 1.5
LEAST_WIDTH = 8.5
NOTE_HEIGHT = 0.17
SMALL = 7.0  # points


@dataclass(frozen=True)
class Box:
    """One stage of one pipeline; `follows` says which stage comes before it in the picture."""

    pipeline: int
    stage: int
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Sheet:
    """A picture: its size, its boxes and its words."""

    instance: Instance
    plan: Plan
    evaluation: Evaluation
    width: float
    below: float  # where the boxes end
    boxes: tuple[Box, ...]
    notes: tuple[str, ...]

    @property
    def height(self) -> float:
        """Of the whole picture."""
        entries = len(self.kinds) + 1 + (self.plan.stages > 1) + (self.evaluation.slowest_exchange is not None)
        return self.below + 0.19 * ceil(entries / self.names_across) + 0.1 + NOTE_HEIGHT * len(self.notes) + MARGIN

    @property
    def names_across(self) -> int:
        """Entries of the legend that stand side by side."""
        return max(1, int((self.width - 2 * MARGIN) // 1.8))

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
    stages, hidden_stages = _shown_stages(plan, found)
    pipelines = _shown_pipelines(plan, found, len(stages))
    boxes, below = _boxes(plan, pipelines, stages)
    width = max(LEAST_WIDTH, max(box.x + box.width for box in boxes) + LINK_WIDTH * (len(stages) > ACROSS) + MARGIN)
    notes = []
    if len(pipelines) < plan.replicas:
        rest = [pipeline.seconds for pipeline in found.pipelines if pipeline.number not in pipelines]
        notes.append(
            f"Not drawn: {len(rest)} more of the {plan.replicas} pipelines, with {len(rest) * plan.stages} GPUs, "
            f"none of them slower: {seconds(min(rest))} to {seconds(max(rest))}."
        )
    if hidden_stages:
        notes.append(f"Not drawn: {hidden_stages} of the {plan.stages} stages, where the numbers jump.")
    notes += [*bottlenecks(found), left_out(instance, plan)]
    lines = [line for note in notes for line in _wrapped(note, width)]
    return Sheet(instance, plan, found, width, below, boxes, tuple(lines))


def _shown_stages(plan: Plan, found: Evaluation) -> tuple[list[int], int]:
    """All stages, or, of very deep pipelines, both ends and what holds the plan up."""
    stages = range(plan.stages)
    if plan.stages <= MOST_BOXES:
        return list(stages), 0
    slow = [found.slowest.slowest_forward.stage, found.slowest.slowest_backward.stage, found.slowest_exchange]
    keep = {stage + more for stage in slow if stage is not None for more in (0, 1)}
    ends = (MOST_BOXES - len(keep)) // 2
    shown = sorted((keep & set(stages)) | set(stages[:ends]) | set(stages[-ends:]))
    return shown, plan.stages - len(shown)


def _shown_pipelines(plan: Plan, found: Evaluation, stages: int) -> list[int]:
    """All pipelines, or as many of the slowest as there is room for."""
    room = max(1, MOST_BOXES // stages)
    by_time = sorted(found.pipelines, key=lambda pipeline: -pipeline.seconds)
    return sorted(pipeline.number for pipeline in by_time[:room])


def _boxes(plan: Plan, pipelines: list[int], stages: list[int]) -> tuple[tuple[Box, ...], float]:
    """Boxes line by line: a deep pipeline takes several lines, short ones stand side by side if they are many."""
    largest = max(plan.layers)
    lines = ceil(len(stages) / ACROSS)
    per_line = ceil(len(stages) / lines)
    beside = max(1, ACROSS // len(stages)) if len(pipelines) * lines > 6 else 1
    boxes, y, x = [], TOP, MARGIN
    for place, pipeline in enumerate(pipelines):
        if place % beside == 0:
            x, y = MARGIN, y + LINE_HEIGHT * (place > 0)
        for position, stage in enumerate(stages):
            if position and position % per_line == 0:
                x, y = MARGIN, y + LINE_HEIGHT
            width = NARROW + (WIDE - NARROW) * plan.layers[stage] / largest
            boxes.append(Box(pipeline, stage, x, y, width))
            x += width + LINK_WIDTH
    return tuple(boxes), y + LINE_HEIGHT


def _wrapped(text: str, width: float, most: int = 6) -> list[str]:
    lines = textwrap.wrap(text, int((width - 2 * MARGIN) * 72 / (0.58 * 8)))
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1] + " and more."]


def headline(instance: Instance, plan: Plan, found: Evaluation) -> tuple[str, str]:
    """Title and subtitle."""
    shape = f"{_count(plan.replicas, 'pipeline')} of {_count(plan.stages, 'stage')}"
    batches = f"{_count(found.micro_batch_count, 'micro-batch', 'es')} of {plan.micro_batch}"
    return instance.name, (
        f"{shape}, {batches} each; {seconds(found.time_s)} and {joules(found.energy_j)} an iteration"
    )


def shares(found: Evaluation) -> list[tuple[str, float, str]]:
    """The parts of an iteration: name, seconds and words."""
    named = (("fill", found.fill_s), ("steady", found.steady_s), ("gradient exchange", found.sync_s))
    return [(name, part, f"{name} {seconds(part)} ({share_of(part, found.time_s)})") for name, part in named]


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
    """`0, 2-5` for 0, 2, 3, 4, 5; the numbers rise."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
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
