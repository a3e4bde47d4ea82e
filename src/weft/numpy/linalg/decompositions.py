"""Decompositions of matrices: cholesky, qr, svd, svdvals; each calls one primitive."""

from typing import Any, Literal, NamedTuple, overload

from ...core.array import Array, literal
from ...core.source import located
from ...lax import linalg as lax_linalg
from ...lax.linalg.operands import symmetrized
from ...primitives import arithmetic, selection, structural
from ...primitives.linalg.cholesky import cholesky as factor_of
from ...primitives.linalg.qr import geqrf
from ...primitives.sorting import take_along
from ...typing import ArrayLike
from ..plans import composite
from ..promotion import cast
from .operands import adjoint, in_wide_dtype, matrices, rounded, turned

__all__ = ["cholesky", "qr", "svd", "svdvals"]


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Array
    S: Array
    Vh: Array


@located
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Cholesky decomposition of positive definite Hermitian matrices: a = L Lᴴ, or a = Uᴴ U.

    Args:
      a: array [batch…, n, n].
      upper: return U instead of L.
      symmetrize_input: decompose (a + aᴴ) / 2; otherwise only the triangle of the result is read.
    Returns: array of the shape of `a`, with zeros in the other triangle; NaN where a matrix is not
      positive definite.
    Raises: ShapeError: the matrices are not square.
    Example:
      >>> np.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 0.],
             [1., 2.]], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.cholesky`.
    """
    x = matrices("cholesky", a, square=True)
    return _cholesky(x, upper=bool(upper), symmetrize_input=bool(symmetrize_input))


@composite
def _cholesky(x: Any, *, upper: bool, symmetrize_input: bool) -> Any:
    operand = in_wide_dtype(x)
    if symmetrize_input:
        operand = symmetrized("cholesky", operand)
    return rounded(factor_of(operand, lower=not upper, hermitian=symmetrize_input), x.dtype)


@overload
def qr(a: ArrayLike, mode: Literal["reduced", "complete"] = "reduced") -> QRResult: ...
@overload
def qr(a: ArrayLike, mode: str) -> Any: ...
@located
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """QR decomposition: a = Q R with orthonormal columns in Q and upper triangular R.

    Args:
      a: array [batch…, m, n]; k is the minimum of m and n.
      mode: 'reduced': Q [m, k] and R [k, n]; 'complete': [m, m] and [m, n]; 'r': only R [k, n];
        'raw': the results of LAPACK's geqrf: h, transposed, [n, m], and tau [k].
    Returns: QRResult(Q, R); R for 'r'; (h, tau) for 'raw'.
    Raises: ShapeError: fewer than two axes. ValueError: an unknown mode.
    Example:
      >>> q, r = np.linalg.qr(np.array([[0.0, 2.0], [1.0, 3.0]]))
      >>> bool(np.allclose(q @ r, np.array([[0.0, 2.0], [1.0, 3.0]])))
      True
    Source: NumPy documentation, `numpy.linalg.qr`.
    """
    x = matrices("qr", a)
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete', 'r' or 'raw'; got {mode!r:.60}")
    if mode == "raw":
        h, tau = geqrf(in_wide_dtype(x))
        return rounded(turned(h), x.dtype), rounded(tau, x.dtype)
    q, r = _qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@composite
def _qr(x: Any, *, full_matrices: bool) -> Any:
    q, r = lax_linalg.qr(in_wide_dtype(x), full_matrices=full_matrices)
    return rounded(q, x.dtype), rounded(r, x.dtype)


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
    """Singular value decomposition: a = U diag(S) Vh.

    Args:
      a: array [batch…, m, n]; k is the minimum of m and n.
      full_matrices: return U [m, m] and Vh [n, n] instead of [m, k] and [k, n].
      compute_uv: whether to compute U and Vh.
      hermitian: whether `a` is Hermitian; then the singular values are computed from the
        eigenvalues.
      subset_by_index: (start, end): compute only these singular values and vectors.
    Returns: SVDResult(U, S, Vh) with S [batch…, k], real and descending; S without `compute_uv`.
    Raises: ShapeError: fewer than two axes; not square, with `hermitian`.
    Example:
      >>> np.linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.svd`.
    """
    x = matrices("svd", a, square=bool(hermitian))
    if hermitian and subset_by_index is None:
        factors = [rounded(y, x.dtype) for y in _of_hermitian(in_wide_dtype(x))]
        return SVDResult(*factors) if compute_uv else factors[1]
    subset = None if subset_by_index is None else tuple(subset_by_index)
    options: dict[str, Any] = {"compute_uv": bool(compute_uv), "subset_by_index": subset}
    if not compute_uv:
        return _svd(x, full_matrices=False, **options)[0]
    return SVDResult(*_svd(x, full_matrices=bool(full_matrices), **options))


@composite
def _svd(x: Any, **options: Any) -> Any:
    result = lax_linalg.svd(in_wide_dtype(x), **options)
    return tuple([rounded(y, x.dtype) for y in (result if options["compute_uv"] else [result])])


def _of_hermitian(x: Any) -> tuple[Any, Any, Any]:
    """(U, S, Vh) of Hermitian matrices, by their eigenvalues."""
    v, w = lax_linalg.eigh(x)
    magnitudes = arithmetic.abs_(w)
    if not x.size:
        return v, magnitudes, v
    order = (-magnitudes).argsort(axis=-1)
    n = x.ndim
    indices = structural.broadcast_in_dim(order, shape=x.shape, dims=(*range(n - 2), n - 1))
    v = take_along(v, indices, n - 1)
    sorted_w = take_along(w, order, n - 2)
    signs = selection.select_n(sorted_w < 0, literal(1, w.dtype), literal(-1, w.dtype))
    signs = structural.reshape(signs, shape=(*signs.shape[:-1], 1, signs.shape[-1]))
    return v, arithmetic.abs_(sorted_w), adjoint(v * cast(signs, v.dtype))


@located
def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices.

    Args:
      x: array [batch…, m, n].
    Returns: array [batch…, min(m, n)], real and descending.
    Raises: ShapeError: fewer than two axes.
    Example:
      >>> np.linalg.svdvals(np.array([[3.0, 0.0], [0.0, 4.0]]))
      Array([4., 3.], dtype=float32)
    Source: array API standard, `linalg.svdvals`.
    """
    a = matrices("svdvals", x, "x")
    return rounded(values_of(in_wide_dtype(a)), a.dtype)


def values_of(x: Any) -> Any:
    """The singular values of a value in the computation dtype."""
    return lax_linalg.svd(x, full_matrices=False, compute_uv=False)
