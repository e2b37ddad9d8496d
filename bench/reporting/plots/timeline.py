"""A picture of a simulated iteration: GPUs as rows, and what each does when."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bench.reporting.formatting import joules, seconds, share_of
from bench.reporting.plots.style import plain
from bench.simulation.durations import BACKWARD, FORWARD, Floats
from bench.simulation.timeline import TimeLine
from instances.plan import gpu_name

COLOURS = {
    "forward": ("#3d8fc6", "#7cbbe3"),  # micro-batches by turns, so that they can be told apart
    "backward": ("#d98200", "#f2b24d"),
    "send forward": ("#1f4e79", "#5b83ab"),
    "send backward": ("#8a4b00", "#b98549"),
    "gradient exchange": ("#7b3fa0", "#a678c2"),
    "waiting": ("#e6e6e6", "#e6e6e6"),
}
PIXELS = 2400
"""Across the time axis. Where more happens than they can show, each has the mean colour of its moment."""
COMPUTE, SEND, SPACE = 5, 2, 1
"""Lines of pixels of a GPU: its computing and its ports; what its links do; nothing."""
LINES = COMPUTE + SEND + SPACE
LEFT_IN, RIGHT_IN, TOP_IN, BOTTOM_IN, WIDTH_IN = 2.1, 0.25, 0.95, 0.75, 12.0


def timeline_figure(line: TimeLine, subtitle: str = "") -> Figure:
    """The picture of a time line, as high as its GPUs need."""
    slots = len(line.compute)
    row_in = float(np.clip(14 / slots, 0.15, 0.5))
    height = TOP_IN + slots * row_in + BOTTOM_IN
    figure = Figure(figsize=(WIDTH_IN, height))
    width = WIDTH_IN - LEFT_IN - RIGHT_IN
    ax = figure.add_axes((LEFT_IN / WIDTH_IN, BOTTOM_IN / height, width / WIDTH_IN, slots * row_in / height))
    end = line.time_s
    ax.imshow(_image(line), extent=(0, end, slots, 0), aspect="auto", interpolation="nearest")
    _rows(line, ax, row_in)
    ax.axvline(line.pipeline_s, color="black", linewidth=0.8, linestyle=(0, (3, 2)), gid="pipelines end")
    ax.set_xlabel("seconds of the iteration", fontsize=9)
    ax.tick_params(axis="x", labelsize=8)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    _head(line, subtitle, figure, height)
    return figure


def _head(line: TimeLine, subtitle: str, figure: Figure, height: float) -> None:
    plan, busy = line.plan, float(line.busy.sum())
    title = f"{line.instance.name}: {plan.replicas} x {plan.stages} (pipelines x stages), {line.durations.count} "
    title += f"micro-batches of {plan.micro_batch}"
    facts = f"iteration {seconds(line.time_s)}, of it gradient exchange {seconds(line.sync_s)}; "
    facts += f"{joules(line.energy_j)}; GPUs compute {share_of(busy, line.time_s * len(line.compute))} of the time"
    left = 0.1 / WIDTH_IN
    figure.text(left, 1 - 0.2 / height, plain(title), fontsize=11, fontweight="bold", va="center")
    figure.text(left, 1 - 0.42 / height, plain(f"{facts}. {subtitle}".rstrip()), fontsize=9, va="center")
    entries = [Patch(color=shades[0], label=name) for name, shades in COLOURS.items()]
    place = (left, 1 - 0.52 / height)
    figure.legend(handles=entries, loc="upper left", bbox_to_anchor=place, ncols=6, frameon=False, fontsize=8)


def _rows(line: TimeLine, ax: Axes, row_in: float) -> None:
    """Names of the GPUs, and a line between pipelines."""
    names = [plain(gpu_name(line.instance, gpu)) for row in line.plan.pipelines for gpu in row]
    middle = COMPUTE / LINES / 2
    size = float(np.clip(row_in * 40, 5.5, 8))
    ax.set_yticks(np.arange(len(names)) + middle, [name if len(name) <= 34 else f"…{name[-33:]}" for name in names])
    ax.tick_params(axis="y", length=0, labelsize=size)
    for pipeline in range(1, line.plan.replicas):
        ax.axhline(pipeline * line.plan.stages - SPACE / LINES / 2, color="0.3", linewidth=0.6, gid="pipeline")


def _image(line: TimeLine) -> Floats:
    """RGB of every pixel, [LINES * slot, PIXELS, 3]."""
    image = np.ones((len(line.compute), LINES, PIXELS, 3))
    image[:, :COMPUTE] = to_rgb(COLOURS["waiting"][0])
    for slot, rows, name, spans in _spans(line):
        for shade, colour in enumerate(COLOURS[name]):
            # Over what was there already, by the share of the pixel's moment that is taken.
            share = coverage(spans[shade::2], line.time_s, PIXELS)[None, :, None]
            image[slot, rows] = image[slot, rows] * (1 - share) + share * np.array(to_rgb(colour))
    return image.reshape(-1, PIXELS, 3)


def _spans(line: TimeLine) -> Iterator[tuple[int, slice, str, Floats]]:
    """Everything to draw: slot, its lines of pixels, the name of a colour, beginnings and ends [n, 2]."""
    stages, above, below = line.plan.stages, slice(0, COMPUTE), slice(COMPUTE, COMPUTE + SEND)
    for slot in range(len(line.compute)):
        yield slot, above, "forward", line.compute[slot, FORWARD]
        yield slot, above, "backward", line.compute[slot, BACKWARD]
        if np.isfinite(line.send[slot, FORWARD]).all():
            yield slot, below, "send forward", line.send[slot, FORWARD]
        if np.isfinite(line.send[slot, BACKWARD]).all():
            yield slot, below, "send backward", line.send[slot, BACKWARD]
        ports = line.exchange[slot % stages, slot // stages]  # [port, round, transfer, 2]
        yield slot, above, "gradient exchange", ports[0].reshape(-1, 2)
        yield slot, below, "gradient exchange", ports[1].reshape(-1, 2)


def coverage(spans: Floats, end: float, pixels: int) -> Floats:
    """The share of each of `pixels` equal moments from 0 to `end` that spans, which do not overlap, take up."""
    if not len(spans):
        return np.zeros(pixels)
    spans = spans[spans[:, 0].argsort()]
    taken = np.stack([np.zeros(len(spans)), spans[:, 1] - spans[:, 0]], axis=1).cumsum().reshape(-1)
    edges = np.linspace(0, end, pixels + 1)
    found: Floats = np.clip(np.diff(np.interp(edges, spans.reshape(-1), taken)) * pixels / end, 0, 1)
    return found
