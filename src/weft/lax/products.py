"""dot_general, dot and batch_matmul, and scaled_dot, for narrow arrays with a scale for each block
of elements. Unlike the rest of `lax`, dot products promote operands of two dtypes to one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..primitives import products
from ..primitives.dot_algorithms import DotAlgorithm, DotAlgorithmPreset
from ..primitives.products import Precision, canonical_precision
from ..primitives.structural import broadcast_in_dim, convert_element_type, reshape
from ..typing import ArrayLike, DTypeLike

__all__ = [
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "batch_matmul",
    "dot",
    "dot_general",
    "scaled_dot",
]


DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]
"""((contracting axes of lhs, of rhs), (batch axes of lhs, of rhs))."""

PrecisionLike = (
    None
    | str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
)
"""`None` (the switch default_matmul_precision), one precision, or one per operand; or an
algorithm."""


@located
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Dot product over pairs of axes, with batch axes.

    The output's axes are the batch axes, then the other axes of `lhs`, then of `rhs`.

    Args:
      lhs: array, any dtype (booleans: *or* of *ands*).
      rhs: array. If dtypes differ, both operands are promoted as in NumPy.
      dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)): pairs of
        contracting axes, which are summed over, and pairs of batch axes; the lengths in a pair are
        equal.
      precision: the precision of multiplication on accelerators; see `Precision`. Or the algorithm
        for floats on all devices: a `DotAlgorithm`, a `DotAlgorithmPreset` or its name.
      preferred_element_type: the dtype of the sums and the output; if narrower than the operands'
        dtype, of the output only. 16-bit floats are always summed in float32.
    Returns: array [batch…, lhs…, rhs…].
    Raises: TypeError: lengths differ. ValueError: axes are out of range or repeated, or the device
      does not have the algorithm.
    Source: StableHLO `dot_general`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> x = np.arange(6.0).reshape(2, 3)
      >>> lax.dot_general(x, x, (((1,), (1,)), ((), ()))).tolist()
      [[5.0, 14.0], [14.0, 50.0]]
    """
    try:
        (cx, cy), (bx, by) = dimension_numbers
        dims = (_axes(lhs, cx), _axes(rhs, cy)), (_axes(lhs, bx), _axes(rhs, by))
    except (TypeError, ValueError):
        raise ShapeError(
            "dot_general: dimension_numbers must be ((lhs_contracting, rhs_contracting), "
            f"(lhs_batch, rhs_batch)), each a sequence of ints; got {dimension_numbers!r}"
        ) from None
    return _product("dot_general", lhs, rhs, dims, precision, preferred_element_type)


def _axes(x: Any, axes: Sequence[int]) -> tuple[int, ...]:
    """Axes as a tuple of ints, counted from the front if they are in range."""
    ndim = getattr(x, "ndim", 0)
    return tuple([i + ndim if -ndim <= i < 0 else int(i) for i in axes])


def _product(name: str, lhs: Any, rhs: Any, dims: Any, precision: Any, preferred_type: Any) -> Any:
    """The product of operands of any dtypes, in the requested dtype."""
    precision = canonical_precision(name, precision)
    dtype = None if preferred_type is None else dtypes.requested_dtype(preferred_type, name)
    x, y = as_value(lhs), as_value(rhs)
    if x.dtype != y.dtype:
        common, weak_type = dtypes.result_type_and_weak(x, y)
        x, y = [convert_element_type(v, dtype=common, weak_type=weak_type) for v in (x, y)]
    if dtype is not None and products.narrower(x.dtype, dtype):
        out = products.dot_general(x, y, dims=dims, dtype=None, precision=precision)
        return convert_element_type(out, dtype=dtype)
    return products.dot_general(x, y, dims=dims, dtype=dtype, precision=precision)


@located
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
) -> Array:
    """Dot product of vectors or matrices: over the last axis of `lhs` and the first of `rhs`.

    Args:
      lhs: array [k] or [m, k].
      rhs: array [k] or [k, n].
      precision, preferred_element_type: as in `dot_general`.
      dimension_numbers: if not `None`, the call is `dot_general`, with any number of axes.
    Returns: array [], [m], [n] or [m, n].
    Raises: TypeError: lengths or numbers of axes do not match.
    Source: StableHLO `dot_general`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.dot(np.float32([[1, 2], [3, 4]]), np.float32([1, 1])).tolist()
      [3.0, 7.0]
    """
    if dimension_numbers is not None:
        return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    x, y = as_value(lhs), as_value(rhs)
    if not (1 <= x.ndim <= 2 and 1 <= y.ndim <= 2 and x.shape[-1] == y.shape[0]):
        raise ShapeError(
            f"dot: expected [k] or [m,k] and [k] or [k,n]; got {x.aval} and {y.aval}"
            + ("\n  fix: did you mean dot(rhs, lhs)?" if _fits(y, x) else "")
        )
    dims = ((x.ndim - 1,), (0,)), ((), ())
    return _product("dot", x, y, dims, precision, preferred_element_type)


def _fits(x: Any, y: Any) -> bool:
    return 1 <= x.ndim <= 2 and 1 <= y.ndim <= 2 and bool(x.shape[-1] == y.shape[0])


@located
def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Matrix products of two stacks of matrices.

    Args:
      lhs: array [batch…, m, k].
      rhs: array [batch…, k, n] of the same batch axes (they are not broadcast).
      precision: as in `dot_general`.
    Returns: array [batch…, m, n].
    Raises: TypeError: the lengths differ. ValueError: fewer than two axes, or ranks differ.
    Source: StableHLO `dot_general`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.batch_matmul(np.ones((5, 2, 3)), np.ones((5, 3, 4))).shape
      (5, 2, 4)
    """
    x, y = as_value(lhs), as_value(rhs)
    if x.ndim < 2 or x.ndim != y.ndim:
        raise ShapeError(
            "batch_matmul: expected [batch…,m,k] and [batch…,k,n] with equal numbers of axes; got "
            f"{x.aval} and {y.aval}"
        )
    batch = tuple(range(x.ndim - 2))
    dims = (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch))
    return _product("batch_matmul", x, y, dims, precision, None)


@located
def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The product of lhs · lhs_scale and rhs · rhs_scale; each scale is for a block of elements.

    Args:
      lhs, rhs: arrays of real dtypes, usually floats of 8 or 4 bits.
      lhs_scale, rhs_scale: arrays of the same rank. Each length divides the operand's length n; an
        element scales a block of n / length elements. `None` means 1.
      dimension_numbers: as in `dot_general`; by default the product of matrices [m, k] and [k, n],
        or of stacks of them.
      preferred_element_type: the dtype of the result, bfloat16 by default; sums are in float32, or
        in float64 for a float64 result.
    Returns: array [batch…, lhs…, rhs…].
    Raises: ShapeError: shapes or dtypes do not match.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> x, scale = np.ones((1, 4), "float32"), np.array([[1.0, 0.5]], "float32")
      >>> lax.scaled_dot(x, x.T, lhs_scale=scale).tolist()
      [[3.0]]
    Source: JAX documentation, `jax.lax.scaled_dot`.
    """
    name = "scaled_dot"
    x, y = as_value(lhs), as_value(rhs)
    if dimension_numbers is None:
        if x.ndim != y.ndim or x.ndim not in (2, 3):
            raise ShapeError(
                f"{name}: without dimension_numbers expected two matrices, or stacks of them; got "
                f"{x.aval} and {y.aval}"
            )
        n = x.ndim
        dimension_numbers = ((n - 1,), (n - 2,)), (tuple(range(n - 2)), tuple(range(n - 2)))
    out_type = (
        np.dtype(dtypes.bfloat16) if preferred_element_type is None else preferred_element_type
    )
    dtype = dtypes.requested_dtype(out_type, name)
    wide_dtype = dtypes.float64 if dtype == dtypes.float64 else dtypes.float32
    a, b = (
        _scaled(name, "lhs", x, lhs_scale, wide_dtype),
        _scaled(name, "rhs", y, rhs_scale, wide_dtype),
    )
    result = dot_general(a, b, dimension_numbers)
    return convert_element_type(result, dtype=dtype)


def _scaled(name: str, argument: str, x: Value, scale: ArrayLike | None, wide_dtype: Any) -> Any:
    """An operand multiplied by its scales, in a dtype that represents the products."""
    if dtypes.is_complex(x.dtype):
        raise ShapeError(f"{name}: {argument} must be real; got {x.aval}")
    result = convert_element_type(x, dtype=wide_dtype)
    if scale is None:
        return result
    scales = as_value(scale)
    shape_fits = scales.ndim == x.ndim and all(
        m == n or (m and n % m == 0) for m, n in zip(scales.shape, x.shape, strict=True)
    )
    if dtypes.is_complex(scales.dtype) or not shape_fits:
        raise ShapeError(
            f"{name}: {argument}_scale must be real, with lengths that divide the lengths of "
            f"{x.aval}; got {scales.aval}"
        )
    block_shape = [
        k for m, n in zip(scales.shape, x.shape, strict=True) for k in (m, n // m if m else 1)
    ]
    scales = convert_element_type(scales, dtype=wide_dtype)
    scales = broadcast_in_dim(
        scales, shape=tuple(block_shape), dims=tuple(range(0, 2 * scales.ndim, 2))
    )
    return result * reshape(scales, shape=x.shape)
