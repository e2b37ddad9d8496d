"""Joint states: which group each of several pipelines has in a stage, and the gradient exchange that follows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.tables import Flags, Floats, Ints, Tables

MOST_ENTRIES = 600_000
"""Most (stage, state, layers) for which all pipelines of a grid are relaxed together."""


class JointStates(NamedTuple):
    """All ways to give each of m pipelines a group, numbered by digits; arrays for compiled code.

    Attributes
    ----------
    digits
        [t, m] group of each pipeline.
    powers
        [m] place values of the digits in the number of a state.
    exchange_s
        [first, last, t, layers] s of the gradient exchange of a stage with so many layers.
    exchange_energy
        [first, last, t, layers] energy of it.
    linked
        [t] whether all its pipelines can exchange with each other.
    """

    digits: Ints
    powers: Ints
    exchange_s: Floats
    exchange_energy: Floats
    linked: Flags

    def allowed(self, can_serve: Flags, counts: Ints, most_exchange_s: float) -> Flags:
        """[b, s, t, layers] the states that blocks of pipelines may be in.

        Every member may hold the layers (`can_serve`, [r, s, k, layers]), its group has the GPUs (`counts`), all
        are linked, and the exchange is short enough.
        """
        pipelines, stages = can_serve.shape[:2]
        used = (self.digits[:, :, None] == np.arange(len(counts))).sum(axis=1)
        quick = self.exchange_s <= most_exchange_s  # [first, last, t, layers]
        ends = np.arange(stages)
        fine = quick[(ends == 0).astype(int), (ends == stages - 1).astype(int)]
        fine &= ((used <= counts).all(axis=1) & self.linked)[:, None]
        members = self.digits.shape[1]
        return np.array(
            [
                np.logical_and.reduce([fine, *(can_serve[first + r][:, self.digits[:, r]] for r in range(members))])
                for first in range(0, pipelines, members)
            ]
        )


def joint_states(tables: Tables, pipelines: int, width: int) -> JointStates:
    """All states of so many pipelines that hold a stage together, with layers from 0 to width - 1."""
    groups = len(tables.counts)
    powers: Ints = groups ** np.arange(pipelines)
    digits: Ints = (np.arange(groups**pipelines)[:, None] // powers[None, :]) % groups
    gradient = tables.gradient[:, :, :width] / pipelines  # bytes that one holder serves
    seconds = np.zeros((2, 2, len(digits), width))
    energy = np.zeros_like(seconds)
    linked = np.ones(len(digits), dtype=bool)
    for r in range(pipelines):
        out, into = np.zeros_like(seconds), np.zeros_like(seconds)
        for q in range(pipelines):
            if q != r:
                k, j = digits[:, r], digits[:, q]
                linked &= tables.linked[k, j]
                for total, a, b in ((out, k, j), (into, j, k)):
                    total += tables.latency[a, b][:, None] + gradient[:, :, None] / tables.bandwidth[a, b][:, None]
                energy += 2 * gradient[:, :, None] * tables.per_byte[k, j][:, None]
        seconds = np.maximum(seconds, 2 * np.maximum(out, into))
    return JointStates(digits, powers, seconds, energy, linked)


def joint_entries(tables: Tables, pipelines: int, stages: int, width: int) -> float:
    """How many (stage, state, layers) there are."""
    return float(len(tables.counts)) ** pipelines * stages * width
