"""Two commits side by side: each is built in a folder of its own, and their benchmarks take turns.

    .venv/bin/python -m scripts.compare_speed main HEAD --rounds 5

A benchmark is compared by the ratio of its medians in each round, as both then meet the same machine. Benchmarks that
only one of the commits has are named. The folders are kept in `build/speed/`, so a second call builds nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "speed"
COMMITS = ("base", "new")


def build(commit: str) -> Path:
    """A worktree of the commit with its environment; CalledProcessError if there is no such commit."""
    full = subprocess.run(["git", "rev-parse", f"{commit}^{{commit}}"], cwd=ROOT, check=True, capture_output=True)
    name = full.stdout.decode().strip()
    folder = FOLDER / name[:12]
    if not folder.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(folder), name], cwd=ROOT, check=True)
    subprocess.run(["make", "setup"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


def medians(folder: Path, only: str) -> pd.Series:
    """[benchmark] Median seconds of one round."""
    out = folder / "build" / "speed.json"
    out.parent.mkdir(exist_ok=True)
    command = [".venv/bin/python", "-m", "pytest", "tests", "-q", "-p", "no:cacheprovider", "-k", only]
    command += ["-o", "addopts=--strict-markers --benchmark-only", f"--benchmark-json={out}"]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True)
    if done.returncode:
        sys.exit(f"{folder}: the benchmarks failed\n{done.stdout.decode()}")
    found = json.loads(out.read_text(encoding="utf-8"))["benchmarks"]
    return pd.Series({entry["name"]: entry["stats"]["median"] for entry in found}, dtype=float)


def ratios(rounds: list[dict[str, pd.Series]]) -> pd.DataFrame:
    """[benchmark] `base_s` and `new_s`, medians over the rounds, and `ratio`, `least`, `most` of new / base."""
    base, new = (pd.DataFrame([one[commit] for one in rounds]) for commit in COMMITS)
    ratio = (new / base)[base.columns.intersection(new.columns)]
    parts = {"base_s": base.median(), "new_s": new.median(), "ratio": ratio.median()}
    return pd.DataFrame(parts | {"least": ratio.min(), "most": ratio.max()})


def main(
    base: Annotated[str, typer.Argument(help="A commit.")],
    new: Annotated[str, typer.Argument(help="Another commit.")] = "HEAD",
    rounds: Annotated[int, typer.Option(help="How often the two take turns.", min=1)] = 3,
    only: Annotated[str, typer.Option(help="Only benchmarks with this in their names, as pytest's -k.")] = "",
) -> None:
    """Print how fast the benchmarks of two commits are, and their ratios."""
    folders = {name: build(commit) for name, commit in zip(COMMITS, (base, new), strict=True)}
    done = []
    for number in range(rounds):
        order = COMMITS if number % 2 == 0 else COMMITS[::-1]
        done.append({name: medians(folders[name], only) for name in order})
        typer.echo(f"round {number + 1} of {rounds} is done", err=True)
    table = ratios(done)
    typer.echo(table.to_string(float_format=lambda x: f"{x:.3g}", na_rep="only in one"))


if __name__ == "__main__":
    typer.run(main)
