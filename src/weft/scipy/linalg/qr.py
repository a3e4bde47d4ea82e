"""QR decomposition: qr, qr_multiply, with and without pivoting."""

from typing import Any

from ... import numpy as np
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...lax import linalg as lax_linalg
from ...numpy.linalg.operands import in_wide_dtype, matrices, pair, rounded
from ...primitives.linalg.qr import geqrf
from ...typing import ArrayLike

__all__ = ["qr", "qr_multiply"]


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
      mode: 'full': Q [m, m] and R [m, n]; 'economic': [m, k] and [k, n]; 'r': R alone; 'raw':
        LAPACK's (qr, tau), and R.
      pivoting: permute the columns so that R's diagonal decreases, and return the order P too.
    Returns: a tuple of these.
    Raises: ShapeError: less than two axes. ValueError: an unknown mode, or 'raw' with pivoting.
    Example:
      >>> q, r = qr(np.array([[0.0, 2.0], [1.0, 3.0]]))
      >>> bool(np.allclose(q @ r, np.array([[0.0, 2.0], [1.0, 3.0]])))
      True
    Source: SciPy documentation, `scipy.linalg.qr`.
    """
    x = matrices("qr", a)
    if mode not in ("full", "r", "economic", "raw"):
        raise ValueError(f"qr: mode must be 'full', 'r', 'economic' or 'raw'; got {mode!r:.60}")
    matrix = in_wide_dtype(x)
    if mode == "raw":
        if pivoting:
            raise ValueError("qr: mode 'raw' does not support pivoting")
        packed_factors, tau = geqrf(matrix)
        r = np.triu(packed_factors)[..., : min(x.shape[-2:]), :]
        packed_factors, tau, r = (rounded(v, x.dtype) for v in (packed_factors, tau, r))
        return (packed_factors, tau), r
    is_full = mode in ("full", "r")
    if pivoting:
        q, r, order = lax_linalg.qr(matrix, pivoting=True, full_matrices=is_full)
        pivots: tuple[Any, ...] = (order,)
    else:
        q, r = lax_linalg.qr(matrix, full_matrices=is_full)
        pivots = ()
    q, r = rounded(q, x.dtype), rounded(r, x.dtype)
    return (r, *pivots) if mode == "r" else (q, r, *pivots)


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
    """(the product of a matrix or vector with Q, R), where a = Q R.

    Args:
      a: array [batch…, m, n]; k is the smaller one of m and n.
      c: for mode 'right' array [batch…, p, m] or [m], for 'left' [batch…, k, p] or [k].
      mode: 'right' for c Q, 'left' for Q c, with Q [m, k].
      pivoting: as in `qr`.
      conjugate: use the conjugate of Q.
    Returns: (c Q or Q c, R [k, n]), and P with `pivoting`.
    Raises: ShapeError: the lengths do not match. ValueError: an unknown mode.
    Example:
      >>> cq, r = qr_multiply(np.eye(2), np.ones(2))
      >>> cq.shape, r.shape
      ((2,), (2, 2))
    Source: SciPy documentation, `scipy.linalg.qr_multiply`.
    """
    if mode not in ("left", "right"):
        raise ValueError(f"qr_multiply: mode must be 'left' or 'right'; got {mode!r:.60}")
    x, y = pair("qr_multiply", matrices("qr_multiply", a), c)
    q, r, *pivots = qr(x, mode="economic", pivoting=pivoting)
    q = q.conj() if conjugate else q
    m, k = q.shape[-2:]
    length = k if mode == "left" else m
    if not y.ndim or y.shape[-2 if mode == "left" and y.ndim > 1 else -1] != length:
        raise ShapeError(f"qr_multiply: c must have length {length} for Q [{m}, {k}]; got {y.aval}")
    product = np.matmul(q, y) if mode == "left" else np.matmul(y, q)
    return (product, r, *pivots)
