"""Sorting and searching in sorted arrays: sort, argsort, lexsort, msort, sort_complex, partition,
argpartition, searchsorted.

NaNs come last; complex numbers are ordered by real part, then by imaginary part.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..errors import ShapeError
from ..lax.axes import items_of
from ..lax.loops import while_loop
from ..primitives import (
    arithmetic,
    comparison,
    complex_numbers,
    creation,
    selection,
    sorting as primitive,
    structural,
)
from ..typing import ArrayLike, Axis, DTypeLike
from .axes import as_int, one_axis
from .axis_gathers import gather_along
from .comparison import is_beyond
from .creation import dtype_argument, from_numpy
from .plans import composite, is_native
from .promotion import cast, noted, promote_values, value
from .rearranging import reversed_along
from .reductions import sum
from .shapes import ravel

__all__ = [
    "argpartition",
    "argsort",
    "lexsort",
    "msort",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
]


def _flat(x: Any, axis: Any) -> tuple[Any, int]:
    """The array and the axis to sort; `None` flattens the array."""
    if axis is None:
        return ravel(x), 0
    return x, axis


def _unsupported(name: str, **options: Any) -> None:
    for option, argument in options.items():
        if argument is not None:
            raise noted(
                TypeError(
                    f"{name}: {option} is not supported; got {argument!r}\n  fix: stable=False for "
                    "speed"
                )
            )


@composite
def _sorted(x: Any, *, axis: int, stable: bool, descending: bool) -> Any:
    (result,) = primitive.sort(x, dimension=axis, is_stable=stable, num_keys=1)
    return reversed_along("sort", result, axis) if descending else result


def sort(
    a: ArrayLike,
    axis: Axis = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Sorts an array along an axis.

    Args:
      a: array of any shape and dtype.
      axis: one axis; None flattens the array first.
      kind, order: not supported.
      stable: whether equal elements keep their order.
      descending: whether to sort in descending order.
    Returns: array of the shape of `a`.
    Example:
      >>> np.sort(np.array([3, 1, 2]))
      Array([1, 2, 3], dtype=int32)
    """
    _unsupported("sort", kind=kind, order=order)
    x, axis = _flat(value("sort", a, "a"), axis)
    sort_axis = one_axis("sort", axis, x)
    return _sorted(x, axis=sort_axis, stable=bool(stable), descending=bool(descending))


def msort(a: ArrayLike) -> Array:
    """Sorts an array along axis 0.

    Example:
      >>> np.msort(np.array([3, 1, 2]))
      Array([1, 2, 3], dtype=int32)
    """
    return sort(a, axis=0)


@located
def sort_complex(a: ArrayLike) -> Array:
    """Sorts the last axis of an array as complex numbers.

    Example:
      >>> np.sort_complex(np.array([3, 1]))
      Array([1.+0.j, 3.+0.j], dtype=complex64)
    """
    x = value("sort_complex", a, "a")
    return sort(cast(x, dtypes.complex_of(x.dtype)), axis=-1)


def _order(x: Any, *, axis: int, stable: bool, descending: bool, dtype: Any) -> Any:
    indices = creation.iota(dtype=dtype, shape=x.aval.shape, dimension=axis)
    if (
        descending
    ):  # sorting the reversed array and reversing the result keeps the order of equal elements
        x, indices = reversed_along("argsort", x, axis), reversed_along("argsort", indices, axis)
    _, result = primitive.sort(x, indices, dimension=axis, is_stable=stable, num_keys=1)
    return reversed_along("argsort", result, axis) if descending else result


def _order_by_numpy(x: Any, *, axis: int, stable: bool, descending: bool, dtype: Any) -> Any:
    """NumPy's kernel for `_order`."""
    if descending or not is_native(x):
        return None
    return lambda x: primitive.stable_order(x, axis).astype(dtype)


_argsorted = composite(_order, evaluate=_order_by_numpy)


def argsort(
    a: ArrayLike,
    axis: Axis = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """The indices that sort an array along an axis.

    Args: as in `sort`.
      dtype: dtype of the indices.
    Returns: int32 array of the shape of `a`.
    Example:
      >>> np.argsort(np.array([3, 1, 2]))
      Array([1, 2, 0], dtype=int32)
    """
    _unsupported("argsort", kind=kind, order=order)
    x, axis = _flat(value("argsort", a, "a"), axis)
    sort_axis = one_axis("argsort", axis, x)
    index_dtype = dtype_argument("argsort", dtype) or dtypes.default_int()
    return _argsorted(
        x, axis=sort_axis, stable=bool(stable), descending=bool(descending), dtype=index_dtype
    )


@located
def lexsort(keys: Sequence[ArrayLike] | ArrayLike, axis: int = -1) -> Array:
    """The indices that sort by several keys; the last key is the primary one.

    Args:
      keys: arrays of the same shape, or the slices of an array.
      axis: the axis along which to sort.
    Returns: int32 array of the shape of a key.
    Example:
      >>> np.lexsort((np.array([1, 0, 2]), np.array([5, 5, 4])))
      Array([2, 1, 0], dtype=int32)
    """
    arrays = items_of("lexsort", "keys", keys)
    parts = [value("lexsort", k, f"key {i}") for i, k in enumerate(arrays)]
    if not parts:
        raise TypeError("lexsort: needs at least one key")
    if any(p.shape != parts[0].shape for p in parts):
        raise ShapeError(
            f"lexsort: keys must be of one shape; got {', '.join(str(p.aval) for p in parts)}"
        )
    if not parts[0].ndim:
        return from_numpy(np.zeros((), dtypes.default_int()))
    sort_axis = one_axis("lexsort", axis, parts[0].ndim)
    return _ordered_by(*parts, axis=sort_axis, dtype=dtypes.default_int())


def _order_by_keys(*keys: Any, axis: int, dtype: Any) -> Any:
    indices = creation.iota(dtype=dtype, shape=keys[0].shape, dimension=axis)
    *_, result = primitive.sort(
        *reversed(keys), indices, dimension=axis, is_stable=True, num_keys=len(keys)
    )
    return result


_ordered_by = composite(_order_by_keys)


def _kth(name: str, kth: Any, x: Any, axis: int) -> int:
    k = as_int(name, kth, "kth")
    if not -x.shape[axis] <= k < x.shape[axis]:
        raise noted(ShapeError(f"{name}: kth {k} is out of range for axis {axis} of {x.aval}"))
    return k


@located
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Partially sorts an array: the kth smallest element is at its sorted position.

    Args:
      a: array of any shape.
      kth: the index of the element; smaller elements are before it, larger ones after it.
      axis: the axis along which to partition.
    Returns: array of the shape of `a`; weft sorts it completely.
    Example:
      >>> np.partition(np.array([3, 1, 2]), 1)[1]
      Array(2, dtype=int32)
    """
    x = value("partition", a, "a")
    _kth("partition", kth, x, one_axis("partition", axis, x))
    return sort(x, axis=axis)


@located
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The indices that partition an array; see `partition`.

    Example:
      >>> np.argpartition(np.array([3, 1, 2]), 1)[1]
      Array(2, dtype=int32)
    """
    x = value("argpartition", a, "a")
    _kth("argpartition", kth, x, one_axis("argpartition", axis, x))
    return argsort(x, axis=axis)


# --- search ---


def in_order(x: Any, y: Any, or_equal: bool) -> Any:
    """True where x < y (or x <= y) in sorting order: NaN is the largest element and equals itself;
    complex numbers are ordered by real part, then by imaginary part."""
    if dtypes.is_complex(x.aval.dtype):
        x_real, y_real = complex_numbers.real(x), complex_numbers.real(y)
        x_imag, y_imag = complex_numbers.imag(x), complex_numbers.imag(y)
        real_equal = in_order(x_real, y_real, True) & in_order(y_real, x_real, True)
        return in_order(x_real, y_real, False) | (real_equal & in_order(x_imag, y_imag, or_equal))
    compare = comparison.le if or_equal else comparison.lt
    result = compare(x, y)
    if dtypes.is_inexact(x.aval.dtype):
        y_nan = comparison.ne(y, y)
        result = result | (y_nan if or_equal else y_nan & comparison.eq(x, x))
    return result


_MIN_LOOP_SIZE = 1 << 16
"""The number of queries from which on a loop is faster than unrolled steps, because it reuses
memory."""


def _search(a: Any, v: Any, *, right: bool, dtype: Any) -> Any:
    """The number of elements before `v`, by bisection: each step computes one binary digit."""
    n = a.aval.shape[0]
    shape = v.aval.shape
    index = v.aval.update(dtype=dtype, weak_type=False)
    count, one = literal(n, dtype), literal(1, dtype)

    def step(position: Any, digit: Any) -> Any:
        """The position after a step: adds the digit if that many elements are before `v`."""
        candidate = structural.add(position, digit)
        clipped = arithmetic.min_(candidate, count)
        element = gather_along(a, arithmetic.sub(clipped, one))
        # the element is before `v`: it is smaller (or equal, on the right side)
        is_before = in_order(element, v, right) & comparison.eq(candidate, clipped)
        return selection.select_n(is_before, position, candidate)

    position = creation.full(index, 0)
    digits = [literal(1 << k, dtype) for k in reversed(range(n.bit_length()))]
    if index.size < _MIN_LOOP_SIZE or not n:
        position = functools.reduce(step, digits, position)
    else:
        _, position = while_loop(
            lambda state: comparison.gt(state[0], literal(0, dtype)),
            lambda state: (arithmetic.div(state[0], literal(2, dtype)), step(state[1], state[0])),
            (digits[0], position),
        )
    return position if position.aval.shape == shape else structural.widen(position, shape)


MAX_HOST_QUERIES = 4096
"""For more queries, a compiled program, which bisects for all at once, is faster than NumPy."""


def _search_by_numpy(a: Any, v: Any, *, right: bool, dtype: Any) -> Any:
    """NumPy's kernel for `_search`."""
    side: Any = "right" if right else "left"
    if not is_native(a, v) or v.size > MAX_HOST_QUERIES:
        return None
    return lambda a, v: np.searchsorted(a, v, side).astype(dtype)


_searched = composite(_search, evaluate=_search_by_numpy)


@composite
def _count_before(a: Any, v: Any, *, right: bool, dtype: Any) -> Any:
    """The number of elements before `v`, by comparison with all elements."""
    column = structural.reshape(v, shape=(*v.aval.shape, 1))
    return sum(cast(in_order(a, column, right), dtype), -1, promote_integers=False)


@located
def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """The indices at which to insert values into a sorted array so that it remains sorted.

    Args:
      a: sorted array [n].
      v: array of any shape, or a number; the dtype of `a` need not represent a Python integer.
      side: 'left' inserts before equal elements, 'right' after them.
      sorter: the indices that sort `a`, if it is not sorted.
      method: 'scan', 'scan_unrolled' and 'sort' bisect; 'compare_all' compares with all elements,
        which may be faster on accelerators.
    Returns: int32 array of the shape of `v`, from 0 to n.
    Example:
      >>> np.searchsorted(np.array([1, 2, 3]), np.array([0, 2, 9]))
      Array([0, 1, 3], dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right'; got {side!r}")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all", "default"):
        raise ValueError(
            "searchsorted: method must be 'scan', 'scan_unrolled', 'sort' or 'compare_all'; got "
            f"{method!r}"
        )
    x = value("searchsorted", a, "a")
    if x.ndim == 1 and is_beyond(v, x):
        result_aval = aval((), dtypes.default_int())
        return creation.full(result_aval, x.size if v > 0 else 0)  # type: ignore[operator]
    x, y = promote_values("searchsorted", x, v)
    if x.ndim != 1:
        raise ShapeError(f"searchsorted: expected a sorted array of one axis; got {x.aval}")
    if sorter is not None:
        order = value("searchsorted", sorter, "sorter")
        if order.shape != x.shape or not dtypes.is_integer(order.dtype):
            raise ShapeError(
                f"searchsorted: sorter must be the indices that sort a, {x.aval}; got {order.aval}"
                "\n  fix: sorter=np.argsort(a)"
            )
        x = gather_along(x, order)
    run = _count_before if method == "compare_all" else _searched
    return run(x, y, right=side == "right", dtype=dtypes.default_int())
