"""The classes of programs and values, by JAX's names.

`isinstance(x, weft.core.Tracer)` is True while a function is traced; the others are for functions
that walk through programs. What weft's own extensions are made of is in `weft.extend`.
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
