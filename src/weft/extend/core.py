"""The classes of programs by JAX's names: those of `weft.core`."""

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

__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Tracer",
    "Var",
    "eval_jaxpr",
    "get_aval",
    "jaxpr_as_fun",
]
