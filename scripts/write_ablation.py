"""Write `results/ablation.csv`: `memetic` with each of its parts off, at equal budgets (`make ablation`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bench.studies.ablation import (
    BENCHMARKS,
    FILE,
    SOLVER,
    VARIANTS,
    append_run,
    budget_text,
    read_runs,
    runs,
    write_runs,
)
from instances.errors import InputError
from solvers.core.interface import Budget
from solvers.core.sources import solver_digest


def write_ablation(path: Path, limit: Budget, seeds: int, fresh: bool = False) -> None:
    """Make what is missing in the file. InputError if it holds runs of another budget or of another solver."""
    known = [] if fresh else read_runs(path)
    other = {run.budget for run in known} - {budget_text(limit)}
    if other:
        raise InputError(f"{path}: holds runs of {other.pop()}, not of {budget_text(limit)}; --fresh starts over")
    if {run.sources for run in known} - {solver_digest(SOLVER)}:
        raise InputError(f"{path}: holds runs of {SOLVER} by other code; --fresh starts over")
    write_runs(path, known)  # without a line that was cut short
    count = seeds * len(BENCHMARKS) * len(VARIANTS)
    done = frozenset(run.key for run in known)
    for number, run in enumerate(runs(limit, seeds, done), len(known) + 1):
        append_run(path, run)
        print(f"{number}/{count}: {run.instance}, {run.objective}, {run.variant}: {run.value}", file=sys.stderr)  # noqa: T201


def main(
    seconds: Annotated[float, typer.Option(help="Budget of a run.", min=0.001)] = 2.0,
    evaluations: Annotated[int | None, typer.Option(help="Budget of a run in evaluations, instead.", min=1)] = None,
    seeds: Annotated[int, typer.Option(help="Runs of each variant on each instance.", min=1)] = 10,
    out: Annotated[Path, typer.Option(help="The file.")] = FILE,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget old runs: needed when the solver changed.")] = False,
) -> None:
    """Compare the whole algorithm with variants; goes on where it stopped."""
    limit = Budget(seconds=seconds) if evaluations is None else Budget(evaluations=evaluations)
    try:
        write_ablation(out, limit, seeds, fresh)
    except InputError as error:
        print(error, file=sys.stderr)  # noqa: T201
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("interrupted; the same call goes on from here", file=sys.stderr)  # noqa: T201
        raise SystemExit(130) from None


if __name__ == "__main__":
    typer.run(main)
