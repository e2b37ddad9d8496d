"""Seeds from words, so that adding a row to a suite never shifts another row's numbers."""

from __future__ import annotations

import hashlib
import random


def seed_for(*words: str | int) -> int:
    """A 63-bit seed that depends on the words and their order only, on every machine and Python version."""
    digest = hashlib.sha256("\x1f".join(str(word) for word in words).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def stream(*words: str | int) -> random.Random:
    """Random numbers for files that must be byte-identical everywhere: use its `random()` only.

    Python promises that `random()` repeats across versions; NumPy's generators and Python's `choice` or
    `shuffle` are free to change.
    """
    return random.Random(seed_for(*words))
