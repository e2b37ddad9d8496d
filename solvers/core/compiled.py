"""One decorator for all numba code; its cache lies in the user's cache folder, never beside the source.

Import this module only from modules that are themselves imported late: importing numba takes a second.
"""

# What is ours here is typed; numba is not.
# mypy: disable-error-code="no-untyped-call"

# Numba is not typed; see the override for it in pyproject.toml.
# mypy: disable-error-code="misc"

import functools
import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from solvers.core.cache import cache_folder
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
        return _jit(function)
    before = config.CACHE_DIR
    config.CACHE_DIR = folder
    try:
        return _jit(function, cache=True, no_cfunc_wrapper=True)
    finally:
        config.CACHE_DIR = before


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as a part of the compiled functions that call it; cannot be called from Python.

    It is optimised and translated to machine code with its callers only, once, where numba does so
    at every level of the calls; that is most of the time of compilation.
    """
    return _jit(function, **_ONLY_LINKED)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """As `inner`, and copied into each caller: for small functions that inner loops call.

    A call costs more than their arithmetic: all offsets are passed, and references to arrays are counted.
    """
    return _jit(function, **_ONLY_LINKED, forceinline=True)


def _jit(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    jit: Any = numba.njit  # typed in some releases of numba only
    result: Callable[P, R] = jit(**options)(function)
    return result


class _LinkedLibrary(JITCodeLibrary):
    """LLVM code that waits to be linked into its caller's."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Left to the caller."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerForCallers(NativeLowering):
    """Numba's last step for a function, without translation to machine code."""

    _name = "lower_for_callers"

    def run_pass(self, state: Any) -> bool:
        state.library = library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        fndesc, call_helper, _, env = state["cr"]
        # What numba makes of a function without a way in from Python.
        entry = _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "", 0, env, (library,))
        state.targetctx.insert_user_function(entry, fndesc, [library])
        state["cr"] = _LowerResult(fndesc, call_helper, cfunc=entry, env=env)
        return True


class _CallersCompiler(CompilerBase):
    """Numba's pipeline with that last step."""

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(_LowerForCallers if step is NativeLowering else step, name) for step, name in manager.passes]
        manager.finalize()
        return [manager]


_ONLY_LINKED: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,  # no counting of references: such code allocates nothing
    "pipeline_class": _CallersCompiler,
}
