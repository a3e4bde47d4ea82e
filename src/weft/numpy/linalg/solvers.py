"""Systems of linear equations, inverses and least squares: solve, inv, pinv, lstsq, tensorsolve,
tensorinv."""

import math
from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.array import Array, literal
from ...core.source import located
from ...errors import ShapeError
from ...lax import linalg as lax_linalg
from ...primitives import creation, selection, structural
from ...primitives.comparison import gt
from ...primitives.linalg.lu_solve import factored_inverse, factored_solve
from ...primitives.reductions import reduce_max
from ...transforms.custom_derivatives import custom_jvp
from ...typing import ArrayLike
from ..axes import as_int, axes_of, one_axis
from ..plans import composite
from ..products import matmul
from ..promotion import cast, noted, value
from .decompositions import _of_hermitian
from .operands import adjoint, in_wide_dtype, matrices, pair, rounded, wide_dtype

__all__ = ["inv", "lstsq", "pinv", "solve", "tensorinv", "tensorsolve"]


# --- systems of equations ---


@located
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solves linear systems a x = b for x.

    Args:
      a: array [batch…, n, n].
      b: array [n], or [batch…, n, k]; the batch axes broadcast.
    Returns: array [batch…, n] or [batch…, n, k]; inf or NaN where a matrix is singular.
    Raises: ShapeError: `a` is not square, or the lengths differ.
    Example:
      >>> np.linalg.solve(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
      Array([1., 2.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.solve`.
    """
    x, y = pair("solve", a, b)
    n = x.ndim
    if n < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"solve: a must be square: [batch…, n, n]; got {x.aval}")
    if not y.ndim or y.shape[0 if y.ndim == 1 else -2] != x.shape[-1]:
        raise ShapeError(
            f"solve: b must be [n], or [batch…, n, k], with n = {x.shape[-1]}; got {y.aval} for "
            f"a {x.aval}"
        )
    return _solve(x, y)


def _solution(a: Any, b: Any) -> Any:
    dtype = a.dtype
    a, b = cast(a, wide_dtype(dtype)), cast(b, wide_dtype(dtype))
    is_vector = b.ndim == 1
    if is_vector:
        b = structural.reshape(b, shape=(*b.shape, 1))
    batch_shape = structural.broadcast_shape(
        "solve", [x.aval.update(shape=x.shape[:-2]) for x in (a, b)]
    )
    factors, _, order = lax_linalg.lu(selection.stop_gradient(a))
    if a.shape[:-2] != batch_shape:
        a, factors = (structural.widen(x, (*batch_shape, *x.shape[-2:])) for x in (a, factors))
        order = structural.widen(order, (*batch_shape, order.shape[-1]))
    b = structural.widen(b, (*batch_shape, *b.shape[-2:]))
    x = factored_solve(factors, order, a, b, transposed=False)
    return rounded(structural.reshape(x, shape=x.shape[:-1]) if is_vector else x, dtype)


_solve = composite(_solution)


@located
def inv(a: ArrayLike) -> Array:
    """The inverse of matrices.

    Args:
      a: array [batch…, n, n].
    Returns: array of the shape of `a`; inf or NaN where a matrix is singular.
    Raises: ShapeError: the matrices are not square.
    Example:
      >>> np.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.inv`.
    """
    return _inv(matrices("inv", a, square=True))


def _inverse(a: Any) -> Any:
    operand = in_wide_dtype(a)
    factors, _, order = lax_linalg.lu(selection.stop_gradient(operand))
    return rounded(factored_inverse(factors, order, operand), a.dtype)


_inv = composite(_inverse)


@located
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of an array as a linear map from its last axes to its first `ind`.

    Args:
      a: array whose first `ind` axes have as many elements as its other axes.
      ind: the number of axes of the results of the map.
    Returns: array with the other axes first.
    Raises: ShapeError: the numbers of elements differ. ValueError: `ind` is not positive.
    Example:
      >>> np.linalg.tensorinv(np.eye(4).reshape(2, 2, 4)).shape
      (4, 2, 2)
    Source: NumPy documentation, `numpy.linalg.tensorinv`.
    """
    (x,) = pair("tensorinv", a, 1.0)[:1]
    ind = as_int("tensorinv", ind, "ind")
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be positive; got {ind}")
    range_shape, domain_shape = x.shape[:ind], x.shape[ind:]
    if math.prod(range_shape) != math.prod(domain_shape):
        raise ShapeError(
            f"tensorinv: the first {ind} axes must have as many elements as the others; got "
            f"{x.aval}"
        )
    n = math.prod(range_shape)
    inverse = inv(structural.reshape(x, shape=(n, math.prod(domain_shape))))
    return structural.reshape(inverse, shape=(*domain_shape, *range_shape))


@located
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Solves tensordot(a, x, x.ndim) = b for x.

    Args:
      a: array [*shape of b, *shape of x], where b and x have as many elements.
      b: array of any shape.
      axes: axes of `a` to move to the end first.
    Returns: array x.
    Raises: ShapeError: the numbers of elements differ.
    Example:
      >>> np.linalg.tensorsolve(np.eye(4).reshape(2, 2, 4), np.ones((2, 2)))
      Array([1., 1., 1., 1.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.tensorsolve`.
    """
    x, y = pair("tensorsolve", a, b)
    if axes is not None:
        last_axes = [one_axis("tensorsolve", i, x, "axes") for i in axes_of(axes)]
        order = (*[i for i in range(x.ndim) if i not in last_axes], *last_axes)
        if len(order) != x.ndim:
            raise ShapeError(f"tensorsolve: axes names an axis twice: {axes}")
        x = structural.transpose(x, permutation=order)
    shape = x.shape[y.ndim :]
    if x.size != y.size**2 or math.prod(shape) != y.size:
        raise ShapeError(
            f"tensorsolve: a must have the axes of b, and others with as many elements; got "
            f"{x.aval} and {y.aval}"
        )
    x = structural.reshape(x, shape=(y.size, y.size))
    return structural.reshape(_solve(x, structural.reshape(y, shape=(y.size,))), shape=shape)


# --- pseudo-inverse and least squares ---


def _alias(name: str, rtol: Any, other: Any, argument: str) -> Any:
    """The argument that was passed, of two with the same meaning."""
    if other is None:
        return rtol
    if rtol is not None:
        raise noted(ValueError(f"{name}: only one of rtol and {argument} may be given"))
    return other


def _threshold(name: str, s: Any, rtol: Any, x: Any) -> Any:
    """The bound up to which singular values count as zero, [batch…, 1]."""
    if rtol is None:
        eps = float(dtypes.finfo(x.dtype).eps)
        ratio: Any = literal(eps * max(x.shape[-2:]), s.dtype)
    else:
        ratio = cast(value(name, rtol, "rtol"), s.dtype)
        if ratio.ndim:
            ratio = structural.reshape(ratio, shape=(*ratio.shape, 1))
    last_axis = s.ndim - 1
    largest = (
        reduce_max(s, axes=(last_axis,))
        if s.shape[-1]
        else creation.full(s.aval.update(shape=s.shape[:-1]), 0)
    )
    return structural.reshape(largest, shape=(*largest.shape, 1)) * ratio


@custom_jvp
def _pseudo_inverse(a: Any, u: Any, s: Any, vh: Any) -> Any:
    """V diag(s) Uᴴ, where `s` has the inverses of singular values, or zeros."""
    scaled_v = adjoint(vh) * structural.reshape(
        cast(s, vh.dtype), shape=(*s.shape[:-1], 1, s.shape[-1])
    )
    return matmul(scaled_v, adjoint(u))


@_pseudo_inverse.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """Source: G. H. Golub, V. Pereyra, SIAM J. Numer. Anal. 10 (1973) 413-432, (4.12)."""
    a, *factors = primals
    da = tangents[0]
    p = _pseudo_inverse(a, *factors)
    dah, ph = adjoint(da), adjoint(p)
    inverse_term = matmul(matmul(p, da), p)
    left = matmul(p, matmul(ph, dah))
    right = matmul(matmul(dah, ph), p)
    left_term = left - matmul(matmul(left, a), p)
    right_term = right - matmul(p, matmul(a, right))
    return p, left_term + right_term - inverse_term


@custom_jvp
def _minimum_norm_solution(b: Any, a: Any, u: Any, s: Any, vh: Any) -> Any:
    """The product of a pseudo-inverse with matrices b: V diag(s) Uᴴ b."""
    scales = structural.reshape(cast(s, vh.dtype), shape=(*s.shape, 1))
    return matmul(adjoint(vh), matmul(adjoint(u), b) * scales)


@_minimum_norm_solution.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """The derivative of `_pseudo_inverse`, multiplied by b."""
    b, a, *factors = primals
    db, da, *_ = tangents
    # products, because the linear part is transposed by the rules of products
    x, p = _minimum_norm_solution(*primals), _pseudo_inverse(a, *factors)
    dah, ph = adjoint(da), adjoint(p)
    residual_tangent = db - matmul(da, x) + matmul(ph, matmul(dah, b - matmul(a, x)))
    right = matmul(dah, matmul(ph, x))
    return x, matmul(p, residual_tangent - matmul(a, right)) + right


def _factors(name: str, x: Any, rtol: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """(U, inverses of singular values or zeros, Vᴴ), the singular values, and a mask of the nonzero
    ones."""
    constant = selection.stop_gradient(x)
    if hermitian:
        u, s, vh = _of_hermitian(constant)
    else:
        u, s, vh = lax_linalg.svd(constant, full_matrices=False)
    is_nonzero = gt(s, _threshold(name, s, rtol, x))
    nonzero_s = selection.select_n(is_nonzero, literal(1, s.dtype), s)
    inverses = selection.select_n(is_nonzero, literal(0, s.dtype), 1 / nonzero_s)
    return (u, inverses, vh), s, is_nonzero


@located
def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """The Moore-Penrose pseudo-inverse of matrices.

    The derivative assumes matrices of constant rank; it does not depend on the choice of singular
    vectors.

    Args:
      a: array [batch…, m, n].
      rtol: singular values up to `rtol` times the largest one count as zero: a number, or one for
        each matrix. By default eps · max(m, n).
      hermitian: whether `a` is Hermitian; then the singular values are computed from the
        eigenvalues.
      rcond: NumPy's older name for `rtol`.
    Returns: array [batch…, n, m].
    Raises: ShapeError: fewer than two axes; not square, if `hermitian`. ValueError: both `rtol` and
      `rcond` are given.
    Example:
      >>> np.linalg.pinv(np.array([[2.0, 0.0], [0.0, 0.0]]))
      Array([[0.5, 0. ],
             [0. , 0. ]], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.pinv`.
    """
    x = matrices("pinv", a, square=bool(hermitian))
    ratio = _alias("pinv", rtol, rcond, "rcond")
    tolerance = () if ratio is None else (value("pinv", ratio, "rtol"),)
    return _pinv(x, *tolerance, hermitian=bool(hermitian))


@composite
def _pinv(x: Any, rtol: Any = None, *, hermitian: bool) -> Any:
    operand = in_wide_dtype(x)
    factors, _, _ = _factors("pinv", operand, rtol, hermitian)
    return rounded(_pseudo_inverse(operand, *factors), x.dtype)


@located
def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    rcond: ArrayLike | None = None,
    *,
    numpy_resid: bool = False,
) -> tuple[Array, Array, Array, Array]:
    """Least squares: the shortest x that minimizes |b - a x|.

    Args:
      a: array [m, n].
      b: array [m] or [m, k].
      rcond: singular values up to `rcond` times the largest one count as zero; by default
        eps · max(m, n).
      numpy_resid: whether to return residuals only if m > n and the rank is n, like NumPy; not for
        traced arrays, because the shape depends on the rank.
    Returns: (x [n] or [n, k]; sums of |b - a x|², [1] or [k]; rank; singular values of `a`).
    Raises: ShapeError: different numbers of axes, or lengths differ.
    Example:
      >>> x, _, rank, _ = np.linalg.lstsq(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, 4.0]))
      >>> x, int(rank)
      (Array([3., 2.], dtype=float32), 2)
    Source: NumPy documentation, `numpy.linalg.lstsq`.
    """
    x, y = pair("lstsq", a, b)
    if x.ndim != 2 or y.ndim not in (1, 2):
        raise ShapeError(f"lstsq: expected a [m, n] and b [m] or [m, k]; got {x.aval} and {y.aval}")
    m, n = x.shape
    if y.shape[0] != m:
        raise ShapeError(f"lstsq: a and b must have equally many rows; got {x.aval} and {y.aval}")
    tolerance = () if rcond is None else (value("lstsq", rcond, "rcond"),)
    solution, residuals, rank, s = _solve_least_squares(x, y, *tolerance)
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = creation.full(residuals.aval.update(shape=(0,)), 0)
    return solution, residuals, rank, s


def _least_squares(x: Any, y: Any, rcond: Any = None) -> Any:
    dtype = x.dtype
    operand, rhs = cast(x, wide_dtype(dtype)), cast(y, wide_dtype(dtype))
    if y.ndim == 1:
        rhs = structural.reshape(rhs, shape=(*rhs.shape, 1))
    factors, s, is_nonzero = _factors("lstsq", operand, rcond, False)
    rank = structural.reduce_sum(cast(is_nonzero, dtypes.default_int()), axes=(0,))
    solution = _minimum_norm_solution(rhs, operand, *factors)
    difference = rhs - matmul(operand, solution)
    residuals = structural.reduce_sum((difference * difference.conj()).real, axes=(0,))
    if y.ndim == 1:
        solution = structural.reshape(solution, shape=solution.shape[:1])
    return (*[rounded(v, dtype) for v in (solution, residuals)], rank, rounded(s, dtype))


_solve_least_squares = composite(_least_squares)
