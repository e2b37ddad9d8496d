"""Random numbers for compiled code: SplitMix64 in an array of one word, so that a run can stop and resume anywhere.

Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.core.compiled import inner

Words = NDArray[np.uint64]

# Unsigned throughout: numba turns a mix of signed and unsigned into floats.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 1.0 / (1 << 53)


def new_stream(seed: int) -> Words:
    """A separate stream for every seed."""
    return np.array([seed % (1 << 64)], dtype=np.uint64)


@inner
def mix(word):  # type: ignore[no-untyped-def]
    """Scramble 64 bits; also the hash of the population."""
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


@inner
def uniform(rng):  # type: ignore[no-untyped-def]
    """A number from 0 (included) to 1 (excluded)."""
    rng[0] += _STEP
    return (mix(rng[0]) >> _11) * _UNIT


@inner
def below(rng, count):  # type: ignore[no-untyped-def]
    """A whole number from 0 to count - 1."""
    return int(uniform(rng) * count)


@inner
def shuffle(rng, values, count):  # type: ignore[no-untyped-def]
    """Shuffle values[:count] in place."""
    for i in range(count - 1, 0, -1):
        j = below(rng, i + 1)
        values[i], values[j] = values[j], values[i]
