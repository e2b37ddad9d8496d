"""One decorator for all numba code; its cache lies in the user's cache folder, never beside the source.

Import this module only from modules that are themselves imported late: importing numba takes a second.
"""

import functools
import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba

from solvers.core.cache import cache_folder
from solvers.core.numba_pipeline import EntryCompiler, LinkedCompiler
from solvers.core.sources import ROOT, sources_used

P = ParamSpec("P")
R = TypeVar("R")


def source_digest(path: Path, root: Path) -> str:
    """Return a short digest of everything that the compiled code of one file may come from.

    numba renews a cached function when its own file changes, but not when a function that it calls or
    a constant that it has frozen does, in another file; and it cannot read what it kept at all once a module
    is gone that had defined a type of an argument. A folder of its own for each state of the sources closes
    both gaps. Types of arguments come from the file's own package or from what that imports.
    """
    name = path.relative_to(root).as_posix()
    return hashlib.sha256(f"{name} {_package_digest(path.parent, root)}".encode()).hexdigest()[:16]


@functools.cache
def _package_digest(folder: Path, root: Path) -> str:
    digest = hashlib.sha256()
    for source in sorted(sources_used(folder.glob("*.py"), root)):
        digest.update(source.relative_to(root).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


def find_cache_folder(path: Path) -> str | None:
    """Return the folder for the compiled code of a file, made if missing; None if it cannot be written."""
    try:
        folder = cache_folder() / source_digest(path, ROOT)
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError, ValueError):  # RuntimeError: no home folder; ValueError: not one of our files
        return None
    return str(folder)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with `numba.njit` on its first call; kept on disk where that is possible.

    For the way into compiled code from Python: what it calls is kept with it.
    """
    # The setting is put back afterwards: numba reads it here, and other users of numba in this process
    # keep their own.
    config: Any = numba.config
    folder = find_cache_folder(Path(function.__code__.co_filename))
    if folder is None:
        return _jit(function, pipeline_class=EntryCompiler, no_cfunc_wrapper=True)
    before = config.CACHE_DIR
    config.CACHE_DIR = folder
    try:
        return _jit(function, pipeline_class=EntryCompiler, no_cfunc_wrapper=True, cache=True)
    finally:
        config.CACHE_DIR = before


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as a part of the compiled functions that call it; cannot be called from Python.

    It must allocate nothing and return no array.
    """
    return _jit(function, pipeline_class=LinkedCompiler, **LinkedCompiler.options)


def inner_allocating(function: Callable[P, R]) -> Callable[P, R]:
    """As `inner`, for functions that may allocate, such as those that add to a list."""
    options = {name: value for name, value in LinkedCompiler.options.items() if name != "_nrt"}
    return _jit(function, pipeline_class=LinkedCompiler, **options)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """As `inner`, and copied into each caller: for small functions that inner loops call.

    A call costs more than their arithmetic, since all offsets are passed.
    """
    return _jit(function, pipeline_class=LinkedCompiler, forceinline=True, **LinkedCompiler.options)


def _jit(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    jit: Any = numba.njit  # typed in some releases of numba only
    result: Callable[P, R] = jit(**options)(function)
    return result
