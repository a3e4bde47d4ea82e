"""sort, sort_key_val, top_k, approx_max_k, approx_min_k. Nothing is promoted."""

from collections.abc import Sequence

from .. import dtypes
from ..core.array import Array, as_value
from ..core.source import located
from ..errors import ShapeError
from ..option_checks import number
from ..primitives import sorting
from ..primitives.arithmetic import neg
from ..primitives.structural import move_axis
from ..typing import ArrayLike
from .axes import axis_of, int_of

__all__ = ["approx_max_k", "approx_min_k", "sort", "sort_key_val", "top_k"]


@located
def sort(
    operand: ArrayLike | Sequence[ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Array | tuple[Array, ...]:
    """Sorts along an axis; sorts several arrays together by the first `num_keys` of them.

    The order is ascending; -0 and 0 are equal; NaNs are equal and come last; complex numbers are
    ordered by real part, then imaginary part.

    Args:
      operand: array of any dtype, or a sequence of arrays of one shape.
      dimension: the axis; negative ones count from the end.
      is_stable: whether equal elements keep their order.
      num_keys: the number of arrays that determine the order; the first has priority.
    Returns: the array sorted, or a tuple of arrays, all in the same permutation.
    Raises: TypeError: shapes differ. ValueError: axis or `num_keys` is out of range.
    Source: StableHLO `sort`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> [x.tolist() for x in lax.sort([np.int32([3, 1, 3]), np.int32([7, 8, 6])], num_keys=2)]
      [[1, 3, 3], [8, 6, 7]]
    """
    is_sequence = isinstance(operand, (list, tuple))
    operands = [as_value(x) for x in operand] if is_sequence else [as_value(operand)]  # type: ignore[union-attr]
    if not operands:
        raise TypeError("sort: expected at least one operand; got none")
    results = sorting.sort(
        *operands,
        dimension=axis_of("sort", operands[0], dimension),
        is_stable=bool(is_stable),
        num_keys=int_of("sort", "num_keys", num_keys),
    )
    return tuple(results) if is_sequence else results[0]


@located
def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Sorts `keys` along an axis and permutes `values` in the same way.

    Args:
      keys: array; see `sort` for its order.
      values: array of the same shape, any dtype.
      dimension: the axis.
      is_stable: whether values of equal keys keep their order.
    Returns: (sorted keys, permuted values).
    Raises: TypeError: shapes differ. ValueError: the axis is out of range.
    Source: StableHLO `sort`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.sort_key_val(np.int32([3, 1, 2]), np.int32([0, 1, 2]))[1].tolist()
      [1, 2, 0]
    """
    key, value = sort((keys, values), dimension, is_stable)
    return key, value


@located
def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """The `k` largest elements along an axis, largest first, and their indices.

    A NaN counts as larger than any number, 0 as larger than -0; equal elements keep their order.

    Args:
      operand: array of a real dtype with at least one axis.
      k: the number of elements, at most the length of the axis.
      axis: the axis; the last by default.
    Returns: (values, indices): arrays with length `k` along the axis; indices are int32.
    Raises: TypeError: complex elements, or no axis. ValueError: `k` or `axis` is out of range.
    Source: StableHLO `sort`; XLA's TopK.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> [x.tolist() for x in lax.top_k(np.int32([3, 9, 1, 9]), 3)]
      [[9, 9, 3], [1, 3, 0]]
    """
    x = as_value(operand)
    if not x.ndim:
        raise ShapeError(f"top_k: expected an operand of at least one axis; got {x.aval}")
    dim = axis_of("top_k", x, axis)
    values, indices = sorting.top_k(move_axis(x, dim, x.ndim - 1), k=int_of("top_k", "k", k))
    return move_axis(values, x.ndim - 1, dim), move_axis(indices, x.ndim - 1, dim)


@located
def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The `k` largest elements along an axis; always exact (recall 1), as on all devices but TPUs.

    Args:
      operand: array of a floating-point dtype.
      k: the number of elements.
      reduction_dimension: the axis.
      recall_target: the required fraction of the `k` largest elements, between 0 and 1.
      reduction_input_size_override: the size of a larger input; has no effect.
      aggregate_to_topk: return exactly `k` elements; otherwise an approximation may return more.
    Returns: (values, indices), as from `top_k`.
    Raises: TypeError: the dtype is not floating-point. ValueError: an option is out of range.
    Source: arXiv:2206.14286.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.approx_max_k(np.float32([3, 9, 1]), 2)[1].tolist()
      [1, 0]
    """
    x = as_value(operand)
    _check_approximate("approx_max_k", x, recall_target)
    values, indices = top_k(x, k, axis=reduction_dimension)
    return values, indices


@located
def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The `k` smallest elements along an axis, smallest first; otherwise like `approx_max_k`.

    Args:
      operand: array of a floating-point dtype.
      k: the number of elements.
      reduction_dimension: the axis.
      recall_target, reduction_input_size_override, aggregate_to_topk: see `approx_max_k`.
    Returns: (values, indices).
    Raises: TypeError: the dtype is not floating-point. ValueError: an option is out of range.
    Source: arXiv:2206.14286.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.approx_min_k(np.float32([3, 9, 1]), 2)[1].tolist()
      [2, 0]
    """
    x = as_value(operand)
    _check_approximate("approx_min_k", x, recall_target)
    values, indices = top_k(neg(x), k, axis=reduction_dimension)
    return neg(values), indices


def _check_approximate(name: str, x: Array, recall_target: float) -> None:
    if not dtypes.is_float(x.dtype):
        raise ShapeError(f"{name}: expected an operand of floating-point dtype; got {x.aval}")
    number(name, "recall_target", recall_target, above=0, most=1)
