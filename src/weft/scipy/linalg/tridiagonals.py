"""Eigenvalues of symmetric matrices of three diagonals."""

from collections.abc import Sequence
from typing import Any

from ... import numpy as np
from ...core.source import located
from ...errors import ShapeError
from ...lax import fori_loop, linalg as lax_linalg, platform_dependent, scan
from ...numpy.linalg.operands import in_wide, pair, rounded
from ...numpy.ranges import known
from ...transforms.custom_derivatives import custom_jvp
from ...transforms.jit.function import jit
from ...transforms.linear_maps import jvp
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

    The matrices are written out, and decomposed as others are; eigenvalues alone of large ones are
    bisected.

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
    w: Any
    v: Any
    if eigvals_only and n >= _LONG:
        w = v = _eigenvalues(x, y)
    else:
        v, w = lax_linalg.eigh(_matrices(x, y))
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


def _matrices(d: Any, e: Any) -> Any:
    """The matrices written out."""
    n = d.shape[-1]
    a = _on_line(d, n, 0)
    if n <= 1:
        return a
    off = _on_line(e, n, -1)
    return a + off + np.matrix_transpose(off).conj()


def _on_line(x: Any, n: int, k: int) -> Any:
    """Matrices [batch…, n, n] with vectors on a diagonal."""
    columns = x[..., None, :] if k == 0 else x[..., None, : n - 1]
    mask = np.eye(n, columns.shape[-1], k, dtype=x.dtype)
    wide = columns * mask
    if columns.shape[-1] == n:
        return wide
    return np.concatenate([wide, np.zeros((*wide.shape[:-1], 1), wide.dtype)], -1)


# --- eigenvalues alone ---

_LONG = 64  # from which bisection takes less time than LAPACK


@custom_jvp
def _eigenvalues(d: Any, e: Any) -> Any:
    return _on_platform(d, e)


@jit
def _on_platform(d: Any, e: Any) -> Any:
    return platform_dependent(d, e, cpu=_bisected, default=_of_matrices)


@_eigenvalues.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return jvp(_of_matrices, primals, tangents)  # for which vectors are needed


def _of_matrices(d: Any, e: Any) -> Any:
    return lax_linalg.eigh(_matrices(d, e))[1]


def _bisected(d: Any, e: Any) -> Any:
    """Intervals that are halved until they are as short as the last place of the largest one.

    Of `a - x` the quotients of leading minors have as many minus signs as there are eigenvalues
    below x. float32[512] takes 1.1 ms, and 12 by way of the matrix.
    Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 8.4.1; LAPACK's dlaebz.
    """
    d, size = d.real, abs(e)
    info = np.finfo(d.dtype)
    # in a unit in which neither sums nor squares are infinite
    most = np.maximum(abs(d).max(-1, keepdims=True), size.max(-1, keepdims=True))
    limit = info.maxexp - 2
    power = np.clip(np.frexp(most)[1], -limit, limit)
    d, size = np.ldexp(d, -power), np.ldexp(size, -power)
    edge = np.zeros_like(size[..., :1])
    before, after = np.concatenate([edge, size], -1), np.concatenate([size, edge], -1)
    low = (d - before - after).min(-1, keepdims=True)
    high = (d + before + after).max(-1, keepdims=True)
    rows = [np.moveaxis(x, -1, 0)[..., None] for x in (d, before * before)]
    places = np.arange(d.shape[-1])
    least = np.asarray(info.tiny, d.dtype)

    def number_below(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            quotient, count = carry
            quotient = row[0] - x - row[1] / quotient
            minus = quotient <= least
            quotient = np.where(minus, np.minimum(quotient, -least), quotient)
            return (quotient, count + minus.astype("int32")), None

        start = np.ones_like(x), np.zeros(x.shape, "int32")
        return scan(step, start, rows, unroll=4)[0][1]

    def halved(_: Any, interval: Any) -> Any:
        low, high = interval
        middle = 0.5 * (low + high)
        above = number_below(middle) <= places
        return np.where(above, middle, low), np.where(above, high, middle)

    interval = tuple(np.broadcast_to(x, d.shape) for x in (low, high))
    low, high = fori_loop(0, info.nmant + 3, halved, interval)
    return np.ldexp(0.5 * (low + high), power)
