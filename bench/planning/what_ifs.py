"""What another pool or another training would cost: without a site, with faster links, with a smaller batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bench.records.record import Result
from bench.reporting.formatting import Cell, as_text, percent, significant
from bench.runs.isolated import Termination
from bench.runs.solve import solve_request
from instances.instance import Instance
from instances.reduce import without
from solvers.core.interface import Budget

MOST_SITES = 8
"""Sites that are left out in turn; with more, no single one says much."""


class WhatIf(NamedTuple):
    """A change and the plan of `memetic` under it; figures are None where it finds none.

    Per token, as a change may be one of the batch: tokens per second, joules per 1,000 tokens, and how much more of
    each than now.
    """

    change: str
    tokens_per_s: float | None
    joules: float | None
    more_tokens: float | None
    more_joules: float | None


COLUMNS: Mapping[str, Cell] = {
    "what if": as_text("change"),
    "tokens/s": lambda row: significant(row["tokens_per_s"]),
    "change": lambda row: percent(row["more_tokens"], signed=True),
    "J per 1,000 tokens": lambda row: significant(row["joules"]),
    "change of J": lambda row: percent(row["more_joules"], signed=True),
}


def what_ifs(
    instance: Instance,
    now: Result,
    objective: str,
    seconds: float,
    seed: int = 0,
    on_step: Callable[[str], None] = lambda change: None,
) -> list[WhatIf]:
    """Solve each variant for so many seconds; the first row is the plan as it is. Ctrl-C keeps the rows done."""
    rows = [_row("as it is", instance, now, None)]
    for change, variant in variants(instance):
        on_step(change)
        found = solve_request(variant, "memetic", {}, objective, Budget(seconds, None, seed, 1))
        if found.ended is Termination.INTERRUPTED:
            break
        rows.append(_row(change, variant, found, rows[0]))
    return rows


def variants(instance: Instance) -> Iterator[tuple[str, Instance]]:
    """Each change in words, and the instance after it."""
    regions = list(dict.fromkeys(group.region for group in instance.groups))
    for region in regions if 1 < len(regions) <= MOST_SITES else ():
        names = [group.name for group in instance.groups if group.region == region]
        yield f"without {region}", without(instance, names).instance
    if instance.gpus > 1:
        bandwidth = tuple(tuple(b and min(2 * b, 1e30) for b in row) for row in instance.network.bandwidth)
        faster = instance.network.model_copy(update={"bandwidth": bandwidth})
        yield "links twice as fast", _fresh(instance, {"network": faster})
    training = instance.training
    half, odd = divmod(training.global_batch, 2)
    if not odd and any(half % size == 0 for size in training.micro_batches):
        yield f"global batch of {half}", _with_training(instance, global_batch=half)
    if training.recompute != "full":
        yield "recompute full", _with_training(instance, recompute="full")
    if training.recompute != "none":
        yield "recompute none", _with_training(instance, recompute="none")


def _row(change: str, instance: Instance, found: Result, now: WhatIf | None) -> WhatIf:
    if found.time_s is None or found.energy_j is None:
        return WhatIf(change, None, None, None, None)
    count = instance.training.global_batch * instance.model.sequence
    tokens, joules = count / found.time_s, 1000 * found.energy_j / count
    if now is None or now.tokens_per_s is None or now.joules is None:
        return WhatIf(change, tokens, joules, None, None)
    return WhatIf(change, tokens, joules, tokens / now.tokens_per_s - 1, joules / now.joules - 1)


def _with_training(instance: Instance, **update: object) -> Instance:
    return _fresh(instance, {"training": instance.training.model_copy(update=update)})


def _fresh(instance: Instance, update: dict[str, object]) -> Instance:
    """A checked copy: what was cached for the original does not hold for it."""
    return Instance.model_validate(instance.model_copy(update=update).model_dump(by_alias=True))
