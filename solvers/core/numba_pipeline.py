"""Our numba pipeline: functions that only compiled code calls are typed, and compiled as part of their callers.

Numba optimises every function and translates it to machine code, together with all that it calls, at every level of
the calls again. Here that is done once, for the functions that Python calls: a fifth of the time.
"""

# Numba is not typed.
# mypy: disable-error-code="no-untyped-call,misc"

from __future__ import annotations

from typing import Any, ClassVar

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _Linked(JITCodeLibrary):
    """Code of one function, to be linked into its callers'."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Leave linking, optimisation and translation to the callers."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def with_all_it_calls(self) -> list[Any]:
        """What a caller must link."""
        return [self, *self._linking_libraries]


class _Entry(JITCodeLibrary):
    """Code of a function that Python calls, and of all that it calls."""

    def _optimize_final_module(self) -> None:
        # Numba's first, cheap round serves the pruning of reference counts, which hardly occur here.
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerLinked(NativeLowering):
    """Numba's last step without translation to machine code."""

    _name = "lower_linked"

    def run_pass(self, state: Any) -> bool:
        state.library = library = _Linked(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        fndesc, call_helper, _, env = state["cr"]
        # What numba makes of a function without a way in from Python.
        entry = _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "", 0, env, (library,))
        state.targetctx.insert_user_function(entry, fndesc, library.with_all_it_calls())
        state["cr"] = _LowerResult(fndesc, call_helper, cfunc=entry, env=env)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerEntry(NativeLowering):
    """Numba's last step, with one round of optimisation."""

    _name = "lower_entry"

    def run_pass(self, state: Any) -> bool:
        state.library = _Entry(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


def _pipeline(state: Any, last: type[NativeLowering]) -> list[Any]:
    """Numba's own, with another last step."""
    manager = DefaultPassBuilder.define_nopython_pipeline(state)
    manager.passes = [(last if step is NativeLowering else step, name) for step, name in manager.passes]
    manager.finalize()
    return [manager]


class EntryCompiler(CompilerBase):
    """Compiles functions that Python calls."""

    def define_pipelines(self) -> list[Any]:
        """What numba is to do."""
        return _pipeline(self.state, _LowerEntry)


class _SharedFlags(Flags):
    """Options of all functions that have the same: numba compares them whenever it looks up an operator."""

    def __init__(self, options: Flags) -> None:
        super().__init__(options)
        self._hash = hash(options)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    def copy(self) -> Flags:
        """Nothing changes them."""
        return self


class LinkedCompiler(CompilerBase):
    """Compiles functions that only compiled code calls; they must allocate nothing."""

    options: ClassVar[dict[str, Any]] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    _shared: ClassVar[dict[Flags, _SharedFlags]] = {}

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        flags: Any = self.state.flags
        flags.no_compile = True
        self.state.flags = self._shared.setdefault(flags, _SharedFlags(flags))

    def define_pipelines(self) -> list[Any]:
        """What numba is to do."""
        return _pipeline(self.state, _LowerLinked)
