"""Decompositions of matrices with SciPy's names and options.

`overwrite_a`, `check_finite`, `lwork` and the like permit something or save time in SciPy: they are
accepted and do nothing. Matrices that aren't finite give NaN.
"""

from typing import Any

from ... import dtypes, numpy as np
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...lax import linalg as lax_linalg
from ...numpy import linalg
from ...numpy.linalg.operands import adjoint, identities, in_wide, matrices, pair, rounded
from ...numpy.promotion import cast
from ...primitives import structural
from ...primitives.linalg.orthogonal import geqrf
from ...typing import ArrayLike

__all__ = [
    "cho_factor",
    "cholesky",
    "det",
    "eigh",
    "hessenberg",
    "inv",
    "lu",
    "lu_factor",
    "polar",
    "qr",
    "qr_multiply",
    "svd",
]


# --- Cholesky ---


@located
def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """The triangular factor of positive definite Hermitian matrices: a = Uᴴ U, or a = L Lᴴ.

    Args:
      a: array [batch…, n, n]. (a + aᴴ) / 2 takes its place.
      lower: L in the place of U.
    Returns: array of the shape of `a`; NaN where a matrix isn't positive definite.
    Raises: ShapeError: not square.
    Example:
      >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 1.],
             [0., 2.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.cholesky`.
    """
    x = matrices("cholesky", a, square=True)
    return linalg.cholesky(x, upper=not lower)


@located
def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Cholesky's factor in the form that `cho_solve` takes.

    Args: as in `cholesky`.
    Returns: (the factor, with zeros in the other triangle; lower).
    Example:
      >>> factor = cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))
      >>> factor[1]
      False
    Source: SciPy documentation, `scipy.linalg.cho_factor`.
    """
    return cholesky(matrices("cho_factor", a, square=True), lower), bool(lower)


# --- LU ---


@located
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """The LU decomposition in the form that `lu_solve` takes.

    Args:
      a: array [batch…, m, n].
    Returns: (U in the upper triangle and L, whose diagonal is ones, below; which row each of the
      min(m, n) rows was exchanged with, int32).
    Raises: ShapeError: less than two axes.
    Example:
      >>> lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))[1]
      Array([1, 1], dtype=int32)
    Source: SciPy documentation, `scipy.linalg.lu_factor`.
    """
    x = matrices("lu_factor", a)
    factors, pivots, _ = lax_linalg.lu(in_wide(x))
    return rounded(factors, x.dtype), pivots


@located
def lu(
    a: ArrayLike,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Array, ...]:
    """The LU decomposition with partial pivoting: a = P L U.

    Args:
      a: array [batch…, m, n]; k is the smaller one of m and n.
      permute_l: return (P L, U).
      p_indices: return the permutation as indices p, with a = L[p] U, in the place of P.
    Returns: (P [m, m], which is real, L [m, k], U [k, n]).
    Raises: ShapeError: less than two axes.
    Example:
      >>> p, l, u = lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> p @ l @ u
      Array([[1., 2.],
             [4., 4.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.lu`.
    """
    x = matrices("lu", a)
    wide = in_wide(x)
    m, n = x.shape[-2:]
    k = min(m, n)
    factors, _, order = lax_linalg.lu(wide)
    lower = np.tril(factors[..., :, :k], -1) + np.eye(m, k, dtype=wide.dtype)
    lower, upper = rounded(lower, x.dtype), rounded(np.triu(factors[..., :k, :]), x.dtype)
    back = np.argsort(order, -1)
    if permute_l:
        across = structural.widen(back[..., None], lower.shape)
        return np.take_along_axis(lower, across, -2), upper
    if p_indices:
        return back, lower, upper
    places = structural.widen(np.arange(m), (*order.shape[:-1], m))
    found = back[..., :, None] == places[..., None, :]
    permutation = cast(found, dtypes.real_of(x.dtype))
    return permutation, lower, upper


# --- QR ---


@located
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """The QR decomposition: a = Q R, or a[:, P] = Q R.

    Args:
      a: array [batch…, m, n]; k is the smaller one of m and n.
      mode: 'full': Q [m, m] and R [m, n]; 'economic': [m, k] and [k, n]; 'r': R alone; 'raw': what
        LAPACK makes, (qr, tau), and R.
      pivoting: columns in an order P in which R's diagonal falls; P is returned too.
    Returns: a tuple of those.
    Raises: ShapeError: less than two axes. ValueError: another mode, or 'raw' with pivoting.
    Example:
      >>> q, r = qr(np.array([[0.0, 2.0], [1.0, 3.0]]))
      >>> bool(np.allclose(q @ r, np.array([[0.0, 2.0], [1.0, 3.0]])))
      True
    Source: SciPy documentation, `scipy.linalg.qr`.
    """
    x = matrices("qr", a)
    if mode not in ("full", "r", "economic", "raw"):
        raise ValueError(f"qr: mode must be 'full', 'r', 'economic' or 'raw'; got {mode!r:.60}")
    wide = in_wide(x)
    if mode == "raw":
        if pivoting:
            raise ValueError("qr: mode 'raw' is there without pivoting only")
        packed, tau = geqrf(wide)
        r = np.triu(packed)[..., : min(x.shape[-2:]), :]
        packed, tau, r = (rounded(v, x.dtype) for v in (packed, tau, r))
        return (packed, tau), r
    full = mode in ("full", "r")
    if pivoting:
        q, r, order = lax_linalg.qr(wide, pivoting=True, full_matrices=full)
        rest: tuple[Any, ...] = (order,)
    else:
        q, r = lax_linalg.qr(wide, full_matrices=full)
        rest = ()
    q, r = rounded(q, x.dtype), rounded(r, x.dtype)
    return (r, *rest) if mode == "r" else (q, r, *rest)


@located
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """The product of Q, of a = Q R, with a matrix or vector; and R.

    Args:
      a: array [batch…, m, n]; k is the smaller one of m and n.
      c: for mode 'right' array [batch…, p, m] or [m], for 'left' [batch…, k, p] or [k].
      mode: 'right' is c Q, 'left' is Q c, with Q [m, k].
      pivoting: as in `qr`.
      conjugate: Q is conjugated.
    Returns: (c Q or Q c, R [k, n]), and P with `pivoting`.
    Raises: ShapeError: lengths that don't meet. ValueError: another mode.
    Example:
      >>> cq, r = qr_multiply(np.eye(2), np.ones(2))
      >>> cq.shape, r.shape
      ((2,), (2, 2))
    Source: SciPy documentation, `scipy.linalg.qr_multiply`.
    """
    if mode not in ("left", "right"):
        raise ValueError(f"qr_multiply: mode must be 'left' or 'right'; got {mode!r:.60}")
    x, y = pair("qr_multiply", matrices("qr_multiply", a), c)
    q, r, *rest = qr(x, mode="economic", pivoting=pivoting)
    q = q.conj() if conjugate else q
    m, k = q.shape[-2:]
    wanted = k if mode == "left" else m
    if not y.ndim or y.shape[-2 if mode == "left" and y.ndim > 1 else -1] != wanted:
        raise ShapeError(
            f"qr_multiply: c must have length {wanted} beside Q [{m}, {k}]; got {y.aval}"
        )
    product = np.matmul(q, y) if mode == "left" else np.matmul(y, q)
    return (product, r, *rest)


# --- eigenvalues and singular values ---


@located
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices, also beside others: a v = w b v.

    Args:
      a: array [batch…, n, n].
      b: positive definite Hermitian matrices of the same shape.
      lower: the triangle that SciPy reads. Here, as in JAX, (a + aᴴ) / 2 takes the place of `a`,
        and so for `b`: derivatives are then Hermitian too.
      eigvals_only: return the eigenvalues alone.
      eigvals: must be None: see `subset_by_index`.
      type: 1: a v = w b v; 2: a b v = w v; 3: b a v = w v.
      subset_by_index: (first, last), if only those eigenvalues are wanted, the last one included.
    Returns: (w [batch…, n], rising; v, in columns), or w. With `b` v is normalized so that vᴴ b v,
      for type 3 vᴴ b⁻¹ v, is the identity.
    Raises: ShapeError: not square, or shapes that differ. ValueError: options that aren't there.
    Example:
      >>> eigh(np.array([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True)
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.eigh`; G. H. Golub, C. F. Van Loan, Matrix
      Computations, 4th ed., 8.7.
    """
    if eigvals is not None:
        raise ValueError(f"eigh: eigvals must be None; got {eigvals!r:.60}\n  fix: subset_by_index")
    if type not in (1, 2, 3):
        raise ValueError(f"eigh: type must be 1, 2 or 3; got {type!r:.60}")
    x = matrices("eigh", a, square=True)
    dtype = x.dtype
    if b is None:
        v, w = lax_linalg.eigh(in_wide(x), lower=bool(lower))
    else:
        x, y = pair("eigh", x, matrices("eigh", b, "b", square=True))
        if x.shape != y.shape:
            raise ShapeError(f"eigh: a and b must have one shape; got {x.aval} and {y.aval}")
        dtype = x.dtype
        v, w = _beside(in_wide(x), in_wide(y), type)
    if subset_by_index is not None:
        first, last = subset_by_index
        if not 0 <= first <= last < w.shape[-1]:
            raise ValueError(
                f"eigh: subset_by_index must be (first, last) below {w.shape[-1]}; got "
                f"{subset_by_index!r:.60}"
            )
        w, v = w[..., first : last + 1], v[..., first : last + 1]
    w = rounded(w, dtype)
    return w if eigvals_only else (w, rounded(v, dtype))


def _beside(a: Any, b: Any, type: int) -> tuple[Any, Any]:
    """(eigenvectors, eigenvalues) of a problem with two matrices: b = L Lᴴ makes one of them."""
    factor = lax_linalg.cholesky(b)
    a = (a + adjoint(a)) / 2
    if type == 1:
        half = _by_triangle(factor, a)
        inner = adjoint(_by_triangle(factor, adjoint(half)))
    else:
        inner = adjoint(factor) @ a @ factor
    v, w = lax_linalg.eigh(inner)
    if type == 3:
        return factor @ v, w
    return _by_triangle(factor, v, transposed=True), w


def _by_triangle(lower: Any, b: Any, transposed: bool = False) -> Any:
    """L⁻¹ b or L⁻ᴴ b."""
    return lax_linalg.triangular_solve(
        lower, b, left_side=True, lower=True, transpose_a=transposed, conjugate_a=transposed
    )


@located
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """The singular value decomposition: a = U diag(s) Vh.

    Args:
      a: array [batch…, m, n]; k is the smaller one of m and n.
      full_matrices: U [m, m] and Vh [n, n]; otherwise [m, k] and [k, n].
      compute_uv: whether U and Vh are wanted.
      lapack_driver: 'gesdd' or 'gesvd', LAPACK's two algorithms.
    Returns: (U, s, Vh), or s.
    Raises: ShapeError: less than two axes. ValueError: another driver.
    Example:
      >>> svd(np.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.svd`.
    """
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ValueError(f"svd: lapack_driver must be gesdd or gesvd; got {lapack_driver!r:.60}")
    x = matrices("svd", a)
    algorithm = lax_linalg.SvdAlgorithm.QR if lapack_driver == "gesvd" else None
    wide = in_wide(x)
    if not compute_uv:
        return rounded(lax_linalg.svd(wide, compute_uv=False, algorithm=algorithm), x.dtype)
    found = lax_linalg.svd(wide, full_matrices=bool(full_matrices), algorithm=algorithm)
    return tuple([rounded(v, x.dtype) for v in found])


@located
def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """The polar decomposition: a = u p with orthonormal columns or rows in u, p positive.

    Args:
      a: array [batch…, m, n].
      side: 'right': a = u p; 'left': a = p u.
      method, eps, max_iterations: 'qdwh' or 'svd', wishes for an algorithm and its end. It is found
        from singular vectors in any case.
    Returns: (u [batch…, m, n], p, Hermitian).
    Raises: ShapeError: less than two axes. ValueError: another side or method.
    Example:
      >>> u, p = polar(np.array([[0.0, -2.0], [2.0, 0.0]]))
      >>> np.round(p, 4)
      Array([[2., 0.],
             [0., 2.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.polar`.
    """
    if side not in ("left", "right"):
        raise ValueError(f"polar: side must be 'left' or 'right'; got {side!r:.60}")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: method must be 'qdwh' or 'svd'; got {method!r:.60}")
    x = matrices("polar", a)
    u, _, vh = lax_linalg.svd(in_wide(x), full_matrices=False)
    unitary = u @ vh
    # not of the singular values: where they are equal, that would have another derivative
    p = in_wide(x) @ adjoint(unitary) if side == "left" else adjoint(unitary) @ in_wide(x)
    p = (p + adjoint(p)) / 2
    return rounded(unitary, x.dtype), rounded(p, x.dtype)


@located
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Hessenberg's form: a = Q H Qᴴ, H zero below its second diagonal.

    Args:
      a: array [batch…, n, n].
      calc_q: whether Q is wanted.
    Returns: H, or (H, Q).
    Raises: ShapeError: not square.
    Example:
      >>> hessenberg(np.array([[1.0, 2.0], [3.0, 4.0]]))
      Array([[1., 2.],
             [3., 4.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.hessenberg`.
    """
    x = matrices("hessenberg", a, square=True)
    n = x.shape[-1]
    packed, taus = lax_linalg.hessenberg(in_wide(x))
    h = rounded(np.triu(packed, -1), x.dtype)
    if not calc_q:
        return h
    q = identities(packed.aval, n)
    if n > 1:
        inner = lax_linalg.householder_product(packed[..., 1:, :-1], taus)
        below = np.concatenate([q[..., 1:, :1], inner], -1)
        q = np.concatenate([q[..., :1, :], below], -2)
    return h, rounded(q, x.dtype)


# --- as in numpy.linalg ---


@located
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinant of matrices; see `numpy.linalg.det`.

    Args:
      a: array [batch…, n, n].
    Returns: array [batch…].
    Example:
      >>> det(np.array([[1.0, 2.0], [3.0, 4.0]]))
      Array(-2., dtype=float32)
    Source: SciPy documentation, `scipy.linalg.det`.
    """
    return linalg.det(a)


@located
def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse of matrices; see `numpy.linalg.inv`.

    Args:
      a: array [batch…, n, n].
    Returns: array of the shape of `a`; inf or NaN where a matrix is singular.
    Example:
      >>> inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.inv`.
    """
    return linalg.inv(a)
