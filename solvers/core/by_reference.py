"""Named tuples that compiled functions pass on by reference: one pointer instead of hundreds of arguments.

Numba passes every entry of a tuple, and seven numbers for every array in it, in every call; for the tuples of a
search that was half of all code that it had to make. Fields are read where they are used.
"""

# Numba is not typed, nor are functions of its extension interface.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,override,attr-defined"

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, register_model


class Reference(types.Type):
    """A pointer to a named tuple that outlives the call."""

    def __init__(self, target: Any) -> None:
        self.target = target
        super().__init__(f"Reference({target.name})")

    def field(self, name: str) -> Any:
        """The type of an attribute: tuples that hold arrays are read by reference as well."""
        found = self.target.types[self.target.fields.index(name)]
        holds_arrays = isinstance(found, types.BaseNamedTuple) and any(
            isinstance(kind, types.Array | types.BaseNamedTuple) for kind in found.types
        )
        return Reference(found) if holds_arrays else found


@register_model(Reference)
class _Pointer(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, manager.lookup(kind.target).get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        return reference.field(name) if name in reference.target.fields else None


@lower_getattr_generic(Reference)
def _read_field(context, builder, reference, pointer, name):
    field = cgutils.gep_inbounds(builder, pointer, 0, reference.target.fields.index(name))
    return field if isinstance(reference.field(name), Reference) else builder.load(field)


def _by_reference(typing_context, values):
    """A reference to a named tuple; valid until the function that makes it returns."""

    def make(context, builder, signature, arguments):
        return cgutils.alloca_once_value(builder, arguments[0])

    return Reference(values)(values), make


by_reference: Any = intrinsic(_by_reference)
