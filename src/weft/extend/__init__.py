"""Parts of extensions of weft: primitives with rules, interpreters, foreign functions.

docs/extending.md shows each of them. The names here stay; the modules that they come from may move.
"""

from ..core.array import Tracer, as_value, literal
from ..core.aval import Aval, aval
from ..core.jaxpr import Equation, Jaxpr, Var, run
from ..core.primitive import Axis, HigherOrder, Primitive, Shared, is_linear
from ..core.trace import Trace, current, under
from ..core.value import Value
from ..interpreters.batch import batch
from ..interpreters.jvp import jvp
from ..interpreters.linearize import LinearMap, linearize
from ..interpreters.stage import stage
from ..interpreters.transpose import backward
from ..primitives.families import comparison, nary, unary
from . import core, ffi, linear_util

__all__ = [
    "Aval",
    "Axis",
    "Equation",
    "HigherOrder",
    "Jaxpr",
    "LinearMap",
    "Primitive",
    "Shared",
    "Trace",
    "Tracer",
    "Value",
    "Var",
    "as_value",
    "aval",
    "backward",
    "batch",
    "comparison",
    "core",
    "current",
    "ffi",
    "is_linear",
    "jvp",
    "linear_util",
    "linearize",
    "literal",
    "nary",
    "run",
    "stage",
    "unary",
    "under",
]
