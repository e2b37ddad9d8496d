"""A picture of one plan: who does what, what is slow, where the time goes and which GPUs are left out."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from bench.reporting.formatting import rate, seconds, share_of
from bench.reporting.plots.plan_sheet import (
    BOX_HEIGHT,
    LINK_WIDTH,
    MARGIN,
    WIDTH,
    Box,
    Sheet,
    folded,
    headline,
    sheet_of,
)
from bench.reporting.plots.style import ALARM, HATCHES, REGIONS, plain
from instances.instance import Instance
from instances.plan import Plan, gpu_name
from instances.referee.evaluate import Pipeline

NOTE_HEIGHT = 0.17
EXCHANGE = "#7b3fa0"
DOTTED: dict[str, Any] = {"facecolor": "none", "edgecolor": EXCHANGE, "linestyle": (0, (2, 1))}
LETTERS = int((WIDTH - 0.08) * 72 / (0.58 * 7))
"""Of a line in a box."""


def plan_figure(instance: Instance, plan: Plan) -> Figure:
    """The picture of a feasible plan, as large as it needs to be. ValueError if the plan is infeasible."""
    sheet = sheet_of(instance, plan)
    fills = {
        kind: (REGIONS[number % len(REGIONS)], HATCHES[number // len(REGIONS) % len(HATCHES)])
        for number, kind in enumerate(sheet.kinds)
    }
    entries, across = _entries(sheet, fills), max(1, int((sheet.width - 2 * MARGIN) // 1.8))
    notes = sheet.below + 0.19 * ceil(len(entries) / across) + 0.2
    height = notes + NOTE_HEIGHT * len(sheet.notes) + MARGIN / 2
    figure = Figure(figsize=(sheet.width, height))
    # In inches, with the origin above on the left.
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, sheet.width), ylim=(height, 0))
    ax.axis("off")
    _head(sheet, ax)
    widths = _link_widths(sheet)
    shown = {(box.pipeline, box.stage) for box in sheet.boxes}
    for box in sheet.boxes:
        _box(sheet, box, fills, ax)
        if (box.pipeline, box.stage + 1) in shown:
            _draw_link(sheet, box, widths, ax)
    _legend(entries, sheet.below - 0.1, across, ax)
    for number, line in enumerate(sheet.notes):
        ax.text(MARGIN, notes + NOTE_HEIGHT * number, plain(line), fontsize=8, va="center", gid="note")
    return figure


def _head(sheet: Sheet, ax: Axes) -> None:
    title, subtitle = headline(sheet.instance, sheet.plan, sheet.evaluation)
    ax.text(MARGIN, 0.28, plain(title), fontsize=12, fontweight="bold", va="center")
    ax.text(MARGIN, 0.52, plain(subtitle), fontsize=9, va="center")
    found, x, entries = sheet.evaluation, MARGIN, []
    parts = (found.fill_s, "#9ecae1", "fill"), (found.steady_s, "#2f6fa7", "steady")
    for part, colour, name in (*parts, (found.sync_s, EXCHANGE, "gradient exchange")):
        width = (sheet.width - 2 * MARGIN) * part / found.time_s
        _rectangle(ax, x, 0.68, width, 0.2, facecolor=colour, edgecolor="white", gid=f"part {name}")
        entries.append(Patch(color=colour, label=f"{name} {seconds(part)} ({share_of(part, found.time_s)})"))
        x += width
    _legend(entries, 0.95, 3, ax)


def _box(sheet: Sheet, box: Box, fills: dict[str, tuple[str, str]], ax: Axes) -> None:
    plan, x, y = sheet.plan, box.x, box.y
    gpu = plan.pipelines[box.pipeline][box.stage]
    group = sheet.instance.groups[gpu.group]
    if box.stage == sheet.evaluation.slowest_exchange:
        _rectangle(ax, x - 0.06, y - 0.06, WIDTH + 0.12, BOX_HEIGHT + 0.12, linewidth=1.5, gid="exchange", **DOTTED)
    fill, hatch = fills[sheet.kind(gpu.group)]
    marks = _marks_of(sheet.evaluation.slowest, box, link=False)
    edge: dict[str, Any] = {"edgecolor": ALARM, "linewidth": 2.4} if marks else {"edgecolor": "0.35", "linewidth": 0.7}
    _rectangle(ax, x, y, WIDTH, BOX_HEIGHT, facecolor=fill, edgecolor="white", linewidth=0, hatch=hatch)
    _rectangle(ax, x, y, WIDTH, BOX_HEIGHT, facecolor="none", gid="box", **edge)
    if marks:
        _draw_mark(marks, x + WIDTH / 2, y + BOX_HEIGHT + 0.13, ax)
    _pipeline_label(sheet, box, ax)
    shown = folded(gpu_name(sheet.instance, gpu), LETTERS)
    if group.gpu.lower().replace(" ", "-") not in group.name.lower() and len(shown) < 3:
        shown += folded(group.gpu, LETTERS, 3 - len(shown))
    layers = f"{plan.layers[box.stage]} layer{'s' if plan.layers[box.stage] > 1 else ''}"
    head = f"stage {box.stage}: {layers}" if plan.stages > 1 else layers
    ax.text(x + 0.05, y + 0.05, plain("\n".join(shown)), fontsize=7, va="top", linespacing=1.05, gid="name")
    ax.text(x + 0.05, y + BOX_HEIGHT - 0.26, head, fontsize=6.5, va="center")
    # A bar of the iteration: busy, then waiting.
    share = sheet.evaluation.gpus[box.pipeline * plan.stages + box.stage].busy_s / sheet.evaluation.time_s
    low, whole = y + BOX_HEIGHT - 0.16, WIDTH - 0.46
    _rectangle(ax, x + 0.05, low, whole, 0.1, facecolor="white", edgecolor="0.35", linewidth=0.5)
    _rectangle(ax, x + 0.05, low, whole * share, 0.1, facecolor="0.2", gid="busy")
    ax.text(x + WIDTH - 0.04, low + 0.05, share_of(share, 1), ha="right", va="center", fontsize=6.5)


def _rectangle(ax: Axes, x: float, y: float, width: float, height: float, **look: Any) -> None:
    ax.add_patch(Rectangle((x, y), width, height, **look))


def _draw_link(sheet: Sheet, box: Box, widths: dict[tuple[int, int], float], ax: Axes) -> None:
    here, there = sheet.plan.groups[box.pipeline][box.stage : box.stage + 2]
    network = sheet.instance.links
    marks = _marks_of(sheet.evaluation.slowest, box, link=True)
    look: dict[str, Any] = {"color": ALARM if marks else "0.35", "solid_capstyle": "butt", "gid": "link"}
    x, y = box.x + WIDTH, box.y + BOX_HEIGHT / 2
    ax.plot((x + 0.04, x + LINK_WIDTH - 0.04), (y, y), linewidth=widths[here, there], **look)
    latency = max(network.latency[here][there], network.latency[there][here])
    bandwidth = min(network.bandwidth[here][there], network.bandwidth[there][here])
    ax.text(x + LINK_WIDTH / 2, y - 0.07, seconds(latency), fontsize=6.5, ha="center", va="bottom")
    ax.text(x + LINK_WIDTH / 2, y + 0.08, rate(bandwidth), fontsize=6.5, ha="center", va="top")
    if marks:
        _draw_mark(marks, x + LINK_WIDTH / 2, y + 0.31, ax, "\n")


def _draw_mark(directions: list[str], x: float, y: float, ax: Axes, between: str = " ") -> None:
    words = f"slowest{between}{'step' if len(directions) > 1 else directions[0]}"
    ax.text(x, y, words, fontsize=7, color=ALARM, fontweight="bold", ha="center", va="center", gid="mark")


def _marks_of(pipeline: Pipeline, box: Box, link: bool) -> list[str]:
    """Whether this stage or link holds up the slowest pipeline, and in which direction."""
    slow = {"forward": pipeline.slowest_forward, "backward": pipeline.slowest_backward}
    here = (box.pipeline, box.stage, link)
    return [direction for direction, step in slow.items() if (pipeline.number, step.stage, step.link) == here]


def _link_widths(sheet: Sheet) -> dict[tuple[int, int], float]:
    """Points by pair of groups: the longer a message is under way, the thicker, on a logarithmic scale."""
    times, latency = {}, sheet.instance.links.latency
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


def _pipeline_label(sheet: Sheet, box: Box, ax: Axes) -> None:
    """Above the first box of a pipeline, and of each line that goes on with it."""
    slow = box.pipeline == sheet.evaluation.slowest.number and sheet.plan.replicas > 1
    if box.stage == 0:
        words = f"pipeline {box.pipeline}: {seconds(sheet.evaluation.pipelines[box.pipeline].seconds)}"
        words += ", the slowest" if slow else ""
    elif box.x == MARGIN:
        words = f"pipeline {box.pipeline}, continued"
    else:
        return
    text = ax.text(box.x, box.y - 0.14, words, fontsize=8, va="center", color=ALARM if slow else "black")
    text.set(fontweight="bold" if slow and box.stage == 0 else "normal", gid="pipeline")


def _entries(sheet: Sheet, fills: dict[str, tuple[str, str]]) -> list[Artist]:
    entries: list[Artist] = [
        Patch(facecolor=fill, edgecolor="white", hatch=hatch, label=plain(kind))
        for kind, (fill, hatch) in fills.items()
    ]
    entries.append(Patch(facecolor="0.2", edgecolor="0.35", label="share of the time busy"))
    if sheet.plan.stages > 1:
        entries.append(Line2D([], [], color="0.35", linewidth=4, label="slower link: thicker"))
    if sheet.evaluation.slowest_exchange is not None:
        entries.append(Patch(label="slowest gradient exchange", **DOTTED))
    return entries


def _legend(entries: Sequence[Artist], y: float, across: int, ax: Axes) -> None:
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (MARGIN - 0.05, y), "bbox_transform": ax.transData}
    look: dict[str, Any] = {"frameon": False, "borderaxespad": 0, "columnspacing": 1.2, "handlelength": 1.6}
    labels = [str(entry.get_label()) for entry in entries]
    ax.add_artist(Legend(ax, entries, labels, ncols=across, fontsize=8, **place, **look))
