"""One decorator for all numba code; its cache lies in the user's cache folder, never beside the source.

Import this module only from modules that are themselves imported late: importing numba takes a second.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def user_cache_folder() -> Path:
    """Where this user's programs keep what they can make again.

    Raises
    ------
    RuntimeError
        The user has no home folder.
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):  # the XDG specification tells programs to ignore relative paths
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"


def source_digest(package: Path) -> str:
    """Return a short digest of this file and of every folder below `package` that holds compiled code.

    numba renews a cached function when its own file changes, but not when a function that it calls or
    a constant that it has frozen does, in another file. A folder of its own for each state of the
    sources closes that gap.
    """
    sources = {path: path.read_bytes() for path in sorted(package.rglob("*.py"))}
    folders = {path.parent for path, text in sources.items() if b"from solvers.compiled import" in text}
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path, text in sources.items():
        if path.parent in folders:
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + text + b"\0")
    return digest.hexdigest()[:16]


def find_cache_folder() -> str | None:
    """Return the folder for compiled code, made if it was missing; None if nothing can be written there."""
    try:
        chosen = os.environ.get("NUMBA_CACHE_DIR")
        package = Path(__file__).parent
        folder = Path(chosen) if chosen else user_cache_folder() / "geotrain-bench" / source_digest(package)
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError):
        return None
    return str(folder)


CACHE_FOLDER = find_cache_folder()


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with `numba.njit` on its first call; kept on disk where that is possible.

    The setting is put back afterwards: numba reads it here, and other users of numba in this
    process keep their own.
    """
    jit: Any = numba.njit  # typed in some releases of numba only
    config: Any = numba.config
    result: Callable[P, R]
    if CACHE_FOLDER is None:
        result = jit(function)
        return result
    before = config.CACHE_DIR
    config.CACHE_DIR = CACHE_FOLDER
    try:
        result = jit(cache=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before
    return result
