"""Functions of matrices by the Schur form: sqrtm, logm, funm.

A = Z T Zᴴ with an upper triangular T. For a constant Z, f(A) = Z f(Zᴴ A Z) Zᴴ holds for every A, so
derivatives follow from those at T. Results are complex, because a traced function cannot know
whether they are real. `funm` computes f(T) by Parlett's recurrence.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as onp

from ... import dtypes, numpy as np
from ...core.array import Array, literal
from ...core.source import located
from ...errors import ShapeError
from ...lax import cond, dynamic_update_slice_in_dim, fori_loop, linalg as lax_linalg
from ...numpy import linalg
from ...numpy.axes import as_int
from ...numpy.linalg.operands import adjoint, identities, in_wide_dtype, matrices, rounded
from ...numpy.plans import composite
from ...numpy.promotion import cast
from ...primitives import selection
from ...transforms.custom_derivatives import custom_jvp
from ...typing import ArrayLike
from .expm import expm
from .sylvester import (
    _column,
    solve_sylvester_of_triangles,
    solve_upper,
    sylvester,
    sylvester_near_triangles,
)

__all__ = ["funm", "logm", "sqrtm"]


def _triangular_form(x: Any) -> tuple[Any, Any]:
    """(Zᴴ x Z, Z), both complex; Zᴴ x Z is upper triangular, and Z a constant."""
    matrix = cast(x, dtypes.complex_of(x.dtype))
    _, z = lax_linalg.schur(selection.stop_gradient(matrix))
    return adjoint(z) @ matrix @ z, z


# --- roots ---


@custom_jvp
def _root(t: Any) -> Any:
    """The principal square root of an upper triangular matrix; elements below the diagonal count as
    zero."""
    return root_of_triangle(np.triu(t))


@_root.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """r dr + dr r = dt."""
    r = _root(*primals)
    return r, sylvester_near_triangles(r, r, tangents[0])


@custom_jvp
def _root_and_form(a: Any) -> Any:
    """(z r zᴴ, r, z): the root of a, and the root r of its triangular form zᴴ a z."""
    t, z = lax_linalg.schur(a)
    r = root_of_triangle(t)
    return z @ r @ adjoint(z), r, z


@_root_and_form.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """x dx + dx x = da, in the coordinates in which x is triangular: no second form is needed."""
    x, r, z = _root_and_form(*primals)
    triangle, basis = selection.stop_gradient(r), selection.stop_gradient(z)

    def solver(_: bool) -> Callable[[Any], Any]:
        def solved(c: Any) -> Any:
            rotated = adjoint(basis) @ c @ basis
            return (
                basis @ solve_sylvester_of_triangles(triangle, triangle, rotated) @ adjoint(basis)
            )

        return solved

    dx = sylvester(x, x, tangents[0], solver)
    return (x, r, z), (dx, np.zeros_like(r), np.zeros_like(z))


@located
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """The principal square root of matrices: X X = A.

    Args:
      A: array [batch…, n, n].
      blocksize: must be 1: the algorithm is not blocked.
    Returns: complex array of the shape of A; NaN where there is no root.
    Raises: ShapeError: not square. ValueError: an invalid blocksize.
    Example:
      >>> sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]])).real
      Array([[2., 0.],
             [0., 3.]], dtype=float32)
    Source: Å. Björck, S. Hammarling, Linear Algebra Appl. 52/53 (1983) 127-140.
    """
    if as_int("sqrtm", blocksize, "blocksize") != 1:
        raise ValueError(f"sqrtm: blocksize must be 1: roots aren't blocked; got {blocksize}")
    x = matrices("sqrtm", A, "A", square=True)
    if not x.size:
        return cast(x, dtypes.complex_of(x.dtype))
    dtype = dtypes.complex_of(x.dtype)
    return rounded(_root_of_any(in_wide_dtype(x)), dtype)


@composite
def _root_of_any(x: Any) -> Any:
    return _root_and_form(cast(x, dtypes.complex_of(x.dtype)))[0]


# --- logarithms ---

_MAX_ROOTS = 60
_QUADRATURE_NODES = 8
_QUADRATURE_RADIUS = 0.25  # eight nodes are exact in float64 for |T - 1| up to here


@located
def logm(A: ArrayLike, disp: bool = True) -> Any:
    """The principal logarithm of matrices: expm(X) = A.

    Args:
      A: array [batch…, n, n].
      disp: False returns an estimate of the relative error too.
    Returns: complex array of the shape of A, or (it, |expm(it) - A| / |A| in the 1-norm). NaN or
      infinite for singular matrices.
    Raises: ShapeError: not square.
    Example:
      >>> np.round(logm(np.array([[1.0, 0.0], [0.0, np.e]])).real, 4)
      Array([[0., 0.],
             [0., 1.]], dtype=float32)
    Source: S. H. Cheng et al., SIAM J. Matrix Anal. Appl. 22 (2001) 1112-1125: roots until the
      matrix is near the identity, and Gauss-Legendre quadrature there.
    """
    x = matrices("logm", A, "A", square=True)
    dtype = dtypes.complex_of(x.dtype)
    if not x.size:
        return cast(x, dtype)
    logarithm = rounded(_logarithm_of_any(in_wide_dtype(x)), dtype)
    if disp:
        return logarithm
    a = cast(x, dtype)
    error = linalg.norm(expm(logarithm) - a, 1, (-2, -1))
    return logarithm, error / linalg.norm(a, 1, (-2, -1))


@composite
def _logarithm_of_any(x: Any) -> Any:
    t, z = _triangular_form(x)
    return z @ _logarithm(t) @ adjoint(z)


def _logarithm(t: Any) -> Any:
    """The logarithm of an upper triangular matrix."""
    one = identities(t.aval, t.shape[-1])

    def is_far(t: Any) -> Any:
        triangle = selection.stop_gradient(np.triu(t))
        return np.max(np.sum(abs(triangle - one), axis=-2), axis=-1) > _QUADRATURE_RADIUS

    def step(k: Any, state: Any) -> Any:
        t, count = state
        needs_root = is_far(t)

        def take_root(t: Any) -> Any:
            return np.where(needs_root[..., None, None], _root(t), t)

        return cond(np.any(needs_root), take_root, lambda t: t, t), count + needs_root.astype(
            count.dtype
        )

    count = np.zeros(t.shape[:-2], t.real.dtype)
    t, count = fori_loop(0, _MAX_ROOTS, step, (t, count))
    nodes, weights = onp.polynomial.legendre.leggauss(_QUADRATURE_NODES)
    change, total = t - one, None
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        term = linalg.solve(one + float(node) * change, change) * float(weight)
        total = term if total is None else total + term
    return total * np.exp2(count)[..., None, None].astype(t.dtype)


# --- any function ---


@located
def funm(A: ArrayLike, func: Callable[[Array], Array], disp: bool = True) -> Any:
    """A function of a matrix, from its values at the eigenvalues.

    It is not differentiable. Nearly equal eigenvalues reduce its accuracy.

    Args:
      A: array [n, n].
      func: a function of complex numbers, elementwise.
      disp: False returns an estimate of the relative error too.
    Returns: complex array [n, n], or (it, error).
    Raises: ShapeError: not square.
    Example:
      >>> np.round(funm(np.array([[1.0, 2.0], [0.0, 3.0]]), np.square).real, 4)
      Array([[1., 8.],
             [0., 9.]], dtype=float32)
    Source: B. N. Parlett's recurrence: G. H. Golub, C. F. Van Loan, Matrix Computations, 9.1.4.
    """
    if not callable(func):
        raise TypeError(f"funm: func must be a function; got {type(func).__name__} {func!r:.60}")
    x = matrices("funm", A, "A", square=True)
    if x.ndim != 2:
        raise ShapeError(f"funm: expected A [n, n]; got {x.aval}")
    matrix = in_wide_dtype(x)
    dtype = dtypes.complex_of(matrix.dtype)
    t, z = lax_linalg.schur(cast(matrix, dtype))
    if x.size:
        values = cast(np.asarray(func(np.diagonal(t))), dtype)
        f, smallest_gap = function_of_triangle(t, values)
    else:
        f, smallest_gap = t, np.asarray(1.0)
    result = rounded(z @ f @ adjoint(z), dtypes.complex_of(x.dtype))
    if disp:
        return result
    eps = float(dtypes.finfo(dtype).eps)
    smallest_gap = np.where(smallest_gap == 0, eps, smallest_gap)
    error = eps / smallest_gap * linalg.norm(np.triu(t, 1), 1)
    error = np.where(np.isnan(result).any(), float("inf"), np.clip(error, eps, 1.0))
    return result, error


def by_recurrence(t: Any, diagonal: Any, product: Any) -> Any:
    """Computes an upper triangular matrix with a known diagonal column by column. Column k above
    the diagonal is the x that solves product(k, columns, column of t).

    Args:
      product: (k, the matrix up to column k, the column of t above the diagonal, mask of these
        rows) -> the column of the result above the diagonal.
    """
    n = t.shape[-1]
    start = diagonal[..., :, None] * np.eye(n, dtype=t.dtype)

    def step(k: Any, columns: Any) -> Any:
        is_above = (np.arange(n) < k)[:, None]
        column_above = selection.where(is_above, _column(t, k), literal(0, t.dtype))
        new_column = selection.where(
            is_above, product(k, columns, column_above, is_above), _column(start, k)
        )
        return dynamic_update_slice_in_dim(columns, new_column, k, -1)

    return fori_loop(1, n, step, start) if n > 1 else start


_LEAF_SIZE = 8


def _size(x: Any) -> Any:
    """An estimate of |x|. XLA's absolute value of complex numbers takes about twelve operations."""
    return abs(x.real) + abs(x.imag)


def root_of_triangle(t: Any) -> Any:
    """The upper triangular r with r r = t whose eigenvalues have no negative real part; NaN where
    there is none.

    The roots of all small diagonal blocks are computed first, together. Then each two neighbours
    and the block beside them form a block of twice the size, until one block remains: the root of
    [[t, c], [0, u]] is [[r, y], [0, s]] with r y + y s = c. Source: Å. Björck, S. Hammarling,
    Linear Algebra Appl. 52/53 (1983) 127-140; E. Deadman, N. J. Higham, R. Ralha, LNCS 7782 (2013)
    171-182.
    """
    n = t.shape[-1]
    if not n:
        return t
    limit = 10 * n * float(np.finfo(t.dtype).eps)
    threshold = limit * np.max(_size(t), axis=(-2, -1))[..., None, None, None]

    def solve_shifted(r: Any, shift: Any, column: Any) -> Any:
        sums = np.diagonal(r, 0, -2, -1)[..., :, None] + shift
        is_zero = sums == 0
        sums = selection.where(is_zero, literal(1, t.dtype), sums)
        solution = solve_upper(selection.where(np.eye(r.shape[-1], dtype=bool), sums, r), column)
        return selection.where(
            is_zero & (_size(solution) > threshold), literal(float("nan"), t.dtype), solution
        )

    levels = max(0, math.ceil(math.log2(n / _LEAF_SIZE)))
    block_size = -(-n >> levels)
    padding = (block_size << levels) - n
    edges = [(0, 0)] * (t.ndim - 2)
    padded = np.pad(t, [*edges, (0, padding), (0, padding)])
    padded = padded + np.diag(np.pad(np.zeros(n, t.dtype), (0, padding), constant_values=1))
    root = _root_by_diagonals(_blocks(padded, block_size, 1, 0), threshold[..., 0])
    for _ in range(levels):
        right_blocks = _blocks(padded, block_size, 2, 1)
        upper_root, lower_root = root[..., 0::2, :, :], root[..., 1::2, :, :]
        y = solve_sylvester_of_triangles(upper_root, lower_root, right_blocks, solve_shifted)
        root = np.block([[upper_root, y], [np.zeros_like(y), lower_root]])
        block_size *= 2
    return root[..., 0, :n, :n]


def _blocks(t: Any, block_size: int, stride: int, right: int) -> Any:
    """Each `stride`th block on the diagonal, or the block to its right: [batch…, count, size,
    size]."""
    count = t.shape[-1] // (block_size * stride)
    blocks = t.reshape(*t.shape[:-2], count, stride, block_size, count, stride, block_size)
    return np.moveaxis(np.diagonal(blocks[..., 0, :, :, right, :], 0, -4, -2), -1, -3)


def _root_by_diagonals(t: Any, threshold: Any) -> Any:
    """The roots of small triangles, one diagonal at a time: each is an elementwise formula of the
    diagonals before it."""
    n = t.shape[-1]
    elements = t.reshape(*t.shape[:-2], n * n)
    diagonals = [np.sqrt(elements[..., :: n + 1])]
    for k in range(1, n):
        length = n - k
        remainder = elements[..., k : n * length : n + 1]
        for i in range(1, k):
            remainder = (
                remainder - diagonals[i][..., :length] * diagonals[k - i][..., i : i + length]
            )
        sums = diagonals[0][..., :length] + diagonals[0][..., k:]
        is_zero = sums == 0
        diagonal = remainder / selection.where(is_zero, literal(1, t.dtype), sums)
        is_invalid = is_zero & (_size(diagonal) > threshold)
        diagonals.append(selection.where(is_invalid, literal(float("nan"), t.dtype), diagonal))
    # element [i, i + k] is element i of diagonal k; elements below read the zero at the end
    diagonals.append(np.zeros_like(diagonals[0][..., :1]))
    ends = onp.cumsum([0, *[x.shape[-1] for x in diagonals]])
    rows, columns = onp.indices((n, n))
    indices = onp.where(columns >= rows, ends[abs(columns - rows)] + rows, ends[n])
    return np.take(np.concatenate(diagonals, -1), indices, axis=-1, mode="clip")


def function_of_triangle(t: Any, values: Any) -> tuple[Any, Any]:
    """(f(t), the smallest difference of eigenvalues), by Parlett's recurrence from f(t[i, i]).

    Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 9.1.4.
    """
    n = t.shape[-1]
    eigenvalues = np.diagonal(t, 0, -2, -1)
    one = np.eye(n, dtype=t.dtype)

    def product(k: Any, columns: Any, column: Any, is_above: Any) -> Any:
        # (t - t[k, k]) x = (f - f[k, k]) t[:, k], in the rows above k
        gaps = eigenvalues[..., :, None] - _column(eigenvalues[..., None, :], k)
        sides = selection.where(is_above, np.triu(columns, 1) @ column, literal(0, t.dtype))
        slopes = values[..., :, None] - _column(values[..., None, :], k)
        nonzero_gaps = selection.where(is_above & (gaps != 0), gaps, literal(1, t.dtype))
        strict_upper = np.triu(t, 1)
        strict_upper = selection.where(
            is_above & np.matrix_transpose(is_above), strict_upper, literal(0, t.dtype)
        )
        return solve_upper(strict_upper + nonzero_gaps * one, sides + slopes * column)

    gaps = abs(eigenvalues[..., :, None] - eigenvalues[..., None, :])
    gaps = np.where(np.eye(n, dtype=bool), float("inf"), gaps)
    smallest_gap = np.minimum(
        np.min(gaps, axis=(-2, -1), initial=float("inf")), abs(eigenvalues[..., 0])
    )
    return by_recurrence(t, values, product), smallest_gap
