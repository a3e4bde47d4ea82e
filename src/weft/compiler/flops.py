"""Counts the floating-point operations of programs, without running them.

An elementwise operation counts one per element, even an exponential. A multiplication and an
addition are two operations, so matrix products and convolutions count two per multiplication.
Reductions count one per element of the input, or the operations of the function that combines two
elements. Factorizations count the leading term of the textbook algorithm. Moving and converting
elements counts zero, and so do operations on integers.

The body of a loop counts once for each iteration, or once if their number is unknown (`while`). Of
several branches, the most expensive one counts. A linear solve counts as its solver.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..core.aval import Aval
from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, executed_programs
from ..core.primitive import registry
from ..primitives.products import multiplications

MOVES = frozenset(["imag", "real", "complex", "conj", "copy", "name", "stop_gradient"])
"""Elementwise operations that compute nothing."""

# fmt: off
ONE_PER_ELEMENT = frozenset(
    (
        "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or",
        "reduce_xor", "argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp",
        "linear_recurrence", "top_k", "scatter_add", "scatter_mul", "scatter_min", "scatter_max",
        "psum", "pmax", "pmin", "psum_shared", "psum_scatter",
    )
)
# fmt: on
"""Operations that count one for each element of their largest operand."""

Params = dict[str, Any]
Count = Callable[[Sequence[Aval], Sequence[Aval], Params], float]
"""(avals of the operands, avals of the results, parameters) -> floating-point operations."""


def _dot(ins: Sequence[Aval], outs: Sequence[Aval], params: Params) -> float:
    return 2 * multiplications(ins[0], ins[1], params["dims"])


def _convolution(ins: Sequence[Aval], outs: Sequence[Aval], params: Params) -> float:
    kernel, features = ins[1], params["numbers"].rhs_spec[0]
    return 2 * outs[0].size * kernel.size / max(kernel.shape[features], 1)


def _matrices(factor: float) -> Count:
    """`factor` k² n for n × k matrices, k <= n."""

    def count(ins: Sequence[Aval], outs: Sequence[Aval], params: Params) -> float:
        *batch, n, k = ins[0].shape
        return factor * math.prod(batch) * max(n, k) * min(n, k) ** 2

    return count


def _solutions(ins: Sequence[Aval], outs: Sequence[Aval], params: Params) -> float:
    return outs[0].size * ins[0].shape[-1]


def _window(ins: Sequence[Aval], outs: Sequence[Aval], params: Params) -> float:
    return outs[0].size * math.prod(params["geometry"].window)


def _sort(ins: Sequence[Aval], outs: Sequence[Aval], params: Params) -> float:
    return ins[0].size * logarithm(ins[0].shape[params["dimension"]])


def _transform(ins: Sequence[Aval], outs: Sequence[Aval], params: Params) -> float:
    return 5 * max(ins[0].size, outs[0].size) * logarithm(math.prod(params["fft_lengths"]))


def logarithm(n: int) -> int:
    """The logarithm to base 2, rounded up, at least 1."""
    return max(n - 1, 1).bit_length()


COUNTS: dict[str, Count] = {
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "cholesky": _matrices(1 / 3),
    "lu": _matrices(2 / 3),
    "geqrf": _matrices(4 / 3),
    "qr": _matrices(8 / 3),
    "factored_solve": _solutions,
    "eigh": _matrices(9),
    "svd": _matrices(12),
    "eig": _matrices(25),
    "triangular_solve": _solutions,
    "reduce_window_sum": _window,
    "reduce_window_max": _window,
    "reduce_window_min": _window,
    "sort": _sort,
    "fft": _transform,
}


def operation_flops(name: str, ins: Sequence[Aval], outs: Sequence[Aval], params: Params) -> float:
    """The floating-point operations of one run of a primitive; 0 if it runs programs.

    Args:
      name, params: the primitive's name and parameters.
      ins, outs: the avals of its operands and results.
    """
    if not any(a.dtype.kind in "fcV" for a in (*ins, *outs)):
        return 0
    if name in COUNTS:
        return COUNTS[name](ins, outs, params)
    if name in ONE_PER_ELEMENT:
        return max([a.size for a in ins])
    primitive = registry.get(name)
    is_elementwise = primitive is not None and primitive.elementwise and name not in MOVES
    return outs[0].size if is_elementwise or name == "pow" else 0


@cached_on_program
def flops(jaxpr: Jaxpr) -> int:
    """The number of floating-point operations of a program.

    Example:
      >>> import weft, weft.numpy as np
      >>> flops(weft.make_jaxpr(lambda x, y: x @ y + 1.0)(np.ones((2, 3)), np.ones((3, 4))))
      56
    """
    return sum(map(_equation_flops, jaxpr.equations))


def _equation_flops(equation: Equation) -> int:
    name, params = equation.primitive.name, dict(equation.params)
    inner = executed_programs(equation.params)
    if not inner:
        ins = [x.aval for x in equation.inputs]
        return round(operation_flops(name, ins, [v.aval for v in equation.outvars], params))
    counts = [flops(program) for program in inner]
    if name == "cond":
        return max(counts)
    if name == "reduce":
        return sum(counts) * max(x.aval.size for x in equation.inputs)
    if name == "reduce_window":
        window = math.prod(params["geometry"].window)
        return sum(counts) * int(equation.outvars[0].aval.size * window)
    return sum(counts) * (params["length"] if name == "scan" else 1)
