"""The links of a plan's picture, and the marks of what holds its slowest pipeline up."""

from __future__ import annotations

from math import log

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bench.reporting.plots.plan_sheet import BOX_HEIGHT, LINK_WIDTH, Box, Sheet
from bench.reporting.plots.plan_words import rate, seconds
from bench.reporting.plots.style import ALARM
from instances.referee.evaluate import Pipeline, Step


def draw_link(sheet: Sheet, box: Box, widths: dict[tuple[int, int], float], ax: Axes) -> None:
    here, there = (sheet.plan.groups[box.pipeline][stage] for stage in (box.stage, box.stage + 1))
    network = sheet.instance.network
    marks = marks_of(sheet.evaluation.slowest, box, link=True)
    x, y = box.x + box.width, box.y + BOX_HEIGHT / 2
    ax.add_line(
        Line2D(
            (x + 0.04, x + LINK_WIDTH - 0.04),
            (y, y),
            linewidth=widths[here, there],
            color=ALARM if marks else "0.35",
            solid_capstyle="butt",
            gid="link",
        )
    )
    latency = max(network.latency[here][there], network.latency[there][here])
    bandwidth = min(network.bandwidth[here][there], network.bandwidth[there][here])
    ax.text(x + LINK_WIDTH / 2, y - 0.07, seconds(latency), fontsize=6.5, ha="center", va="bottom")
    ax.text(x + LINK_WIDTH / 2, y + 0.08, rate(bandwidth), fontsize=6.5, ha="center", va="top")
    if marks:
        draw_mark(marks, x + LINK_WIDTH / 2, y + 0.31, ax, "\n")


def marks_of(pipeline: Pipeline, box: Box, link: bool) -> list[str]:
    """Whether this stage or link holds up the slowest pipeline, and in which direction."""
    if box.pipeline != pipeline.number:
        return []

    def here(step: Step) -> bool:
        return (step.stage, step.link) == (box.stage, link)

    slow = {"forward": here(pipeline.slowest_forward), "backward": here(pipeline.slowest_backward)}
    return [direction for direction, held_up in slow.items() if held_up]


def draw_mark(directions: list[str], x: float, y: float, ax: Axes, between: str = " ") -> None:
    words = f"slowest{between}{'step' if len(directions) > 1 else directions[0]}"
    ax.text(x, y, words, fontsize=7, color=ALARM, fontweight="bold", ha="center", va="center", gid="mark")


def link_widths(sheet: Sheet) -> dict[tuple[int, int], float]:
    """Points by pair of groups: the longer a message is under way, the thicker, on a logarithmic scale."""
    times, latency = {}, sheet.instance.network.latency
    for pipeline in sheet.evaluation.pipelines:
        row = sheet.plan.groups[pipeline.number]
        for step in pipeline.steps:
            if step.link:
                pair = row[step.stage], row[step.stage + 1]
                times[pair] = step.forward_s + step.backward_s + latency[pair[0]][pair[1]] + latency[pair[1]][pair[0]]
    if not times:
        return {}
    least, most = min(times.values()), max(times.values())
    span = log(most / least)
    return {pair: 1.5 if span < 0.01 else 1 + 5 * log(time / least) / span for pair, time in times.items()}
