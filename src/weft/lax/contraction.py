"""Products of arrays. Alone in this folder, they promote operands of two dtypes to one."""

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..core.array import Array, as_value
from ..core.source import located
from ..errors import ShapeError
from ..primitives import contraction
from ..primitives.contraction import Precision, canonical_precision
from ..primitives.dot_algorithms import DotAlgorithm, DotAlgorithmPreset
from ..primitives.structural import convert_element_type
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
"""`None` (what the switch default_matmul_precision says), one precision, or one per operand; or an
algorithm."""


@located
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Sums products over pairs of axes.

    The output's axes are the batch axes, then the other axes of `lhs`, then those of `rhs`.

    Args:
      lhs: array, any dtype (booleans: *or* of *ands*).
      rhs: array. Of two dtypes, both become the one that NumPy functions would promote them to.
      dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)): axes that are
        summed over and axes that go side by side, in pairs of equal lengths.
      precision: how exactly an accelerator multiplies; see `Precision`. Or by which algorithm any
        device does, for floats: a `DotAlgorithm`, a `DotAlgorithmPreset` or its name.
      preferred_element_type: dtype of the sums and the output; if narrower than the operands',
        then of the output alone. 16-bit floats are summed in float32 in any case.
    Returns: array [batch…, lhs…, rhs…].
    Raises: TypeError: lengths differ. ValueError: axes are out of range or repeated, or the device
      hasn't the algorithm.
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
    """Axes as a tuple of ints, counted from the front where they fit."""
    ndim = getattr(x, "ndim", 0)
    return tuple([i + ndim if -ndim <= i < 0 else int(i) for i in axes])


def _product(name: str, lhs: Any, rhs: Any, dims: Any, precision: Any, wish: Any) -> Any:
    """The product of operands of any dtypes, in the dtype wished for."""
    precision = canonical_precision(name, precision)
    dtype = None if wish is None else dtypes.requested_dtype(wish, name)
    x, y = as_value(lhs), as_value(rhs)
    if x.dtype != y.dtype:
        common, weak = dtypes.result_type_and_weak(x, y)
        x, y = [convert_element_type(v, dtype=common, weak_type=weak) for v in (x, y)]
    if dtype is not None and contraction.narrower(x.dtype, dtype):
        out = contraction.dot_general(x, y, dims=dims, dtype=None, precision=precision)
        return convert_element_type(out, dtype=dtype)
    return contraction.dot_general(x, y, dims=dims, dtype=dtype, precision=precision)


@located
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
) -> Array:
    """The product of vectors and matrices: the last axis of `lhs` meets the first of `rhs`.

    Args:
      lhs: array [k] or [m, k].
      rhs: array [k] or [k, n].
      precision, preferred_element_type: as in `dot_general`.
      dimension_numbers: if given, the product is `dot_general`'s, and any number of axes will do.
    Returns: array [], [m], [n] or [m, n].
    Raises: TypeError: lengths or numbers of axes don't fit.
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
    """Matrix products side by side.

    Args:
      lhs: array [batch…, m, k].
      rhs: array [batch…, k, n] of the same batch axes (they are not broadcast).
      precision: as in `dot_general`.
    Returns: array [batch…, m, n].
    Raises: TypeError: lengths differ. ValueError: fewer than two axes, or ranks differ.
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
