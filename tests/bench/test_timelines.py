"""What is drawn, traced and told of simulated iterations."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from bench.reporting.plots.timeline import COLOURS, LINES, coverage, timeline_figure
from bench.simulation.jitter import Jitter
from bench.simulation.simulate import Rules, simulate
from bench.simulation.trace import chrome_trace
from bench.studies.sensitivity import BLOCKING, FILL_DRAIN, JITTER, played, sensitivity_tables, sensitivity_text
from instances.errors import InputError
from instances.generator.family import generate
from tests.bench.folders import FAST, GOOD, NOTHING, POOR, SLOW, folder_with, task
from tests.editing import hand_instance
from tests.random_plans import random_plan


def test_coverage_is_the_share_of_each_moment() -> None:
    spans = np.array([[5.0, 6.0], [0.5, 2.0]])
    assert coverage(spans, 10.0, 10) == pytest.approx([0.5, 1, 0, 0, 0, 1, 0, 0, 0, 0])
    assert coverage(spans, 10.0, 1) == pytest.approx([0.25])
    assert coverage(spans[:0], 10.0, 2) == pytest.approx([0, 0])


def test_the_picture_has_a_row_for_each_gpu_in_the_colours_of_what_it_does() -> None:
    """The plan worked by hand: forward on a until 0.8 s of 3.9 s, waiting after it, backward on a at the end."""
    figure = timeline_figure(simulate(hand_instance(), FAST))
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a/0", "b/0"]
    image = np.asarray(ax.images[0].get_array())
    lines, pixels = image.shape[:2]
    assert lines == 2 * LINES
    seen = {name: image[0, int(moment / 3.9 * pixels)] for name, moment in (("forward", 0.1), ("waiting", 0.9))}
    for name, colour in {**seen, "backward": image[0, -1]}.items():
        assert min(np.abs(colour - to_rgb(shade)).max() for shade in COLOURS[name]) < 1e-6, name
    assert image[LINES - 2, int(0.25 / 3.9 * pixels)] == pytest.approx(to_rgb(COLOURS["send forward"][0]))
    assert {entry.get_text() for entry in figure.legends[0].get_texts()} == set(COLOURS)


@pytest.mark.parametrize("gpus", [8, 64])
def test_names_and_rows_do_not_overlap_in_the_picture(gpus: int) -> None:
    instance = generate("dtfm", gpus, 0, {"scenario": "us-regions"})
    figure = timeline_figure(simulate(instance, random_plan(instance, 1)))
    figure.canvas.draw()
    (ax,) = figure.axes
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))
    assert all(box.x0 >= 0 for box in boxes)


def test_the_trace_has_every_pass_message_and_transfer() -> None:
    instance = generate("dtfm", 8, 0, {"scenario": "us-regions"})
    line = simulate(instance, random_plan(instance, 1))
    events = [event for event in json.loads(chrome_trace(line))["traceEvents"] if event["ph"] == "X"]
    spans = [np.asarray(times).reshape(-1, 2) for times in (line.compute, line.send, line.exchange)]
    expected = np.concatenate([each[np.isfinite(each[:, 1])] for each in spans])
    assert len(events) == len(expected)
    found = sorted((event["ts"], event["ts"] + event["dur"]) for event in events)
    assert np.array(found) == pytest.approx(np.array(sorted(map(tuple, expected * 1e6))))
    rows = [event for event in json.loads(chrome_trace(line))["traceEvents"] if event["name"] == "thread_name"]
    assert len({(row["pid"], row["tid"]) for row in rows}) == 5 * len(line.compute)


# The study of a run folder.


def test_the_study_compares_each_plan_with_itself_under_fill_drain(tmp_path: Path) -> None:
    folder_with(tmp_path, [(task(), GOOD), (task("random"), POOR), (task("dtfm"), NOTHING)])
    rows = list(played(tmp_path, Jitter(bandwidth=0.3), draws=3, seed=0))
    assert {row.solver for row in rows} == {"megatron", "random"}
    assert sum(row.cost.condition == JITTER for row in rows) == 2 * 3
    costs, ranks = sensitivity_tables(rows)
    assert FILL_DRAIN not in set(costs["condition"])
    blocked = costs.set_index(["condition", "solver"]).loc[(BLOCKING, "megatron")]
    times = [simulate(hand_instance(), FAST, Rules(blocking=blocking)).time_s for blocking in (False, True)]
    assert blocked["time"] == pytest.approx(times[1] / times[0] - 1)
    assert blocked["memory"] == pytest.approx(0)
    # One stage of two layers sends nothing: whatever the links do, only the exchange changes.
    assert simulate(hand_instance(), SLOW, Rules(blocking=True)).time_s == pytest.approx(7.3)
    assert (ranks["asked"] == ranks["condition"].map(lambda name: 3 if name == JITTER else 1)).all()
    text = sensitivity_text(costs, ranks, Jitter(bandwidth=0.3), 3)
    assert "| blocking sends | megatron |" in text


def test_a_folder_without_plans_is_refused(tmp_path: Path) -> None:
    folder_with(tmp_path, [(task(), NOTHING)])
    with pytest.raises(InputError, match="no run has a plan"):
        list(played(tmp_path, Jitter(), 1, 0))


def test_a_ranking_that_turns_over_is_counted(tmp_path: Path) -> None:
    """The plan with messages is best until its sends block."""
    slow = hand_instance(network__bandwidth=[[1e4, 5e4], [1e4, 1e4]], training__gradient_bytes=1e-9)
    before, after = ([simulate(slow, plan, Rules(blocking=on)).time_s for plan in (FAST, SLOW)] for on in (False, True))
    assert before[0] < before[1]
    assert after[0] > after[1]
    folder_with(tmp_path, [(task(instance=slow), GOOD), (task("random", instance=slow), POOR)])
    _, ranks = sensitivity_tables(played(tmp_path, Jitter(), 1, 0))
    kept = ranks.set_index("condition")
    assert tuple(kept.loc[BLOCKING, ["pairs", "kept"]]) == (0.0, 0)
    assert tuple(kept.loc[JITTER, ["pairs", "kept"]]) == (1.0, 1)
