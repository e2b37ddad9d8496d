"""The folder for compiled code, and which solvers were compiled before."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from solvers.core.sources import solver_sources


def cache_folder() -> Path:
    """NUMBA_CACHE_DIR, or this program's folder in the user's cache. RuntimeError if the user has no home folder."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return Path(chosen) if chosen else user_cache_path("geotrain-bench", appauthor=False)


def is_warm(solver: str) -> bool:
    """Whether the solver has warmed up before with the sources of today."""
    try:
        return _marker(solver).exists()
    except (OSError, RuntimeError):
        return False


def mark_warm(solver: str) -> None:
    """Remember that the solver has warmed up; nothing happens where the cache cannot be written."""
    try:
        _marker(solver).parent.mkdir(parents=True, exist_ok=True)
        _marker(solver).touch()
    except (OSError, RuntimeError):
        return


@cache
def _marker(solver: str) -> Path:
    digest = hashlib.sha256()
    for source in sorted(solver_sources(solver)):
        digest.update(source.read_bytes())
    return cache_folder() / "warm" / f"{solver}-{digest.hexdigest()[:16]}"
