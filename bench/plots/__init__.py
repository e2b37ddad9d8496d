"""Figures: functions from a frame and an `Axes` to the `Axes`; saving happens here only."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def save_figures(runs: pd.DataFrame, folder: Path) -> list[str]:
    """Draw what the runs allow, as PNG files in `folder`; their names."""
    import matplotlib

    matplotlib.use("Agg")
    from bench.plots.savings import savings_figure

    figure = savings_figure(runs)
    figure.savefig(folder / "savings.png", dpi=150, bbox_inches="tight")
    return ["savings.png"]
