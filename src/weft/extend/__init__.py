"""Parts of extensions of weft: primitives with rules, interpreters, foreign functions.

docs/extending.md shows each of them. The names here are stable; their modules may move.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        ".core.array": "Tracer as_value literal",
        ".core.aval": "Aval aval",
        ".core.jaxpr": "Equation Jaxpr Var run",
        ".core.primitive": "Axis Collective Effects HigherOrder Primitive Shared is_linear",
        ".core.program_inside": "ProgramInside",
        ".core.trace": "Trace current under",
        ".core.value": "Value",
        ".interpreters.batch": "batch",
        ".interpreters.jvp": "jvp",
        ".interpreters.linearize": "LinearMap linearize",
        ".interpreters.stage": "stage",
        ".interpreters.transpose": "backward",
        ".primitives.elementwise": "comparison nary unary",
    },
    modules="core ffi linear_util",
)
