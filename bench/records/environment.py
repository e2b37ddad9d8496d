"""Where a result was made: versions, commit and machine."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from instances.files import FileModel

PACKAGES = ("geotrain-bench", "highspy", "moocore", "numba", "numpy", "ortools", "pandas", "pulp", "scipy")


class Machine(FileModel):
    """Where a result was made; nothing that names the machine."""

    processor: str
    cores: int | None
    memory_gib: int | None
    system: str
    architecture: str


@cache
def versions() -> dict[str, str | None]:
    """Versions of Python and of every package that can change a result; None where one is missing."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


@cache
def commit() -> tuple[str | None, bool | None]:
    """Commit of the source tree and whether it has changes; None for an installed copy."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None, None
    words = ["git", "-C", str(root), "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"]
    try:
        found = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None, None
    return found.removesuffix("-dirty"), found.endswith("-dirty")


@cache
def machine() -> Machine:
    """This machine."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count(),
        memory_gib=_memory_gib(),
        system=platform.system(),
        architecture=platform.machine(),
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gib() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (ValueError, OSError):
        return None
