"""All teams of a grid: which group each pipeline has in a stage, and what that means for the exchange."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.tables import Floats, Ints, Tables

ENTRIES = 600_000
"""Most (stage, team, layers) for which all pipelines are relaxed together."""


@dataclass(frozen=True)
class Teams:
    """Teams of `pipelines` groups, numbered by digits.

    Attributes
    ----------
    digits
        [t, r] group in pipeline r.
    powers
        [r] what a step of one group in pipeline r adds to the number.
    sync
        [first, last, t, layers] s of the exchange of a stage with so many layers.
    sync_energy
        [first, last, t, layers] energy of it.
    """

    digits: Ints
    powers: Ints
    sync: Floats
    sync_energy: Floats

    @classmethod
    def of(cls, tables: Tables, pipelines: int, width: int) -> Teams:
        """All teams, with layers from 0 to width - 1."""
        groups = len(tables.counts)
        numbers = np.arange(groups**pipelines)
        powers = groups ** np.arange(pipelines)
        digits = (numbers[:, None] // powers[None, :]) % groups
        gradient = tables.gradient[:, :, :width] / pipelines  # bytes that one holder serves
        sync = np.zeros((2, 2, len(digits), width))
        energy = np.zeros_like(sync)
        for r in range(pipelines):
            out, into = np.zeros_like(sync), np.zeros_like(sync)
            for q in range(pipelines):
                if q != r:
                    k, j = digits[:, r], digits[:, q]
                    for total, a, b in ((out, k, j), (into, j, k)):
                        total += tables.latency[a, b][:, None] + gradient[:, :, None] / tables.bandwidth[a, b][:, None]
                    energy += 2 * gradient[:, :, None] * tables.per_byte[k, j][:, None]
            sync = np.maximum(sync, 2 * np.maximum(out, into))
        return cls(digits, powers, sync, energy)


def team_entries(tables: Tables, pipelines: int, stages: int, width: int) -> float:
    """How many (stage, team, layers) there are."""
    return float(len(tables.counts)) ** pipelines * stages * width
