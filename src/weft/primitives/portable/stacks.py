"""Operations on stacks of matrices [stack, rows, columns], in first-order primitives, for
algorithms.

They include columns and rows at run-time positions, masks, and products at full precision.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_, like
from ..complex_numbers import complex_, imag, real
from ..creation import full, iota
from ..dynamic_slicing import dynamic_slice, dynamic_update_slice
from ..products import Precision, dot_general
from ..reductions import reduce_max
from ..selection import select_n
from ..slicing import concatenate, slice_
from ..sorting import take_along
from ..structural import convert_element_type, reduce_sum, reshape, widen

# --- shapes ---


def to_stacks(*xs: Any, rank: int = 2) -> list[Any]:
    """Arrays [batch…, *of rank axes] as [stack, …]."""
    results = []
    for x in xs:
        batch_shape = x.shape[: x.ndim - rank]
        results.append(reshape(x, shape=(math.prod(batch_shape), *x.shape[len(batch_shape) :])))
    return results


def from_stacks(x: Any, batch_shape: Sequence[int]) -> Any:
    """An array [stack, …] as [batch…, …]."""
    return reshape(x, shape=(*batch_shape, *x.shape[1:]))


def imaginary_part(x: Any) -> Any:
    """Imaginary parts; zero for real arrays."""
    return imag(x) if dtypes.is_complex(x.dtype) else full(x.aval.strong(), 0)


def as_dtype(x: Any, dtype: Any) -> Any:
    """The values in a dtype; real ones may become complex."""
    return x if x.dtype == dtype else convert_element_type(x, dtype=dtype)


def divide_by_real(x: Any, y: Any) -> Any:
    """x / y for real y. It does not square y, since the square might underflow."""
    if dtypes.is_complex(x.dtype):
        return complex_(real(x) / y, imag(x) / y)
    return x / y


def abs_squared(x: Any) -> Any:
    """|x|²."""
    if not dtypes.is_complex(x.dtype):
        return x * x
    a, b = real(x), imag(x)
    return a * a + b * b


# --- parts ---


def slice_along(a: Any, axis: int, start: int, stop: int) -> Any:
    """Elements from `start` up to `stop` along an axis."""
    starts, limits = [0] * a.ndim, list(a.shape)
    starts[axis], limits[axis] = start, stop
    return slice_(a, start=tuple(starts), limit=tuple(limits), strides=(1,) * a.ndim)


def concatenate_along(xs: Sequence[Any], axis: int) -> Any:
    """Arrays concatenated along an axis; empty ones are dropped."""
    xs = [x for x in xs if x.shape[axis]] or [xs[0]]
    return xs[0] if len(xs) == 1 else concatenate(*xs, dimension=axis)


def column(a: Any, j: Any) -> Any:
    """Column j, where j is a value, as [stack, rows, 1]."""
    zero = full(aval((), dtypes.int32), 0)
    return dynamic_slice(a, zero, zero, j, sizes=(*a.shape[:2], 1))


def row(a: Any, i: Any) -> Any:
    """Row i, where i is a value, as [stack, 1, columns]."""
    zero = full(aval((), dtypes.int32), 0)
    return dynamic_slice(a, zero, i, zero, sizes=(a.shape[0], 1, a.shape[2]))


def element_at(a: Any, i: Any, j: Any) -> Any:
    """The element in row i and column j, both [stack, 1, 1], as [stack, 1, 1]."""
    is_element = (positions(a.shape[1], 1) == i) & (positions(a.shape[2], 2) == j)
    return reshape(reduce_sum(select(is_element, a, 0), axes=(1, 2)), shape=(a.shape[0], 1, 1))


def subdiagonal(a: Any) -> Any:
    """The elements a[k + 1, k] of square matrices, as [stack, 1, n]; the last one is zero."""
    stack, n = a.shape[:2]
    elements = select(positions(n, 1) == positions(n, 2) + 1, a, 0)
    return reshape(reduce_sum(elements, axes=(1,)), shape=(stack, 1, n))


def with_column(a: Any, j: Any, values: Any) -> Any:
    """The matrices with column j replaced."""
    zero = full(aval((), dtypes.int32), 0)
    return dynamic_update_slice(a, values, zero, zero, j)


def with_row(a: Any, i: Any, values: Any) -> Any:
    """The matrices with row i replaced."""
    zero = full(aval((), dtypes.int32), 0)
    return dynamic_update_slice(a, values, zero, i, zero)


def positions(n: int, axis: int, ndim: int = 3) -> Any:
    """0, 1, … n - 1 along an axis of an array whose other axes have length one."""
    shape = tuple([n if i == axis else 1 for i in range(ndim)])
    return iota(dtype=dtypes.int32, shape=shape, dimension=axis)


def select(mask: Any, x: Any, y: Any) -> Any:
    """`x` where the mask holds, `y` elsewhere; either may be a number."""
    if not hasattr(x, "aval"):
        x = like(y, x)
    elif not hasattr(y, "aval"):
        y = like(x, y)
    return select_n(mask, y, x)


def identity_matrices(stack: int, n: int, m: int, dtype: Any) -> Any:
    """Identity matrices, [stack, n, m]."""
    shape = (stack, n, m)
    rows = iota(dtype=dtypes.int32, shape=shape, dimension=1)
    columns = iota(dtype=dtypes.int32, shape=shape, dimension=2)
    return convert_element_type(rows == columns, dtype=dtype)


def permute_rows(a: Any, positions_of_rows: Any) -> Any:
    """Rows in another order, one order for each matrix: `positions_of_rows` [stack, rows]."""
    if not a.size:
        return a
    order = reshape(positions_of_rows, shape=(*positions_of_rows.shape, 1))
    return take_along(a, widen(order, (*positions_of_rows.shape, a.shape[2])), 1, unique=False)


# --- products and norms ---


def matmul(x: Any, y: Any) -> Any:
    """Products of matrices, at full precision."""
    highest = Precision.HIGHEST
    dims = (((2,), (1,)), ((0,), (0,)))
    return dot_general(x, y, dims=dims, dtype=None, precision=(highest, highest))


def scale_to_one(a: Any) -> tuple[Any, Any]:
    """Scales matrices so that elements are at most one in size; also returns the real factors.

    The factors are [stack, 1, 1]. After scaling, no sum of squares overflows or underflows.
    Elements that are not finite stay so.
    """
    largest = full(aval((a.shape[0],), real_dtype(a.dtype)), 1)
    if a.size:
        largest = reduce_max(abs_(a), axes=(1, 2))
    factor = reshape(select(largest == 0, 1, largest), shape=(a.shape[0], 1, 1))
    return divide_by_real(a, factor), factor


def real_dtype(dtype: Any) -> Any:
    """The dtype of a number's real part."""
    return np.dtype(dtype.type(0).real.dtype) if dtypes.is_complex(dtype) else dtype
