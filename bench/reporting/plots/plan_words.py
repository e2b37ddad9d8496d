"""The words of a plan's picture: what holds it up, what it leaves out, and numbers in units that suit them."""

from __future__ import annotations

from bench.reporting.formatting import significant
from instances.instance import Instance
from instances.plan import Plan
from instances.referee.evaluate import Evaluation, Step


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


def seconds(value: float) -> str:
    """A duration, in the unit that suits it."""
    if value == 0 or value >= 1:
        return f"{significant(value, 3)} s"
    return f"{significant(1e3 * value, 3)} ms" if value >= 1e-3 else f"{significant(1e6 * value, 3)} µs"


def joules(value: float) -> str:
    """An energy, in the unit that suits it."""
    for size, unit in ((1e6, "MJ"), (1e3, "kJ")):
        if value >= size:
            return f"{significant(value / size, 4)} {unit}"
    return f"{significant(value, 4)} J"


def share_of(part: float, whole: float) -> str:
    """A share in whole per cent; what is not zero is not written as zero."""
    return "<1 %" if 0 < part < whole / 200 else f"{100 * part / whole:.0f} %"


def rate(bytes_per_s: float) -> str:
    """A bandwidth, in the unit that suits it."""
    for size, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if bytes_per_s >= size:
            return f"{significant(bytes_per_s / size, 3)} {unit}"
    return f"{significant(bytes_per_s, 3)} B/s"


def folded(name: str, most: int, lines: int = 3) -> list[str]:
    """A name in lines of `most` characters, broken after a dash or blank where that helps; too long, it loses some."""
    found: list[str] = []
    while len(name) > most and len(found) < lines - 1:
        cut = max(name.rfind(mark, 0, most) for mark in "- ") + 1
        cut = cut if cut > most // 4 else most
        found.append(name[:cut])
        name = name[cut:]
    return [*found, name if len(name) <= most else "…" + name[1 - most :]]


def _step(step: Step, back: bool = False) -> str:
    if not step.link:
        return f"stage {step.stage}"
    ends = (step.stage + 1, step.stage) if back else (step.stage, step.stage + 1)
    return f"the link from stage {ends[0]} to {ends[1]}"


def _ranges(numbers: list[int]) -> str:
    """`0, 2-5` for 0, 2, 3, 4, 5; the numbers rise."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return "+".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{plural if number != 1 else ''}"
