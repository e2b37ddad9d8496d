"""The one text of an option's value: runs and instances are named by it, however a user writes the value."""

from __future__ import annotations


def spelled(value: str | bool | int | float) -> str:
    """`true` and `false` in small letters, numbers without what changes nothing: 3 for 3.0 and 03, 0.5 for 0.50."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
