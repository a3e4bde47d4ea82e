"""Eigenvalues of symmetric matrices of three diagonals."""

from collections.abc import Sequence
from typing import Any

from ... import numpy as np
from ...core.source import located
from ...errors import ShapeError
from ...lax import linalg as lax_linalg
from ...numpy.linalg.operands import in_wide, pair, rounded
from ...numpy.ranges import known
from ...typing import ArrayLike

__all__ = ["eigh_tridiagonal"]


@located
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Sequence[float] | None = None,
    tol: float | None = None,
    key: Any = None,
    check_finite: bool = True,
    lapack_driver: str = "auto",
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices of three diagonals.

    The matrices are written out, and decomposed as others are.

    Args:
      d: the diagonal [batch…, n], real.
      e: the one above it [batch…, n - 1].
      eigvals_only: return the eigenvalues alone.
      select: 'a': all; 'i': those of number select_range[0] to select_range[1], both included;
        'v': those above select_range[0] and up to select_range[1], of one matrix that is known
        (not traced).
      tol, key, check_finite, lapack_driver: do nothing.
    Returns: (w, rising; v, in columns), or w.
    Raises: ShapeError: lengths that don't fit. ValueError: another selection.
    Example:
      >>> eigh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0]), eigvals_only=True)
      Array([1., 3.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.eigh_tridiagonal`.
    """
    if select not in ("a", "i", "v"):
        raise ValueError(f"eigh_tridiagonal: select must be 'a', 'i' or 'v'; got {select!r:.60}")
    if (select != "a") != (select_range is not None):
        raise ValueError(
            f"eigh_tridiagonal: select 'i' and 'v' need a select_range; got {select!r} and "
            f"{select_range!r:.60}"
        )
    x, y = pair("eigh_tridiagonal", d, e)
    if not x.ndim or y.shape != (*x.shape[:-1], max(x.shape[-1] - 1, 0)):
        raise ShapeError(
            f"eigh_tridiagonal: expected d [batch…, n] and e [batch…, n - 1]; got {x.aval} and "
            f"{y.aval}"
        )
    dtype, n = x.dtype, x.shape[-1]
    x, y = in_wide(x), in_wide(y)
    a = _on_line(x, n, 0)
    if n > 1:
        off = _on_line(y, n, -1)
        a = a + off + np.matrix_transpose(off).conj()
    v, w = lax_linalg.eigh(a)
    if select_range is not None:
        low, high = select_range
        if select == "v":
            line = known("eigh_tridiagonal", w, "d")
            if line.ndim != 1:
                raise ShapeError(f"eigh_tridiagonal: select 'v' is for one matrix; got d {x.aval}")
            first, last = int((line <= low).sum()), int((line <= high).sum())
        else:
            first, last = int(low), int(high) + 1
            if not 0 <= first < last <= n:
                raise ValueError(
                    f"eigh_tridiagonal: select_range must be (first, last) below {n}; got "
                    f"{select_range!r:.60}"
                )
        w, v = w[..., first:last], v[..., first:last]
    w = rounded(w, dtype)
    return w if eigvals_only else (w, rounded(v, dtype))


def _on_line(x: Any, n: int, k: int) -> Any:
    """Matrices [batch…, n, n] with vectors on a diagonal."""
    columns = x[..., None, :] if k == 0 else x[..., None, : n - 1]
    mask = np.eye(n, columns.shape[-1], k, dtype=x.dtype)
    wide = columns * mask
    if columns.shape[-1] == n:
        return wide
    return np.concatenate([wide, np.zeros((*wide.shape[:-1], 1), wide.dtype)], -1)
