"""What became worse or better of a pair of runs: plan, value, proof, bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bench.comparison.pairs import Pair
from bench.reporting.formatting import percent, significant
from instances.objective import parse_objective
from solvers.core.interface import Status

ROUNDING = 1e-9
"""Relative; smaller differences are none."""
PROVEN = (Status.OPTIMAL, Status.INFEASIBLE)
LOST = 1.0
"""How much worse than any worse value it is to have no plan or no proof any more, to order the table."""


class Change(NamedTuple):
    """One difference. `size` is relative, above 0 where the new run is worse; `gates`: it is a regression by itself."""

    title: str
    what: str
    size: float
    gates: bool


def changes_of(pair: Pair, fail_above: float) -> Iterator[Change]:
    """All differences of a pair.

    Lost plans and proofs, failures and missing runs always gate. Worse values and bounds do by more than `fail_above`,
    unless the clock ended one of the runs: those are judged together, over all problems (`significance`).
    """
    base, new = pair
    if new is None:
        yield Change(base.title, "the run is missing", 2 * LOST, gates=True)
        return
    if new.status is Status.ERROR and base.status is not Status.ERROR:
        yield Change(base.title, f"the run failed: {new.reason}", 2 * LOST, gates=True)
        return
    yield from _status(pair)
    unit = parse_objective(base.objective).unit
    for name, sign in (("value", 1), ("bound", -1)):
        before, after = getattr(base, name), getattr(new, name)
        if before is None or after is None:
            continue
        worse = sign * relative(before, after)
        if abs(worse) > ROUNDING:
            figures = f"{significant(before, 6)} -> {significant(after, 6)} {unit}".rstrip()
            words = f"{name} {percent(abs(worse))} {'worse' if worse > 0 else 'better'}: {figures}"
            yield Change(base.title, words, worse, worse >= fail_above * (1 - ROUNDING) and not pair.by_clock)


def relative(before: float, after: float) -> float:
    """(after - before) / before; 0 becomes something or stays."""
    if before == 0:
        return 0.0 if after == 0 else LOST
    return (after - before) / before


def _status(pair: Pair) -> Iterator[Change]:
    base, new = pair
    assert new is not None
    had, has = (record.value is not None or bool(record.front) for record in (base, new))
    if had != has:
        yield Change(base.title, "no plan any more" if had else "has a plan now", LOST if had else -LOST, gates=had)
    was, is_now = (record.status in PROVEN for record in (base, new))
    if was != is_now:
        words = f"proof lost: {base.status} -> {new.status}" if was else f"proven now: {base.status} -> {new.status}"
        yield Change(base.title, words, LOST if was else -LOST, gates=was)
    if base.bound is not None and new.bound is None and not was:
        yield Change(base.title, "no bound any more", LOST, gates=True)
