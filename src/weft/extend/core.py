"""Classes of programs by JAX's names, and the state of tracing (OpaqueTraceState,
get_opaque_trace_state).
"""

import weakref

from ..core.interface import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    ShapedArray,
    Tracer,
    Var,
    eval_jaxpr,
    get_aval,
    jaxpr_as_fun,
)
from ..core.trace import current

__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "OpaqueTraceState",
    "Primitive",
    "ShapedArray",
    "Tracer",
    "Var",
    "eval_jaxpr",
    "get_aval",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
]


class OpaqueTraceState:
    """A mark of the current trace, for comparisons only.

    Two are equal if they were made under the same trace: in the same call of a transformed
    function, or both outside of transformations. It keeps no trace alive.

    Example:
      >>> from weft.extend.core import get_opaque_trace_state
      >>> get_opaque_trace_state() == get_opaque_trace_state()
      True
    """

    __slots__ = ("_key", "_trace")

    def __init__(self) -> None:
        self._key, self._trace = id(current.trace), weakref.ref(current.trace)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpaqueTraceState):
            return NotImplemented
        return self._trace() is not None and self._trace() is other._trace()

    def __hash__(self) -> int:
        return self._key


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """The current state of tracing, to compare with the state at another time.

    Libraries use it to detect that an object with arrays is used under a transformation other than
    the one in which it was made.

    Args:
      convention: the name of the library, which has no effect.
    Example:
      >>> import weft
      >>> outside = weft.extend.core.get_opaque_trace_state()
      >>> outside == weft.extend.core.get_opaque_trace_state()
      True
      >>> same = []
      >>> def f(x):
      ...     same.append(outside == weft.extend.core.get_opaque_trace_state())
      ...     return x
      >>> _, same = weft.jit(f)(1.0), same
      >>> same
      [False]
    Source: JAX's source, `jax.extend.core.get_opaque_trace_state`: its name and meaning.
    """
    return OpaqueTraceState()
