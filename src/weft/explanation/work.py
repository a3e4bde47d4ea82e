"""flops_of counts the floating-point operations of an equation; bytes_moved counts the bytes that
the kernels of a compiled program read and write.

An elementwise operation counts 1 per element, even an exponential. A matrix product counts 2 for
each pair of numbers that is multiplied. Moving elements counts 0. Factorizations count the leading
term of the textbook algorithm.
"""

from collections.abc import Callable
from typing import Any

from ..compiler.optimized import OptimizedProgram
from ..core.primitive import registry
from .equations import Step
from .profiler import rounds

MOVES = {"copy", "name", "stop_gradient", "real", "imag", "complex"}
"""Elementwise operations that compute nothing."""

PASSES = {
    *("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin"),
    *("cumsum", "cumprod", "cummax", "cummin", "linear_recurrence"),
    *("scatter_add", "scatter_mul", "scatter_min", "scatter_max", "psum", "pmax", "pmin"),
}
"""Operations that count 1 for each element of their largest operand."""

Count = Callable[[list[Any], list[Any], dict[str, Any]], float]
"""(avals of the operands, avals of the results, parameters) -> floating-point operations."""


def _product(ins: list[Any], outs: list[Any], params: dict[str, Any]) -> float:
    contracted = params["dims"][0][0]
    depth = 1.0
    for axis in contracted:
        depth *= ins[0].shape[axis]
    return 2.0 * outs[0].size * depth


def _convolution(ins: list[Any], outs: list[Any], params: dict[str, Any]) -> float:
    kernel, features = ins[1], params["numbers"].rhs_spec[0]
    return 2.0 * outs[0].size * kernel.size / max(kernel.shape[features], 1)


def _matrices(factor: float) -> Count:
    """`factor` k² n for n × k matrices, k <= n."""

    def count(ins: list[Any], outs: list[Any], params: dict[str, Any]) -> float:
        *batch, n, k = ins[0].shape
        total = factor * max(n, k) * min(n, k) ** 2
        for size in batch:
            total *= size
        return total

    return count


def _solutions(ins: list[Any], outs: list[Any], params: dict[str, Any]) -> float:
    return float(outs[0].size * ins[0].shape[-1])


def _window(ins: list[Any], outs: list[Any], params: dict[str, Any]) -> float:
    total = float(outs[0].size)
    for size in params["geometry"].window:
        total *= size
    return total


def _sort(ins: list[Any], outs: list[Any], params: dict[str, Any]) -> float:
    length = ins[0].shape[params["dimension"]]
    return float(ins[0].size * max(length - 1, 1).bit_length())


def _transform(ins: list[Any], outs: list[Any], params: dict[str, Any]) -> float:
    total = 1
    for n in params["fft_lengths"]:
        total *= n
    return 5.0 * max(ins[0].size, outs[0].size) * max(total - 1, 1).bit_length()


COUNTS: dict[str, Count] = {
    "dot_general": _product,
    "conv_general_dilated": _convolution,
    "cholesky": _matrices(1 / 3),
    "lu": _matrices(2 / 3),
    "geqrf": _matrices(4 / 3),
    "qr": _matrices(8 / 3),
    "factored_solve": _solutions,
    "eigh": _matrices(9.0),
    "svd": _matrices(12.0),
    "eig": _matrices(25.0),
    "triangular_solve": _solutions,
    "reduce_window_sum": _window,
    "reduce_window_max": _window,
    "reduce_window_min": _window,
    "sort": _sort,
    "fft": _transform,
}


def flops_of(step: Step) -> float:
    """The floating-point operations of an equation, for one run; 0 for a loop itself.

    Elementwise operations on integers count too.
    """
    ins, outs = [x.aval for x in step.inputs], [x.aval for x in step.outs]
    if step.name in COUNTS:
        return COUNTS[step.name](ins, outs, step.params)
    if step.name in PASSES:
        return float(max((a.size for a in ins), default=0))
    primitive = registry.get(step.name)
    if primitive is None or not (primitive.elementwise or step.name == "pow"):
        return 0.0
    return 0.0 if step.name in MOVES else float(outs[0].size)


def bytes_moved(program: OptimizedProgram) -> int:
    """The bytes of the operands and the results of all kernels, in a call.

    The body of a loop counts once per iteration if XLA knows their number, otherwise once.
    """
    runs = rounds(program)
    kernels = {id(i) for i in program.kernels()}
    total = 0
    for computation in program.running():
        sizes = {i.name: i.bytes for i in computation.instructions}
        for i in computation.instructions:
            if id(i) in kernels:
                operands = sum(sizes.get(name, 0) for name in i.operands)
                total += (i.bytes + operands) * runs[computation.name]
    return total
