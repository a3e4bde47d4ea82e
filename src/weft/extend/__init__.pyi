# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from ..core.array import Tracer as Tracer, as_value as as_value, literal as literal
from ..core.aval import Aval as Aval, aval as aval
from ..core.jaxpr import Equation as Equation, Jaxpr as Jaxpr, Var as Var, run as run
from ..core.primitive import (
    Axis as Axis,
    Collective as Collective,
    Effects as Effects,
    HigherOrder as HigherOrder,
    Primitive as Primitive,
    Shared as Shared,
    is_linear as is_linear,
)
from ..core.program_inside import ProgramInside as ProgramInside
from ..core.trace import Trace as Trace, current as current, under as under
from ..core.value import Value as Value
from ..interpreters.batch import batch as batch
from ..interpreters.jvp import jvp as jvp
from ..interpreters.linearize import LinearMap as LinearMap, linearize as linearize
from ..interpreters.stage import stage as stage
from ..interpreters.transpose import backward as backward
from ..primitives.elementwise import comparison as comparison, nary as nary, unary as unary
from . import core as core, ffi as ffi, linear_util as linear_util
