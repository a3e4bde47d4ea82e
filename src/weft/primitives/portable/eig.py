"""Eigenvalues and eigenvectors of any square matrix, from Schur's form by back substitution."""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_, sqrt
from ..creation import full
from ..linalg.matrix_operations import adjoint, diagonal_of
from ..reductions import reduce_max
from ..slicing import rev
from ..structural import reduce_sum, reshape
from .lowering import repeated_while
from .schur import portable_schur
from .stacks import (
    abs_squared,
    as_dtype,
    column,
    divide_by_real,
    from_stacks,
    matmul,
    positions,
    row,
    select,
    to_stacks,
    with_row,
)

# --- eigenvectors ---


def portable_eig(a: Any, *, left: bool = True, right: bool = True) -> Sequence[Any]:
    """Eigenvalues, and optionally left and right eigenvectors, of any matrices [batch…, n, n]."""
    batch_shape, n = a.shape[:-2], a.shape[-1]
    (a,) = to_stacks(as_dtype(a, dtypes.complex_of(a.dtype)))
    if n == 0:
        values = full(aval((*batch_shape, 0), a.dtype), 0)
        return [values, *[from_stacks(a, batch_shape)] * (left + right)]
    t, z = portable_schur(a)
    results = [diagonal_of(t)]
    if left:
        # of the adjoint, which is lower triangular: upper, with rows and columns reversed
        vectors = _reversed(_vectors_of_triangle(_reversed(adjoint(t))))
        results.append(_normalize_columns(matmul(z, vectors)))
    if right:
        results.append(_normalize_columns(matmul(z, _vectors_of_triangle(t))))
    return [from_stacks(x, batch_shape) for x in results]


def _reversed(x: Any) -> Any:
    """Rows and columns in reverse order."""
    return rev(x, dimensions=(1, 2))


def _vectors_of_triangle(t: Any) -> Any:
    """The eigenvectors of upper triangular matrices: upper triangular, ones on the diagonal."""
    stack, n = t.shape[:2]
    eigenvalues = diagonal_of(t)
    eigenvalue_row = reshape(eigenvalues, shape=(stack, 1, n))
    largest_element = reshape(reduce_max(abs_(t), axes=(1, 2)), shape=(stack, 1, 1))
    min_gap = float(dtypes.finfo(t.dtype).eps) * largest_element + float(dtypes.finfo(t.dtype).tiny)

    def step(k: Any, x: Any, t: Any, eigenvalue_row: Any, min_gap: Any) -> Sequence[Any]:
        i = n - 1 - k
        row_i = row(t, i)
        sums = matmul(select(positions(n, 2) > i, row_i, 0), x)
        gaps = eigenvalue_row - column(row_i, i)
        gaps = select(abs_(gaps) < min_gap, as_dtype(min_gap, t.dtype), gaps)
        solution = select(
            positions(n, 2) > i, sums / gaps, select(positions(n, 2) == i, 1, row(x, i))
        )
        return [with_row(x, i, solution), t, eigenvalue_row, min_gap]

    start = full(t.aval.strong(), 0)
    return repeated_while(n, None, step, [start, t, eigenvalue_row, min_gap])[0]


def _normalize_columns(x: Any) -> Any:
    """Columns of length one."""
    stack, n = x.shape[0], x.shape[2]
    largest = reshape(reduce_max(abs_(x), axes=(1,)), shape=(stack, 1, n))
    x = divide_by_real(x, largest)
    norm = reshape(sqrt(reduce_sum(abs_squared(x), axes=(1,))), shape=(stack, 1, n))
    return divide_by_real(x, norm)
