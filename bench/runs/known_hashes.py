"""The content hashes that generated instances must have: a family that changes is noticed, not measured."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from instances.errors import InputError
from instances.instance import Instance

FILE = "hashes.csv"
"""Next to the shipped suites; `make hashes` writes it."""


@cache
def known_hashes() -> Mapping[str, str]:
    """Content hash by instance name, for every instance of the shipped suites."""
    file = files("instances") / "suites" / FILE
    if not file.is_file():
        return {}
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return {row["instance"]: row["content_hash"] for row in rows}


def check_hash(instance: Instance, source: str, known: Mapping[str, str] | None = None) -> None:
    """InputError if an instance of this name is known with another content."""
    expected = (known_hashes() if known is None else known).get(instance.name)
    if expected is not None and expected != instance.content_hash:
        raise InputError(
            f"{source}: instance {instance.name}: content hash: expected {expected}, found {instance.content_hash}; "
            "results on the two cannot be compared"
        )
