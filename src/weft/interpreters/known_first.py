"""Do now what can be done now: operations on known values are computed, others go outside.

Knows the base trace; knows nothing of which transformation is outside.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..core.array import Tracer
from ..core.primitive import Primitive
from ..core.trace import Params, Trace, current
from ..core.value import Value


class KnownFirstTrace(Trace):
    """Computes operations on arrays; those on tracers mean what they mean outside."""

    outside: Trace
    __slots__ = ("outside",)

    def __init__(self, outside: Trace) -> None:
        self.outside = outside

    def for_(self, args: Sequence[Value]) -> Any:
        """The trace under which an operation on these arguments is applied."""
        if any(isinstance(a, Tracer) for a in args):
            return self.outside
        return current.bottom

    def bind(
        self, primitive: Primitive, args: Sequence[Value], params: Params, out: object = None
    ) -> Any:
        return self.for_(args).bind(primitive, args, params, out)

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: object,
        args: Sequence[Value],
    ) -> Any:
        """A function with a derivative rule of its own: nothing known is differentiated."""
        trace = self.for_(args)
        if trace is self.outside:
            return trace.bind_custom(primitive, function, rules, args)
        return function(*args)
