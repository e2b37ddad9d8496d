"""What installed packages add to the suite by entry points: solvers and instance families."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, NamedTuple

SOLVERS, FAMILIES = "geotrain_bench.solvers", "geotrain_bench.families"


class Origin(NamedTuple):
    """The package that something comes from."""

    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


def load_plugins(group: str, take: Callable[[Any, Origin], None]) -> None:
    """Hand over what the entry points of a group give.

    One that cannot be loaded or taken is left out, and a line on standard error says why: a broken package must not
    break what others do.
    """
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
        origin = Origin(entry.dist.name, entry.dist.version) if entry.dist else Origin(entry.module, "unknown")
        try:
            take(entry.load(), origin)
        except Exception as error:  # noqa: BLE001 - whatever somebody else's code does
            if multiprocessing.parent_process() is None:  # children would say it again for every run
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                note = f"geotrain-bench: warning: {origin}: {group}: {entry.name}: left out: {reason}"
                print(note, file=sys.stderr)  # noqa: T201
