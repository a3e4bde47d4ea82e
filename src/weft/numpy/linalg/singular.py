"""Singular values, and what is found by them: pseudo-inverse, rank, least squares."""

from typing import Any, Literal, overload

from ... import dtypes
from ...core.array import Array, literal
from ...core.source import located
from ...errors import ShapeError
from ...lax import linalg as lax_linalg
from ...primitives import arithmetic, selection, structural
from ...primitives.comparison import gt
from ...primitives.reduction import reduce_max
from ...primitives.sorting import take_along
from ...transforms.custom_derivatives import custom_jvp
from ...typing import ArrayLike
from ..plans import composite
from ..products import matmul
from ..promotion import cast, noted, value
from ..reductions import any as any_of
from .operands import adjoint, in_wide, matrices, pair, rounded, wide_dtype
from .results import SVDResult

__all__ = ["lstsq", "matrix_rank", "pinv", "svd", "svdvals"]


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...
@located
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """The singular value decomposition: a = U diag(S) Vh.

    Args:
      a: array [batch…, m, n]; k is the smaller one of m and n.
      full_matrices: U [m, m] and Vh [n, n]; otherwise [m, k] and [k, n].
      compute_uv: whether U and Vh are wanted.
      hermitian: `a` is Hermitian; then it is found from the eigenvalues.
      subset_by_index: (start, end), if only those singular values and vectors are wanted.
    Returns: SVDResult(U, S, Vh), S [batch…, k], real and falling; S alone without `compute_uv`.
    Raises: ShapeError: less than two axes; not square, if `hermitian`.
    Example:
      >>> np.linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.svd`.
    """
    x = matrices("svd", a, square=bool(hermitian))
    if hermitian and subset_by_index is None:
        found = [rounded(y, x.dtype) for y in _of_hermitian(in_wide(x))]
        return SVDResult(*found) if compute_uv else found[1]
    subset = None if subset_by_index is None else tuple(subset_by_index)
    options: dict[str, Any] = {"compute_uv": bool(compute_uv), "subset_by_index": subset}
    if not compute_uv:
        return _svd(x, full_matrices=False, **options)[0]
    return SVDResult(*_svd(x, full_matrices=bool(full_matrices), **options))


@composite
def _svd(x: Any, **options: Any) -> Any:
    found = lax_linalg.svd(in_wide(x), **options)
    return tuple([rounded(y, x.dtype) for y in (found if options["compute_uv"] else [found])])


def _of_hermitian(x: Any) -> tuple[Any, Any, Any]:
    """(U, S, Vh) of Hermitian matrices, by their eigenvalues."""
    v, w = lax_linalg.eigh(x)
    size = arithmetic.abs_(w)
    if not x.size:
        return v, size, v
    order = (-size).argsort(axis=-1)
    n = x.ndim
    across = structural.broadcast_in_dim(order, shape=x.shape, dims=(*range(n - 2), n - 1))
    v = take_along(v, across, n - 1)
    ordered = take_along(w, order, n - 2)
    signs = selection.select_n(ordered < 0, literal(1, w.dtype), literal(-1, w.dtype))
    signs = structural.reshape(signs, shape=(*signs.shape[:-1], 1, signs.shape[-1]))
    return v, arithmetic.abs_(ordered), adjoint(v * cast(signs, v.dtype))


@located
def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices.

    Args:
      x: array [batch…, m, n].
    Returns: array [batch…, min(m, n)], real and falling.
    Raises: ShapeError: less than two axes.
    Example:
      >>> np.linalg.svdvals(np.array([[3.0, 0.0], [0.0, 4.0]]))
      Array([4., 3.], dtype=float32)
    Source: array API standard, `linalg.svdvals`.
    """
    a = matrices("svdvals", x, "x")
    return rounded(values_of(in_wide(a)), a.dtype)


def values_of(x: Any) -> Any:
    """The singular values of a value in a dtype that is computed in."""
    return lax_linalg.svd(x, full_matrices=False, compute_uv=False)


# --- by the pseudo-inverse ---


def _alias(name: str, rtol: Any, other: Any, argument: str) -> Any:
    """The one of two arguments of the same meaning that is given."""
    if other is None:
        return rtol
    if rtol is not None:
        raise noted(ValueError(f"{name}: only one of rtol and {argument} may be given"))
    return other


def _threshold(name: str, s: Any, rtol: Any, x: Any) -> Any:
    """The bound below which singular values count as zero, [batch…, 1]."""
    if rtol is None:
        eps = float(dtypes.finfo(x.dtype).eps)
        ratio: Any = literal(eps * max(x.shape[-2:]), s.dtype)
    else:
        ratio = cast(value(name, rtol, "rtol"), s.dtype)
        if ratio.ndim:
            ratio = structural.reshape(ratio, shape=(*ratio.shape, 1))
    last = s.ndim - 1
    largest = (
        reduce_max(s, axes=(last,))
        if s.shape[-1]
        else structural.full(s.aval.update(shape=s.shape[:-1]), 0)
    )
    return structural.reshape(largest, shape=(*largest.shape, 1)) * ratio


@custom_jvp
def _pseudo_inverse(a: Any, u: Any, s: Any, vh: Any) -> Any:
    """V diag(s) Uᴴ, where `s` are inverses of singular values, or zero."""
    scaled = adjoint(vh) * structural.reshape(
        cast(s, vh.dtype), shape=(*s.shape[:-1], 1, s.shape[-1])
    )
    return matmul(scaled, adjoint(u))


@_pseudo_inverse.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """Source: G. H. Golub, V. Pereyra, SIAM J. Numer. Anal. 10 (1973) 413-432, (4.12)."""
    a, *factors = primals
    da = tangents[0]
    p = _pseudo_inverse(a, *factors)
    dah, ph = adjoint(da), adjoint(p)
    first = matmul(matmul(p, da), p)
    left = matmul(p, matmul(ph, dah))
    right = matmul(matmul(dah, ph), p)
    second = left - matmul(matmul(left, a), p)
    third = right - matmul(p, matmul(a, right))
    return p, second + third - first


@custom_jvp
def _shortest(b: Any, a: Any, u: Any, s: Any, vh: Any) -> Any:
    """The product of a pseudo-inverse with matrices b: V diag(s) Uᴴ b."""
    scales = structural.reshape(cast(s, vh.dtype), shape=(*s.shape, 1))
    return matmul(adjoint(vh), matmul(adjoint(u), b) * scales)


@_shortest.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """That of `_pseudo_inverse`, times b."""
    b, a, *factors = primals
    db, da, *_ = tangents
    # products, since what is linear here is transposed without this rule
    x, p = _shortest(*primals), _pseudo_inverse(a, *factors)
    dah, ph = adjoint(da), adjoint(p)
    first = db - matmul(da, x) + matmul(ph, matmul(dah, b - matmul(a, x)))
    right = matmul(dah, matmul(ph, x))
    return x, matmul(p, first - matmul(a, right)) + right


def _factors(name: str, x: Any, rtol: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """((U, inverses of singular values, or zero, and Vᴴ), singular values, which of them count)."""
    still = selection.stop_gradient(x)
    if hermitian:
        u, s, vh = _of_hermitian(still)
    else:
        u, s, vh = lax_linalg.svd(still, full_matrices=False)
    kept = gt(s, _threshold(name, s, rtol, x))
    safe = selection.select_n(kept, literal(1, s.dtype), s)
    inverses = selection.select_n(kept, literal(0, s.dtype), 1 / safe)
    return (u, inverses, vh), s, kept


@located
def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """The pseudo-inverse of matrices.

    The derivative is that among matrices of the same rank; it doesn't depend on the choice of
    singular vectors.

    Args:
      a: array [batch…, m, n].
      rtol: singular values up to `rtol` times the largest one count as zero: a number, or one for
        each matrix. By default eps · max(m, n).
      hermitian: `a` is Hermitian; then it is found from the eigenvalues.
      rcond: the same as `rtol`, NumPy's older name.
    Returns: array [batch…, n, m].
    Raises: ShapeError: less than two axes; not square, if `hermitian`. ValueError: both tolerances.
    Example:
      >>> np.linalg.pinv(np.array([[2.0, 0.0], [0.0, 0.0]]))
      Array([[0.5, 0. ],
             [0. , 0. ]], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.pinv`.
    """
    x = matrices("pinv", a, square=bool(hermitian))
    rtol = _alias("pinv", rtol, rcond, "rcond")
    given = () if rtol is None else (value("pinv", rtol, "rtol"),)
    return _pinv(x, *given, hermitian=bool(hermitian))


@composite
def _pinv(x: Any, rtol: Any = None, *, hermitian: bool) -> Any:
    wide = in_wide(x)
    factors, _, _ = _factors("pinv", wide, rtol, hermitian)
    return rounded(_pseudo_inverse(wide, *factors), x.dtype)


@located
def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    tol: ArrayLike | None = None,
) -> Array:
    """The rank of matrices: how many singular values count.

    Args:
      M: array [batch…, m, n]; one of less than two axes has rank 1 unless it is zero.
      rtol: those up to `rtol` times the largest one don't count: a number, or one for each matrix.
        By default eps · max(m, n).
      hermitian: M is Hermitian; then they are found from the eigenvalues.
      tol: the same as `rtol`, as in JAX. (NumPy's argument of this name isn't relative.)
    Returns: array [batch…] of the default integer dtype.
    Raises: ValueError: both tolerances.
    Example:
      >>> np.linalg.matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]]))
      Array(1, dtype=int32)
    Source: NumPy documentation, `numpy.linalg.matrix_rank`.
    """
    rtol = _alias("matrix_rank", rtol, tol, "tol")
    v = value("matrix_rank", M, "M")
    if v.ndim < 2:
        return cast(any_of(v != 0), dtypes.default_int())
    x = in_wide(matrices("matrix_rank", v, "M", square=bool(hermitian)))
    s = arithmetic.abs_(lax_linalg.eigh(x)[1]) if hermitian else values_of(x)
    counted = cast(gt(s, _threshold("matrix_rank", s, rtol, x)), dtypes.default_int())
    return structural.reduce_sum(counted, axes=(counted.ndim - 1,))


@located
def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    rcond: ArrayLike | None = None,
    *,
    numpy_resid: bool = False,
) -> tuple[Array, Array, Array, Array]:
    """The shortest x for which |b - a x| is least.

    Args:
      a: array [m, n].
      b: array [m] or [m, k].
      rcond: singular values up to `rcond` times the largest one count as zero; by default
        eps · max(m, n).
      numpy_resid: return no residuals unless m > n and the rank is n, as NumPy does; not for traced
        arrays, since the shape depends on the rank.
    Returns: (x [n] or [n, k]; sums of |b - a x|², [1] or [k]; rank; singular values of `a`).
    Raises: ShapeError: other axes, or lengths that differ.
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
        raise ShapeError(f"lstsq: a and b must have as many rows; got {x.aval} and {y.aval}")
    given = () if rcond is None else (value("lstsq", rcond, "rcond"),)
    solution, residuals, counted, s = _solve_least_squares(x, y, *given)
    if numpy_resid and (m <= n or int(counted) < n):
        residuals = structural.full(residuals.aval.update(shape=(0,)), 0)
    return solution, residuals, counted, s


def _least_squares(x: Any, y: Any, rcond: Any = None) -> Any:
    dtype = x.dtype
    wide, rhs = cast(x, wide_dtype(dtype)), cast(y, wide_dtype(dtype))
    if y.ndim == 1:
        rhs = structural.reshape(rhs, shape=(*rhs.shape, 1))
    factors, s, kept = _factors("lstsq", wide, rcond, False)
    counted = structural.reduce_sum(cast(kept, dtypes.default_int()), axes=(0,))
    solution = _shortest(rhs, wide, *factors)
    rest = rhs - matmul(wide, solution)
    residuals = structural.reduce_sum((rest * rest.conj()).real, axes=(0,))
    if y.ndim == 1:
        solution = structural.reshape(solution, shape=solution.shape[:1])
    return (*[rounded(v, dtype) for v in (solution, residuals)], counted, rounded(s, dtype))


_solve_least_squares = composite(_least_squares)
