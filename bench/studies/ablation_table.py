"""The summary of an ablation: what every variant loses against the whole algorithm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import exp, inf, log, nan
from pathlib import Path
from statistics import fmean

from bench.reporting.formatting import markdown, percent
from bench.studies.ablation import FULL, VARIANTS, Run
from bench.studies.ablation_file import read_runs

HEADER = ("option", "off is", "mean loss", "largest loss", "worse", "better", "without a plan")
SIGNIFICANCE = 0.05
Values = Mapping[tuple[str, str], Sequence[float]]
"""By instance and objective: the value of every seed, infinite where no plan was found."""
Test = tuple[str, tuple[str, str]]
"""A variant on one instance and objective."""


def ablation_table(path: Path) -> str:
    """A row per variant, in the order of `VARIANTS`, and a line on how it was measured."""
    runs = read_runs(path)
    if not runs:
        return "Not measured yet; `make ablation` does."
    values = values_by_variant(runs)
    full = values.pop(FULL, {})
    tests = {
        (variant, problem): difference(values[variant][problem], full[problem])
        for variant in VARIANTS
        if variant in values
        for problem in full
        if problem in values[variant]
    }
    verdicts = significant(tests)
    rows = [_row(variant, values[variant], full, verdicts) for variant in VARIANTS if variant in values]
    table = markdown(HEADER, rows, [name not in ("option", "off is") for name in HEADER])
    seeds = len({run.seed for run in runs})
    budgets = ", ".join(sorted({run.budget for run in runs}))
    note = (
        f"{len(full)} instances, {seeds} seeds, {budgets} a run, one thread. Loss: geometric mean over the seeds "
        "against the whole algorithm's, its mean and largest over the instances; *worse* and *better* count instances "
        f"by two-sided Mann-Whitney tests at a false discovery rate of {SIGNIFICANCE:g} in this table."
    )
    return f"{table}\n\n{note}"


def values_by_variant(runs: Sequence[Run]) -> dict[str, dict[tuple[str, str], list[float]]]:
    """The values of each variant on each problem."""
    found: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        found[run.variant][run.instance, run.objective].append(inf if run.value is None else run.value)
    return {variant: dict(problems) for variant, problems in found.items()}


def loss(values: Sequence[float], full: Sequence[float]) -> float:
    """How much larger the geometric mean is, over the runs that found a plan; nan where there is none.

    Not the median: where seeds end in one of two basins, it shows nothing or all of the distance between them.
    """
    ours, theirs = ([log(value) for value in each if value < inf] for each in (values, full))
    return exp(fmean(ours) - fmean(theirs)) - 1 if ours and theirs else nan


def difference(values: Sequence[float], full: Sequence[float]) -> tuple[float, int]:
    """The chance of a difference as large where there is none, and 1 if the values are worse (larger), else -1.

    The seeds do not pair the runs: after the first difference they draw other numbers. Values are compared to
    nine digits, so that mirrored plans, equal but for rounding, count as ties.
    """
    from scipy.stats import mannwhitneyu

    ours, theirs = ([float(f"{value:.9g}") for value in each] for each in (values, full))
    if len({*ours, *theirs}) == 1:
        return 1.0, 1
    test = mannwhitneyu(ours, theirs, alternative="two-sided")
    return float(test.pvalue), 1 if test.statistic > len(ours) * len(theirs) / 2 else -1


def significant(tests: Mapping[Test, tuple[float, int]]) -> dict[Test, int]:
    """1 or -1 for each test that holds beside all the others, 0 for the rest (Benjamini and Hochberg 1995)."""
    from scipy.stats import false_discovery_control

    if not tests:
        return {}
    chances = false_discovery_control([chance for chance, _ in tests.values()])
    return {
        test: sign if chance < SIGNIFICANCE else 0
        for (test, (_, sign)), chance in zip(tests.items(), chances, strict=True)
    }


def _row(variant: str, values: Values, full: Values, tests: Mapping[Test, int]) -> list[str]:
    both = [problem for problem in full if problem in values]
    losses = [each for problem in both if (each := loss(values[problem], full[problem])) == each]
    verdicts = [tests[variant, problem] for problem in both]
    failed = sum(value == inf for problem in both for value in values[problem])
    return [
        f"`{variant}`",
        VARIANTS[variant],
        percent(fmean(losses), signed=True) if losses else percent(None),
        percent(max(losses), signed=True) if losses else percent(None),
        str(verdicts.count(1)),
        str(verdicts.count(-1)),
        str(failed),
    ]
