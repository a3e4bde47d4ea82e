# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .interface import (
    ClosedJaxpr as ClosedJaxpr,
    Jaxpr as Jaxpr,
    JaxprEqn as JaxprEqn,
    Literal as Literal,
    Primitive as Primitive,
    ShapedArray as ShapedArray,
    Tracer as Tracer,
    Var as Var,
    eval_jaxpr as eval_jaxpr,
    get_aval as get_aval,
    jaxpr_as_fun as jaxpr_as_fun,
)
