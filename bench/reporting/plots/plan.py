"""A picture of one plan: who does what, what is slow, where the time goes and which GPUs are left out."""

from __future__ import annotations

from math import log

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from bench.reporting.formatting import rate, seconds, share_of
from bench.reporting.plots.plan_sheet import (
    BOX_HEIGHT,
    LINK_WIDTH,
    MARGIN,
    NOTE_HEIGHT,
    SMALL,
    Box,
    Sheet,
    folded,
    headline,
    shares,
    sheet_of,
)
from bench.reporting.plots.style import ALARM, HATCHES, REGIONS, plain
from instances.instance import Instance
from instances.plan import Plan, gpu_name
from instances.referee.evaluate import Pipeline, Step

EXCHANGE = "#7b3fa0"
PARTS = {"fill": "#9ecae1", "steady": "#2f6fa7", "gradient exchange": EXCHANGE}


def plan_figure(instance: Instance, plan: Plan) -> Figure:
    """The picture of a feasible plan, as large as it needs to be. ValueError if the plan is infeasible."""
    sheet = sheet_of(instance, plan)
    figure = Figure(figsize=(sheet.width, sheet.height))
    draw_plan(sheet, figure.add_axes((0, 0, 1, 1)))
    return figure


def draw_plan(sheet: Sheet, ax: Axes) -> Axes:
    """Everything, on axes in inches with the origin above on the left."""
    ax.set(xlim=(0, sheet.width), ylim=(sheet.height, 0))
    ax.axis("off")
    _head(sheet, ax)
    fills = _fills(sheet)
    widths = _link_widths(sheet)
    after = {(box.pipeline, box.stage): box for box in sheet.boxes}
    for box in sheet.boxes:
        _box(sheet, box, fills, ax)
        if (box.pipeline, box.stage + 1) in after:
            _draw_link(sheet, box, widths, ax)
    _legend(sheet, fills, ax)
    for number, line in enumerate(sheet.notes):
        y = sheet.height - MARGIN - NOTE_HEIGHT * (len(sheet.notes) - 1 - number)
        ax.text(MARGIN, y, plain(line), fontsize=8, va="center", gid="note")
    return ax


def _head(sheet: Sheet, ax: Axes) -> None:
    title, subtitle = headline(sheet.instance, sheet.plan, sheet.evaluation)
    ax.text(MARGIN, 0.28, plain(title), fontsize=12, fontweight="bold", va="center")
    ax.text(MARGIN, 0.52, plain(subtitle), fontsize=9, va="center")
    x, whole = MARGIN, sheet.width - 2 * MARGIN
    label = MARGIN
    for name, part, words in shares(sheet.evaluation):
        width = whole * part / sheet.evaluation.time_s
        ax.add_patch(Rectangle((x, 0.68), width, 0.2, facecolor=PARTS[name], edgecolor="white", gid=f"part {name}"))
        ax.add_patch(Rectangle((label, 0.97), 0.1, 0.1, facecolor=PARTS[name]))
        ax.text(label + 0.15, 1.02, words, fontsize=8, va="center")
        x += width
        label += 0.45 + len(words) * 0.6 * 8 / 72


def _box(sheet: Sheet, box: Box, fills: dict[str, tuple[str, str]], ax: Axes) -> None:
    plan, slowest = sheet.plan, sheet.evaluation.slowest
    gpu = plan.pipelines[box.pipeline][box.stage]
    group = sheet.instance.groups[gpu.group]
    if box.stage == sheet.evaluation.slowest_exchange:
        halo = Rectangle((box.x - 0.06, box.y - 0.06), box.width + 0.12, BOX_HEIGHT + 0.12, gid="exchange")
        halo.set(facecolor="none", edgecolor=EXCHANGE, linewidth=1.5, linestyle=(0, (2, 1)))
        ax.add_patch(halo)
    fill, hatch = fills[sheet.kind(gpu.group)]
    ax.add_patch(
        Rectangle((box.x, box.y), box.width, BOX_HEIGHT, facecolor=fill, edgecolor="white", linewidth=0, hatch=hatch)
    )
    marks = _marks_of(slowest, box, link=False)
    outline = Rectangle((box.x, box.y), box.width, BOX_HEIGHT, facecolor="none", gid="box")
    outline.set(edgecolor=ALARM if marks else "0.35", linewidth=2.4 if marks else 0.7)
    ax.add_patch(outline)
    if marks:
        _draw_mark(marks, box.x + box.width / 2, box.y + BOX_HEIGHT + 0.13, ax)
    _pipeline_label(sheet, box, ax)
    most = int((box.width - 0.08) * 72 / (0.58 * SMALL))
    shown = folded(gpu_name(sheet.instance, gpu), most)
    if group.gpu.lower().replace(" ", "-") not in group.name.lower() and len(shown) < 3:
        shown += folded(group.gpu, most, 3 - len(shown))
    layers = f"{plan.layers[box.stage]} layer{'s' if plan.layers[box.stage] > 1 else ''}"
    head = f"stage {box.stage}: {layers}" if plan.stages > 1 else layers
    ax.text(box.x + 0.05, box.y + 0.05, plain("\n".join(shown)), fontsize=SMALL, va="top", linespacing=1.05, gid="name")
    ax.text(box.x + 0.05, box.y + BOX_HEIGHT - 0.26, head, fontsize=6.5, va="center")
    _busy(sheet, box, ax)


def _draw_link(sheet: Sheet, box: Box, widths: dict[tuple[int, int], float], ax: Axes) -> None:
    here, there = (sheet.plan.groups[box.pipeline][stage] for stage in (box.stage, box.stage + 1))
    network = sheet.instance.network
    marks = _marks_of(sheet.evaluation.slowest, box, link=True)
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
        _draw_mark(marks, x + LINK_WIDTH / 2, y + 0.31, ax, "\n")


def _draw_mark(directions: list[str], x: float, y: float, ax: Axes, between: str = " ") -> None:
    words = f"slowest{between}{'step' if len(directions) > 1 else directions[0]}"
    ax.text(x, y, words, fontsize=7, color=ALARM, fontweight="bold", ha="center", va="center", gid="mark")


def _marks_of(pipeline: Pipeline, box: Box, link: bool) -> list[str]:
    """Whether this stage or link holds up the slowest pipeline, and in which direction."""
    if box.pipeline != pipeline.number:
        return []

    def here(step: Step) -> bool:
        return (step.stage, step.link) == (box.stage, link)

    slow = {"forward": here(pipeline.slowest_forward), "backward": here(pipeline.slowest_backward)}
    return [direction for direction, held_up in slow.items() if held_up]


def _link_widths(sheet: Sheet) -> dict[tuple[int, int], float]:
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


def _busy(sheet: Sheet, box: Box, ax: Axes) -> None:
    """A bar of the iteration: busy, then waiting."""
    found = sheet.evaluation
    share = found.gpus[box.pipeline * sheet.plan.stages + box.stage].busy_s / found.time_s
    x, y, whole = box.x + 0.05, box.y + BOX_HEIGHT - 0.16, box.width - 0.46
    ax.add_patch(Rectangle((x, y), whole, 0.1, facecolor="white", edgecolor="0.35", linewidth=0.5))
    ax.add_patch(Rectangle((x, y), whole * share, 0.1, facecolor="0.2", gid="busy"))
    ax.text(box.x + box.width - 0.04, y + 0.05, share_of(share, 1), ha="right", va="center", fontsize=6.5)


def _fills(sheet: Sheet) -> dict[str, tuple[str, str]]:
    """Colour and hatch of each region (or GPU type) that the plan uses."""
    return {
        kind: (REGIONS[number % len(REGIONS)], HATCHES[number // len(REGIONS) % len(HATCHES)])
        for number, kind in enumerate(sheet.kinds)
    }


def _legend(sheet: Sheet, fills: dict[str, tuple[str, str]], ax: Axes) -> None:
    handles: list[Artist] = [
        Patch(facecolor=fill, edgecolor="white", hatch=hatch, label=plain(kind))
        for kind, (fill, hatch) in fills.items()
    ]
    handles.append(Patch(facecolor="0.2", edgecolor="0.35", label="share of the time busy"))
    if sheet.plan.stages > 1:
        handles.append(Line2D([], [], color="0.35", linewidth=4, label="slower link: thicker"))
    if sheet.evaluation.slowest_exchange is not None:
        handles.append(
            Patch(facecolor="none", edgecolor=EXCHANGE, linestyle=(0, (2, 1)), label="slowest gradient exchange")
        )
    ax.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(MARGIN - 0.05, sheet.below - 0.1),
        bbox_transform=ax.transData,
        ncols=sheet.names_across,
        fontsize=8,
        frameon=False,
        borderaxespad=0,
        columnspacing=1.2,
        handlelength=1.6,
    )
