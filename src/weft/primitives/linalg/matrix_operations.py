"""Operations on stacks of matrices, for derivatives and batching rules: transposes, products,
triangles, diagonals, scaled rows and columns."""

from typing import Any

import numpy as np

from ... import dtypes
from ...core.aval import Aval
from ...core.value import Value
from ..arithmetic import abs_, div, mul
from ..comparison import eq, ge, gt, le, lt
from ..complex_numbers import conj, real
from ..creation import full, iota, zeros
from ..products import Precision, dot_general
from ..reductions import reduce_max
from ..selection import where
from ..structural import add, broadcast_in_dim, convert_element_type, reduce_sum, transpose

_HIGHEST_PRECISION = (Precision.HIGHEST, Precision.HIGHEST)
_COMPARE = {"lower": ge, "upper": le, "strictly lower": gt, "strictly upper": lt, "diagonal": eq}


def matrix_transpose(x: Value) -> Value:
    """The transposes of a stack of matrices."""
    n = x.ndim
    return transpose(x, permutation=(*range(n - 2), n - 1, n - 2))


def conjugate(x: Value) -> Value:
    """The complex conjugate; a real array unchanged."""
    return conj(x) if dtypes.is_complex(x.dtype) else x


def adjoint(x: Value) -> Value:
    """The conjugate transposes of a stack of matrices."""
    return conjugate(matrix_transpose(x))


def product_of(*matrices: Value) -> Value:
    """The product of stacks of matrices, from the left, in full precision on every device."""
    x, *others = matrices
    for y in others:
        batch = tuple(range(x.ndim - 2))
        dims = (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch))
        x = dot_general(x, y, dims=dims, precision=_HIGHEST_PRECISION)
    return x


def mask_of(shape: tuple[int, ...], part: str) -> Value:
    """A mask of a part of stacked matrices: "lower", "strictly upper" or "diagonal"."""
    matrix_shape = shape[-2:]
    rows = iota(dtype=dtypes.int32, shape=matrix_shape, dimension=0)
    columns = iota(dtype=dtypes.int32, shape=matrix_shape, dimension=1)
    mask = _COMPARE[part](rows, columns)
    if len(shape) > 2:
        n = len(shape)
        mask = broadcast_in_dim(mask, shape=shape, dims=(n - 2, n - 1))
    return mask


def part_of(x: Value, part: str) -> Value:
    """A stack of matrices with zeros outside a part."""
    return where(mask_of(x.shape, part), x, full(x.aval.update(shape=(), weak_type=False), 0))


def identities(x: Aval, n: int) -> Value:
    """A stack of n × n identities with x's batch and dtype."""
    aval = x.update(shape=(*x.shape[:-2], n, n), dtype=dtypes.bool_, weak_type=False)
    return convert_element_type(mask_of(aval.shape, "diagonal"), dtype=x.dtype)


def diagonal_of(x: Value) -> Value:
    """The diagonals of a stack of square matrices."""
    return reduce_sum(part_of(x, "diagonal"), axes=(x.ndim - 1,))


def hermitian_of(x: Value, lower: bool) -> Value:
    """The Hermitian matrices that one triangle of `x` and the real part of its diagonal define."""
    side = "lower" if lower else "upper"
    strict_triangle = part_of(x, f"strictly {side}")
    if not dtypes.is_complex(x.dtype):
        return add(part_of(x, side), matrix_transpose(strict_triangle))
    return add(
        add(strict_triangle, adjoint(strict_triangle)),
        part_of(in_dtype_of_matrix(real(x), x), "diagonal"),
    )


def real_of(x: Value) -> Value:
    """The real part; a real array unchanged."""
    return real(x) if dtypes.is_complex(x.dtype) else x


def in_dtype_of_matrix(x: Value, y: Value) -> Value:
    """A real array converted to the dtype of another, which may be complex."""
    return convert_element_type(x, dtype=y.dtype) if x.dtype != y.dtype else x


def scaled_columns(x: Value, factors: Value) -> Value:
    """Matrices whose columns are multiplied by a stack of vectors."""
    n = x.ndim
    dims = (*range(n - 2), n - 1)
    return mul(x, broadcast_in_dim(in_dtype_of_matrix(factors, x), shape=x.shape, dims=dims))


def scaled_rows(x: Value, factors: Value) -> Value:
    """Matrices whose rows are multiplied by a stack of vectors."""
    dims = tuple(range(x.ndim - 1))
    return mul(x, broadcast_in_dim(in_dtype_of_matrix(factors, x), shape=x.shape, dims=dims))


def outer(x: Value, y: Value, operation: Any) -> Value:
    """`operation(x[i], y[j])` for all pairs of elements of two stacks of vectors."""
    shape, n = (*x.shape, y.shape[-1]), x.ndim
    rows = broadcast_in_dim(x, shape=shape, dims=tuple(range(n)))
    columns = broadcast_in_dim(y, shape=shape, dims=(*range(n - 1), n))
    return operation(rows, columns)


def guarded_inverse(gaps: Value, scale: Value) -> Value:
    """1 / gaps, and 0 where a gap is only rounding error, relative to `scale`.

    In a derivative such an element is multiplied by zero if the function depends only on the
    eigenvalues and on the eigenspaces of equal ones.

    Args:
      gaps: a stack of matrices.
      scale: for each matrix, the largest of the numbers whose differences are the gaps.
    """
    n = max(gaps.shape[-1], 1)
    limit = mul(scale, full(scale.aval.strong(), float(n * np.finfo(gaps.dtype).eps)))
    limit = broadcast_in_dim(limit, shape=gaps.shape, dims=tuple(range(limit.ndim)))
    is_distinct = gt(abs_(gaps), limit)
    one = full(gaps.aval.update(shape=(), weak_type=False), 1)
    zero = full(gaps.aval.update(shape=(), weak_type=False), 0)
    return where(is_distinct, div(one, where(is_distinct, gaps, one)), zero)


def largest(x: Value) -> Value:
    """The largest absolute value in each of a stack of vectors; 0 in an empty one."""
    if x.shape[-1] == 0:
        return zeros(x.aval.update(shape=x.shape[:-1], weak_type=False))
    return reduce_max(abs_(x), axes=(x.ndim - 1,))
