"""The instances of all shipped suites, made once for all tests that look at them."""

from __future__ import annotations

from functools import cache

from bench.runs.suite import entries_of, read_suite, shipped
from instances.instance import Instance


@cache
def instances_by_suite() -> dict[str, list[Instance]]:
    """Every instance of every suite, hashes checked, in the suite's order."""
    found = {}
    for name in shipped():
        suite, folder = read_suite(name)
        found[name] = [instance for _, instance in entries_of(suite, folder, name)]
    return found
