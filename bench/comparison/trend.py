"""How values and seconds of each solver went over several folders, against the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bench.comparison.pairs import pairs_of
from bench.runs.store import Store


def trend(folders: Sequence[Store]) -> pd.DataFrame:
    """One row by folder, solver and measure: the geometric mean of the ratios to the first folder over common runs.

    Columns `folder`, `solver`, `measure` (`value` or `CPU seconds`), `ratio`, `pairs`. Values that are 0 are left out.
    """
    rows = []
    for folder in folders:
        for pair in pairs_of(folders[0], folder):
            if pair.new is None:
                continue
            figures = {"value": (pair.base.value, pair.new.value)}
            if pair.timed:
                figures["CPU seconds"] = (pair.base.cpu_s, pair.new.cpu_s)
            for measure, (before, after) in figures.items():
                if before and after:
                    rows.append((str(folder.folder), pair.base.label, measure, np.log(after / before)))
    found = pd.DataFrame(rows, columns=["folder", "solver", "measure", "log"])
    alike = found.groupby(["folder", "solver", "measure"], sort=False)["log"]
    return alike.agg(ratio=lambda logs: float(np.exp(logs.mean())), pairs="size").reset_index()
