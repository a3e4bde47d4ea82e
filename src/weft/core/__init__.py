"""JAX's `core` names for programs and values.

`isinstance(x, weft.core.Tracer)` is True while a function is traced. The other classes are for
functions that walk through programs. `weft.extend` has the parts for weft's own extensions.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "interface": """
            ClosedJaxpr Jaxpr JaxprEqn Literal Primitive ShapedArray Tracer Var eval_jaxpr get_aval
            jaxpr_as_fun
        """,
    },
)
