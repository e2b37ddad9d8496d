"""The papers' tables by one command: `reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench.cli.options import DONE, FAILED, note, say
from instances.errors import InputError


def reproduce(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer problems, shorter searches.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder; default results/reproduction, or reproduction-quick.", metavar="DIR")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Concurrent runs where seconds are not compared.", min=1)] = 2,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results in the folder.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep results computed by a different code version.")] = False,
) -> int:
    """Run what the papers' tables need, or go on where it stopped, and set the papers' claims beside our figures."""
    import pandas as pd

    from bench.cli.display import fill
    from bench.reproduction.document import write_document
    from bench.reproduction.parts import PARTS, minutes_left, run_part

    if fresh and keep:
        raise InputError("--fresh and --keep: give one of the two")
    folder = out or Path("results") / ("reproduction-quick" if quick else "reproduction")
    left = [minutes_left(part, folder, quick, jobs) for part in PARTS]
    note(f"{sum(runs for _, runs in left)} runs to go, about {sum(m for m, _ in left):.0f} minutes with --jobs {jobs}")
    failed: list[str] = []
    for part in PARTS:
        note(part.title)
        failed += run_part(part, folder, quick, jobs, fresh, keep).failed
    path = write_document(folder, quick)
    for claim in pd.read_csv(folder / "claims.csv", keep_default_na=False).itertuples():
        say(f"{claim.paper}")
        for head, text in (("says", claim.says), ("we get", claim.ours), ("why", claim.why)):
            say(fill(f"  {head}: {text}", indent=4))
    say(f"\nAll tables: {path}, {path.with_suffix('.html')}")
    return FAILED if failed else DONE
