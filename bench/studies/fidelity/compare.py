"""All measured runs beside their predictions: the tables of `geotrain-bench fidelity`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.reporting.formatting import NOTHING, Cell, as_number, as_percent, as_text, significant, table
from bench.studies.fidelity import amp, crosspipe, dtfm_scenarios, dtfm_uniform, perseus
from bench.studies.fidelity.rows import Measured, Score, score_of

WORST = 3
"""Rows shown of each source."""
OTHER = {
    crosspipe.SOURCE: "sends that block",
    dtfm_scenarios.SOURCE: "sends that block (emulated networks); network cards divided by eight (the others)",
    **dict.fromkeys(amp.SOURCE.values(), "the authors' own estimate"),
}
"""What the second prediction of a source is."""
SCORES: Mapping[str, Cell] = {
    "source": as_text("source"),
    "rows": as_text("rows"),
    "error": as_percent("error"),
    "bias": as_percent("bias", signed=True),
    "rank correlation": as_number("spearman", 3),
    "pairs in order": as_percent("pairs_in_order"),
    "error of": lambda row: OTHER.get(row["source"], NOTHING),
    "is": as_percent("other_error"),
}
ROWS: Mapping[str, Cell] = {
    "source": as_text("source"),
    "run": as_text("name"),
    "measured": lambda row: f"{significant(row['measured'])} {row['unit']}",
    "predicted": lambda row: f"{significant(row['predicted'])} {row['unit']}",
    "error": as_percent("error", signed=True),
}


def measured_rows() -> list[Measured]:
    """Every run of every source."""
    return [row for source in (dtfm_uniform, dtfm_scenarios, crosspipe, amp, perseus) for row in source.measured()]


def scores_of(rows: Sequence[Measured]) -> list[Score]:
    """The score of each source."""
    sources = dict.fromkeys(row.source for row in rows)
    return [score_of(source, [row for row in rows if row.source == source]) for source in sources]


def fidelity_text(rows: Sequence[Measured]) -> str:
    """The scores, the worst rows of each source, and what was not scored."""
    scores, worst = scores_of(rows), []
    for score in scores:
        scored = [row for row in rows if row.source == score.source and not row.why_unscored]
        worst += sorted(scored, key=lambda row: -abs(row.error))[:WORST]
    unscored = "\n".join(
        f"Not scored: {row.source}: {row.name}: {row.why_unscored}." for row in rows if row.why_unscored
    )
    left = ("source", "run", "error of")
    return (
        f"{table(SCORES, [vars(score) for score in scores], left)}\n\nThe worst rows:\n\n"
        f"{table(ROWS, [{**vars(row), 'error': row.error} for row in worst], left)}\n\n{unscored}\n\n"
        "Error: mean absolute share of what was measured; bias: its mean with sign. The second error is that of "
        "other rules or of the source's own prediction, on the same rows."
    )
