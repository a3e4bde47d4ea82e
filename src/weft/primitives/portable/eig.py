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
    front, n = a.shape[:-2], a.shape[-1]
    (a,) = to_stacks(as_dtype(a, dtypes.complex_of(a.dtype)))
    if n == 0:
        values = full(aval((*front, 0), a.dtype), 0)
        return [values, *[from_stacks(a, front)] * (left + right)]
    t, z = portable_schur(a)
    results = [diagonal_of(t)]
    if left:
        # of the adjoint, which is lower triangular: upper, with rows and columns reversed
        vectors = _reversed(_vectors_of_triangle(_reversed(adjoint(t))))
        results.append(_lengths_of_one(matmul(z, vectors)))
    if right:
        results.append(_lengths_of_one(matmul(z, _vectors_of_triangle(t))))
    return [from_stacks(x, front) for x in results]


def _reversed(x: Any) -> Any:
    """Rows and columns in reverse order."""
    return rev(x, dimensions=(1, 2))


def _vectors_of_triangle(t: Any) -> Any:
    """The eigenvectors of upper triangular matrices: upper triangular, ones on the diagonal."""
    stack, n = t.shape[:2]
    line = diagonal_of(t)
    across = reshape(line, shape=(stack, 1, n))
    size = reshape(reduce_max(abs_(t), axes=(1, 2)), shape=(stack, 1, 1))
    least = float(dtypes.finfo(t.dtype).eps) * size + float(dtypes.finfo(t.dtype).tiny)

    def step(k: Any, x: Any, t: Any, across: Any, least: Any) -> Sequence[Any]:
        i = n - 1 - k
        mine = row(t, i)
        sums = matmul(select(positions(n, 2) > i, mine, 0), x)
        gaps = across - column(mine, i)
        gaps = select(abs_(gaps) < least, as_dtype(least, t.dtype), gaps)
        new = select(positions(n, 2) > i, sums / gaps, select(positions(n, 2) == i, 1, row(x, i)))
        return [with_row(x, i, new), t, across, least]

    start = full(t.aval.strong(), 0)
    return repeated_while(n, None, step, [start, t, across, least])[0]


def _lengths_of_one(x: Any) -> Any:
    """Columns of length one."""
    stack, n = x.shape[0], x.shape[2]
    largest = reshape(reduce_max(abs_(x), axes=(1,)), shape=(stack, 1, n))
    x = divide_by_real(x, largest)
    size = reshape(sqrt(reduce_sum(abs_squared(x), axes=(1,))), shape=(stack, 1, n))
    return divide_by_real(x, size)
