"""How much of a block's time does not grow with the micro-batch: the fit behind `block_overhead_ms`.

Re-run from `layer_times.csv`, it gives the figures that `gpus.csv` carries (a test holds the two together).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Points = Sequence[tuple[int, float]]


def block_overhead_s(points_by_model: Mapping[str, Points]) -> float:
    """Seconds of a block, forward and backward together, at a micro-batch of nothing.

    The measured seconds y of micro-batch x are fitted by `overhead + slope * x`, with one overhead for the
    GPU (kernel launches do not know the model) and one slope for each model, least squares of relative
    errors. For a fixed overhead each slope is a one-variable fit; taking the slopes out of both the times
    and the constant leaves a one-variable fit for the overhead. An overhead below 0 counts as 0.

    Parameters
    ----------
    points_by_model
        For each model its (micro-batch, seconds) pairs, two or more.
    """
    numerator = denominator = 0.0
    for points in points_by_model.values():
        weights = [1 / seconds**2 for _, seconds in points]
        squares = sum(w * x * x for w, (x, _) in zip(weights, points, strict=True))
        on_times = sum(w * x * y for w, (x, y) in zip(weights, points, strict=True)) / squares
        on_constant = sum(w * x for w, (x, _) in zip(weights, points, strict=True)) / squares
        for w, (x, y) in zip(weights, points, strict=True):
            constant = 1 - on_constant * x
            numerator += w * constant * (y - on_times * x)
            denominator += w * constant * constant
    return max(0.0, numerator / denominator)
