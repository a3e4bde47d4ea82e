"""dot_general: products of arrays with contracted and batched axes, at a given precision and
accumulation dtype."""

import enum
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.value import Value
from ..errors import ShapeError
from ..stablehlo import Block, Operand
from .dot_algorithms import (
    PRESETS,
    Algorithm,
    DotAlgorithm,
    DotAlgorithmPreset,
    algorithm_attribute,
    canonical_algorithm,
    check_on_cpu,
    product_types,
    uses_algorithm,
)
from .elementwise import HALF, WIDER, lowered_in_bytes
from .rule_types import Argument, Avals, Batched, DType, Host, Integers, Kernel, Tangents, Values
from .single_thread_blas import BLOCK_ELEMENTS, MIN_SPLIT_ELEMENTS, inner, matrix_vector
from .structural import bilinear_jvp, convert_element_type, others, transpose


class Precision(enum.Enum):
    """The precision with which an accelerator multiplies floats; a CPU always uses the full width.

    DEFAULT is the fastest (bfloat16 passes on TPU, TF32 on GPU), HIGHEST the full width. They are
    also found by name: `Precision("highest")`.

    Example:
      >>> x = np.ones((2, 3))
      >>> lax.dot(x, x.T, precision=lax.Precision.HIGHEST)
      Array([[3., 3.],
             [3., 3.]], dtype=float32)
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> "Precision | None":
        return _name(value)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


Precisions = tuple[Precision, Precision] | None
"""A precision for each operand; `None` by default."""

PrecisionOption = Precisions | Algorithm
"""The same, or an algorithm."""

_NAMES = {
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


def canonical_precision(name: str, precision: object) -> PrecisionOption:
    """Converts a `precision` argument. `None` (the switch default_matmul_precision decides), a
    `Precision`, its name, or a pair of these gives a precision for each operand. An algorithm or
    the name of a preset gives an algorithm.

    Raises: ValueError: it names no precision.
    """
    if precision is None:
        precision = thread.default_matmul_precision
        if precision is None:
            return None
    if isinstance(precision, DotAlgorithm):
        return canonical_algorithm(name, precision)
    if isinstance(precision, str):
        precision = PRESETS.get(precision, precision)
    if isinstance(precision, DotAlgorithmPreset):
        if precision is not DotAlgorithmPreset.DEFAULT:
            return precision
        precision = Precision.DEFAULT
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    precisions = [p if isinstance(p, Precision) else _name(p) for p in pair]
    if len(precisions) != 2 or None in precisions:
        raise ValueError(
            f"{name}: precision must be None, a lax.Precision, one of {', '.join(_NAMES)}, a pair "
            f"of those, or a lax.DotAlgorithm or the name of a preset; got {precision!r}"
        )
    return (precisions[0], precisions[1])  # type: ignore[return-value]


def _name(p: object) -> Precision | None:
    if p is None:
        return Precision.DEFAULT
    return _NAMES.get(p.lower()) if isinstance(p, str) else None


def precision_config(precision: Precisions) -> str:
    """The attribute for operands' precisions; empty if none is requested."""
    if precision is None:
        return ""
    return (
        ", precision_config = ["
        + ", ".join(f"#stablehlo<precision {p.name}>" for p in precision)
        + "]"
    )


def precision_only(name: str, precision: object) -> Precisions:
    """Like `canonical_precision`, for an operation without algorithms. It ignores an algorithm that
    the switch sets."""
    result = canonical_precision(name, precision)
    if not isinstance(result, (DotAlgorithm, DotAlgorithmPreset)):
        return result
    if precision is None:
        return None
    raise ValueError(
        f"{name}: an algorithm is for products of arrays, and not for convolutions; got {result!r}"
        "\n  fix: a lax.Precision"
    )


def narrower(dtype: DType, requested_dtype: DType) -> bool:
    """True if sums of `dtype` would lose range or precision in the requested dtype."""
    return (
        dtypes.is_complex(dtype) > dtypes.is_complex(requested_dtype)
        or dtypes.is_inexact(dtype) > dtypes.is_inexact(requested_dtype)
        or (dtypes.is_bool(requested_dtype) and not dtypes.is_bool(dtype))
        or dtypes.bit_width(dtypes.real_of(requested_dtype))
        < dtypes.bit_width(dtypes.real_of(dtype))
    )


def check_result_dtype(name: str, x: Aval, y: Aval, dtype: DType | None) -> DType:
    """The dtype of a sum of products: the preferred one, or the operands' for `None`."""
    if x.dtype != y.dtype:
        raise ShapeError(
            f"{name}: operands must have one dtype; got {x} and {y}\n"
            "  fix: convert one with .astype, or use weft.numpy, which promotes"
        )
    if dtype is None or dtype == x.dtype:
        return x.dtype
    if narrower(x.dtype, dtype):
        raise ShapeError(
            f"{name}: preferred_element_type must not be narrower than the operands' dtype; got "
            f"{dtype.name} for {x} and {y}"
        )
    return dtype


# The dtype in which NumPy accumulates products, where it differs from the output's. As in XLA, sums
# of 16-bit and 8-bit floats are float32 and rounded once.
_ACCUMULATOR_OF: dict[DType, DType] = {
    dtypes.bool_: np.dtype(np.float32),
    **WIDER,
    **HALF,
}


def accumulator(dtype: DType) -> DType:
    """The dtype in which NumPy sums products of `dtype`."""
    return _ACCUMULATOR_OF.get(dtype, dtype)


def from_accumulator(x: Host, dtype: DType) -> Host:
    """Converts a sum from its accumulator's dtype to `dtype`. A boolean is True if the sum is not
    zero."""
    return x != 0 if dtype == np.bool_ else x.astype(dtype)


# --- dot_general ---

dot_general = Primitive(
    "dot_general",
    "Sums products over pairs of axes; `dims` is ((contracting lhs, rhs), (batch lhs, rhs)).",
)

Dims = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


@dot_general.type
def _(
    x: Aval, y: Aval, *, dims: Dims, dtype: DType | None = None, precision: PrecisionOption = None
) -> Aval:
    (cx, cy), (bx, by) = dims
    for name, a, axes in (("lhs", x, (*cx, *bx)), ("rhs", y, (*cy, *by))):
        if len(set(axes)) != len(axes) or any(not 0 <= i < a.ndim for i in axes):
            raise ShapeError(f"dot_general: axes {axes} of {name} don't name axes of {a} once each")
    for kind, ax, ay in (("contracting", cx, cy), ("batch", bx, by)):
        if len(ax) != len(ay) or any(x.shape[i] != y.shape[j] for i, j in zip(ax, ay, strict=True)):
            raise ShapeError(
                f"dot_general: {kind} axes must have equal lengths; got {x} at {ax} and {y} at {ay}"
            )
    shape = (
        *(x.shape[i] for i in bx),
        *(x.shape[i] for i in others((*cx, *bx), x.ndim)),
        *(y.shape[i] for i in others((*cy, *by), y.ndim)),
    )
    weak_type = x.weak_type and y.weak_type and dtype is None
    dtype = check_result_dtype("dot_general", x, y, dtype)
    if uses_algorithm(precision, x.dtype):
        product_types(precision, x.dtype)
    return x.update(shape=shape, dtype=dtype, weak_type=weak_type)


def multiplications(x: Aval, y: Aval, dims: Dims) -> int:
    """The number of multiplications, which is half the number of operations."""
    (_, cy), (_, by) = dims
    n_free = math.prod(y.shape[i] for i in others((*cy, *by), y.ndim))
    return x.size * n_free


def are_matrices(x: Aval, y: Aval, *, dims: Dims, **_: object) -> bool:
    """True if a product is one of two matrices, or of stacks of matrices."""
    (cx, cy), (bx, by) = dims
    free = others((*cx, *bx), x.ndim), others((*cy, *by), y.ndim)
    return bx == by == (0,)[: len(bx)] and max(map(len, (cx, *free))) <= 1


@dot_general.host.work
def _(avals: Avals, outs: Avals, *, dims: Dims, **_: object) -> int:
    x, y = avals
    products = multiplications(x, y, dims)
    if x.dtype in (np.float32, np.float64, np.complex64, np.complex128):
        return products
    if accumulator(x.dtype) == np.float32:
        return 8 * products  # the operands are converted first
    return 75 * products  # BLAS does not support integers


@dot_general.evaluate
def _(
    x: Host, y: Host, *, dims: Dims, dtype: DType | None = None, precision: PrecisionOption = None
) -> Host:
    return kernel_for(x, y, dims, dtype, precision)(x, y)


@dot_general.host.kernel
def _(
    x: Aval, y: Aval, *, dims: Dims, dtype: DType | None = None, precision: PrecisionOption = None
) -> Kernel:
    return kernel_for(x, y, dims, dtype, precision)


def kernel_for(
    x: Aval | Host, y: Aval | Host, dims: Dims, dtype: DType | None, precision: PrecisionOption
) -> Kernel:
    """The NumPy function for arrays like these."""
    if not uses_algorithm(precision, x.dtype):
        return product(x.shape, y.shape, x.dtype, dims, dtype)
    check_on_cpu(precision)
    types = product_types(precision, x.dtype)
    multiply = product(x.shape, y.shape, types.lhs, dims, types.sums)
    out = dtype or x.dtype
    return lambda x, y: multiply(x.astype(types.lhs), y.astype(types.rhs)).astype(out)


def product(
    x_shape: tuple[int, ...],
    y_shape: tuple[int, ...],
    dtype: DType,
    dims: Dims,
    out_dtype: DType | None,
) -> Kernel:
    """The NumPy function of two arrays for these shapes; np.dot itself where possible."""
    (cx, cy), (bx, _) = dims
    out_dtype = out_dtype or dtype
    wide_dtype = accumulator(out_dtype)
    x_ndim, y_ndim = len(x_shape), len(y_shape)
    function: Callable[..., Any] | None = single_thread_kernel(x_shape, y_shape, dtype, dims)
    if function is not None:
        pass
    elif not bx and len(cx) == 1 and 0 < x_ndim <= 2 and 0 < y_ndim <= 2:
        transposes_x, transposes_y = cx[0] == 0 and x_ndim == 2, cy[0] == 1
        if not transposes_x and not transposes_y:
            function = np.dot
        elif not transposes_y:
            function = lambda x, y: np.dot(x.T, y)  # noqa: E731
        elif not transposes_x:
            function = lambda x, y: np.dot(x, y.T)  # noqa: E731
        else:
            function = lambda x, y: np.dot(x.T, y.T)  # noqa: E731
    elif dims == (((2,), (1,)), ((0,), (0,))) and x_ndim == y_ndim == 3:
        function = np.matmul
    else:
        function = _as_matrix_product(x_shape, y_shape, dims)
    if wide_dtype == dtype == out_dtype:
        return function

    def widened(x: Host, y: Host) -> Host:
        result = function(x.astype(wide_dtype), y.astype(wide_dtype))
        return result if wide_dtype == out_dtype else from_accumulator(result, out_dtype)

    return widened


def single_thread_kernel(
    x_shape: tuple[int, ...], y_shape: tuple[int, ...], dtype: DType, dims: Dims
) -> Kernel | None:
    """The NumPy function for a long product with a vector, or `None` for other products."""
    (cx, cy), (bx, _) = dims
    ndims = len(x_shape), len(y_shape)
    if bx or len(cx) != 1 or min(ndims) != 1 or not dtypes.is_inexact(dtype):
        return None
    if ndims == (1, 1):
        return inner if x_shape[0] > MIN_SPLIT_ELEMENTS and not dtypes.is_complex(dtype) else None
    if max(ndims) != 2 or max(math.prod(x_shape), math.prod(y_shape)) <= BLOCK_ELEMENTS:
        return None
    if ndims == (2, 1):
        return matrix_vector if cx[0] else lambda x, v: matrix_vector(x.T, v)
    return (lambda v, y: matrix_vector(y, v)) if cy[0] else lambda v, y: matrix_vector(y.T, v)


def _as_matrix_product(x_shape: Integers, y_shape: Integers, dims: Dims) -> Kernel:
    """Computes any product as one stack of matrix products: moves and merges axes, multiplies, and
    splits axes again."""
    (cx, cy), (bx, by) = dims
    fx, fy = others((*cx, *bx), len(x_shape)), others((*cy, *by), len(y_shape))
    batch = tuple(x_shape[i] for i in bx)
    left, right = tuple(x_shape[i] for i in fx), tuple(y_shape[i] for i in fy)
    k, b = math.prod(x_shape[i] for i in cx), math.prod(batch)
    order_x, order_y = (*bx, *fx, *cx), (*by, *cy, *fy)
    fold_x, fold_y = (math.prod(left), k), (k, math.prod(right))
    if bx:
        fold_x, fold_y = (b, *fold_x), (b, *fold_y)  # type: ignore[assignment]
    shape = (*batch, *left, *right)
    multiply = np.matmul if bx else np.dot

    def multiply_folded(x: Host, y: Host) -> Host:
        x = x.transpose(order_x).reshape(fold_x)
        return multiply(x, y.transpose(order_y).reshape(fold_y)).reshape(shape)

    return multiply_folded


@dot_general.lower
@lowered_in_bytes
def _(
    block: Block,
    x: Operand,
    y: Operand,
    out: Aval,
    dims: Dims,
    precision: PrecisionOption = None,
    **_: object,
) -> Operand:
    if uses_algorithm(precision, x.aval.dtype):
        return lowered_by_algorithm(block, x, y, out, precision, dimension_numbers(dims))
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        precision = None
    if must_convert(block, x.aval.dtype, out.dtype):
        x, y = block.convert(x, out.dtype), block.convert(y, out.dtype)
    if has_many_small_products(block, x.aval, y.aval, dims):
        (cx, cy), batches = dims
        n = x.aval.ndim - 2
        if cx == (n,):
            x = block.transpose(x, [*range(n), n + 1, n])
            dims = ((n + 1,), cy), batches
        x = block.op("optimization_barrier", x, out=x.aval)
    attributes = dimension_numbers(dims) + precision_config(precision)
    return block.op("dot_general", x, y, out=out, attributes=attributes)


def dimension_numbers(dims: Dims) -> str:
    """The attribute that names the axes."""
    (cx, cy), (bx, by) = dims
    return (
        f"dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {list(bx)}, "
        f"rhs_batching_dimensions = {list(by)}, lhs_contracting_dimensions = {list(cx)}, "
        f"rhs_contracting_dimensions = {list(cy)}>"
    )


def has_many_small_products(block: Block, x: Aval, y: Aval, dims: Dims) -> bool:
    """True for many products of small matrices.

    XLA's fast kernel on CPUs needs the rows of the first operand. For these sizes it pays to
    transpose that operand, and to keep XLA from undoing the transposition by a barrier. Products
    smaller than 8 × 8 × 4 do not need a call, and larger ones are not faster.
    """
    (cx, _), (bx, _) = dims
    n = len(bx)
    if block.module.platform != "cpu" or x.dtype != dtypes.float32:
        return False
    if x.ndim != n + 2 or y.ndim != n + 2 or bx != tuple(range(n)) or len(cx) != 1:
        return False
    count = math.prod(x.shape[:n])
    return count >= 8 and 256 * count <= multiplications(x, y, dims) <= 32768 * count


def lowered_by_algorithm(
    block: Block, x: Operand, y: Operand, out: Aval, algorithm: Algorithm, numbers: str
) -> Operand:
    """Writes a product by an algorithm: converts the operands to its dtypes, and the result
    back."""
    if block.module.platform == "cpu":
        check_on_cpu(algorithm)
    types = product_types(algorithm, x.aval.dtype)
    product = block.op(
        "dot_general",
        block.convert(x, types.lhs),
        block.convert(y, types.rhs),
        out=out.update(dtype=types.sums),
        attributes=numbers + algorithm_attribute(algorithm, types),
    )
    return block.convert(product, out.dtype)


def must_convert(block: Block, dtype: DType, out_dtype: DType) -> bool:
    """True if operands must be converted to the output's dtype first. XLA's CPU accepts few mixed
    dtypes; accelerators accept none where the kind changes."""
    if dtype == out_dtype:
        return False
    same_kind = dtypes.is_float(dtype) and dtypes.is_float(out_dtype)
    return block.module.platform == "cpu" or not same_kind


dot_general.jvp(bilinear_jvp(dot_general))


@dot_general.transpose
def _(
    ct: Value,
    x: Argument,
    y: Argument,
    *,
    dims: Dims,
    precision: PrecisionOption = None,
    **_: object,
) -> Tangents:
    (cx, cy), (bx, by) = dims
    n = len(bx)
    fx, fy = others((*cx, *bx), x.ndim), others((*cy, *by), y.ndim)
    batch_out = tuple(range(n))
    lhs_out = tuple(range(n, n + len(fx)))
    rhs_out = tuple(range(n + len(fx), n + len(fx) + len(fy)))
    if type(x) is Aval:
        # ct [batch, fx, fy] · y over fy -> [batch, fx, cy in y's order]
        ct_dims = (rhs_out, fy), (batch_out, by)
        result = dot_general(
            ct, in_dtype(y, ct.dtype), dims=ct_dims, dtype=None, precision=precision
        )
        axis_order = sorted(range(len(cy)), key=lambda i: cy[i])
        order = (*bx, *fx, *(cx[i] for i in axis_order))
        return in_dtype(inverse_transpose(result, order), x.dtype), None
    # x · ct [batch, fx, fy] over fx -> [batch, cx in x's order, fy]: of matrices as y itself is
    ct_dims = (fx, lhs_out), (bx, batch_out)
    result = dot_general(in_dtype(x, ct.dtype), ct, dims=ct_dims, dtype=None, precision=precision)
    axis_order = sorted(range(len(cx)), key=lambda i: cx[i])
    order = (*by, *(cy[i] for i in axis_order), *fy)
    return None, in_dtype(inverse_transpose(result, order), y.dtype)


def in_dtype(x: Argument, dtype: DType) -> Any:
    """A value converted to a dtype; the value itself if it has that dtype."""
    return x if x.dtype == dtype else convert_element_type(x, dtype=dtype)


def inverse_transpose(x: Value, order: tuple[int, ...]) -> Value:
    """Moves axis i of `x` to position order[i]."""
    inverse = tuple(sorted(range(len(order)), key=lambda i: order[i]))
    return x if inverse == tuple(range(len(order))) else transpose(x, permutation=inverse)


@dot_general.batch
def _(args: Values, batched: Batched, batch_size: int, *, dims: Dims, **params: object) -> Value:
    (cx, cy), (bx, by) = dims
    x, y = args
    x_offset, y_offset = map(int, batched)
    contracting = (tuple(i + x_offset for i in cx), tuple(i + y_offset for i in cy))
    batch = (tuple(i + x_offset for i in bx), tuple(i + y_offset for i in by))
    if x_offset and y_offset:
        batch = ((0, *batch[0]), (0, *batch[1]))
        return dot_general(x, y, dims=(contracting, batch), **params)
    out = dot_general(x, y, dims=(contracting, batch), **params)
    n = len(bx)
    batch_axis = n if x_offset else n + (x.ndim - len(cx) - n)
    order = (batch_axis, *(i for i in range(out.ndim) if i != batch_axis))
    return out if batch_axis == 0 else transpose(out, permutation=order)
