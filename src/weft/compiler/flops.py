"""Counts the floating-point operations of a program, without running it.

A multiplication and an addition are two operations. So matrix products and convolutions count two
per multiplication. Reductions count one per input element, or the operations of the function that
combines two elements. Other operations on floats count one per output element. Moving and
converting elements counts as zero. The body of a loop counts once for each iteration, or once if
their number is unknown (`while`). Of several branches, the most expensive one counts. A linear
solve counts as its solver.
"""

import math
from typing import Any

from ..core.caching import derived
from ..core.jaxpr import Equation, Jaxpr
from ..primitives.products import multiplications

# fmt: off
_DATA_MOVEMENTS = frozenset(
    (
        "bitcast_convert_type", "broadcast_in_dim", "concatenate", "conj", "convert_element_type",
        "copy", "device_put", "gather", "guard", "imag", "iota", "name", "optimization_barrier",
        "pad", "random_bits", "real", "reshape", "rev", "scatter", "select_n",
        "sharding_constraint", "slice", "split", "stop_gradient", "threefry2x32", "transpose",
        "window_place",
    )
)
# fmt: on
_REDUCTIONS = ("reduce_", "arg", "cum", "sort", "top_k", "scatter_")


@derived
def flops(jaxpr: Jaxpr) -> int:
    """The number of floating-point operations of a program.

    Example:
      >>> import weft, weft.numpy as np
      >>> flops(weft.make_jaxpr(lambda x, y: x @ y + 1.0)(np.ones((2, 3)), np.ones((3, 4))))
      56
    """
    return sum(map(_of_equation, jaxpr.equations))


def _of_equation(equation: Equation) -> int:
    name, params = equation.primitive.name, dict(equation.params)
    inner = _programs(params)
    if inner:
        counts = [flops(program) for program in inner]
        if name == "cond":
            return max(counts)
        if name == "reduce":
            return sum(counts) * max(x.aval.size for x in equation.inputs)
        if name == "reduce_window":
            window = math.prod(params["geometry"].window)
            return sum(counts) * int(equation.outvars[0].aval.size * window)
        return sum(counts) * (params["length"] if name == "scan" else 1)
    avals = [x.aval for x in equation.inputs]
    out = equation.outvars[0].aval
    if name in _DATA_MOVEMENTS or not any(a.dtype.kind in "fcV" for a in (*avals, out)):
        return 0
    if name == "dot_general":
        return 2 * multiplications(avals[0], avals[1], params["dims"])
    if name == "conv_general_dilated":
        kernel, out_features = avals[1], params["numbers"].rhs_spec[0]
        return int(2 * out.size * (kernel.size // kernel.shape[out_features]))
    if name.startswith("reduce_window"):
        return int(out.size * math.prod(params["geometry"].window))
    if name.startswith(_REDUCTIONS):
        return max(a.size for a in avals)
    return sum(v.aval.size for v in equation.outvars)


def _programs(params: dict[str, Any]) -> list[Jaxpr]:
    """The programs that an operation runs."""
    if "jaxpr" in params:  # the other programs only describe it, like the matrix of a linear solve
        return [params["jaxpr"]]
    series = [value if isinstance(value, tuple | list) else (value,) for value in params.values()]
    return [value for values in series for value in values if isinstance(value, Jaxpr)]
