"""Functions of matrices by Schur's form: roots, logarithms, any other.

A = Z T Zᴴ with an upper triangular T. Where Z is a constant, f(A) = Z f(Zᴴ A Z) Zᴴ for all A, so
derivatives come from those at T. Results are complex: whether they are real isn't known while a
function is traced.
"""

from collections.abc import Callable
from typing import Any

import numpy as onp

from ... import dtypes, numpy as np
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...lax import cond, fori_loop, linalg as lax_linalg
from ...numpy import linalg
from ...numpy.axes import whole_number
from ...numpy.linalg.operands import adjoint, identities, in_wide, matrices, pair, rounded
from ...numpy.plans import composite
from ...numpy.promotion import cast
from ...primitives import selection
from ...transforms.custom_derivatives import custom_jvp
from ...typing import ArrayLike
from .exponentials import expm
from .triangles import (
    function_of_triangle,
    root_of_triangle,
    solve_sylvester_of_triangles,
    sylvester,
    sylvester_near_triangles,
)

__all__ = ["funm", "logm", "rsf2csf", "schur", "sqrtm"]


# --- Schur's form ---


@located
def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """Schur's form: a = Z T Zᴴ, T upper triangular, Z unitary.

    Args:
      a: array [batch…, n, n].
      output: 'real': of real matrices T is real, with blocks [2, 2] on its diagonal for pairs of
        complex eigenvalues; 'complex': T is triangular in any case, and complex.
    Returns: (T, Z).
    Raises: ShapeError: not square. ValueError: another output.
    Example:
      >>> T, Z = schur(np.array([[2.0, 1.0], [0.0, 3.0]]))
      >>> bool(np.allclose(Z @ T @ Z.T, np.array([[2.0, 1.0], [0.0, 3.0]]), atol=1e-6))
      True
    Source: SciPy documentation, `scipy.linalg.schur`.
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: output must be 'real' or 'complex'; got {output!r:.60}")
    x = matrices("schur", a, square=True)
    dtype = dtypes.complex_of(x.dtype) if output == "complex" else x.dtype
    wide = in_wide(x)
    t, z = lax_linalg.schur(
        cast(wide, dtypes.complex_of(wide.dtype)) if output == "complex" else wide
    )
    return rounded(t, dtype), rounded(z, dtype)


@located
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The complex form of Schur's from the real one.

    Args:
      T, Z: arrays [n, n], as `schur` returns them.
      check_finite: does nothing.
    Returns: (T, Z), complex.
    Raises: ShapeError: other shapes.
    Example:
      >>> T, Z = rsf2csf(*schur(np.array([[0.0, 1.0], [-1.0, 0.0]])))
      >>> np.round(abs(T[1, 0]), 5)
      Array(0., dtype=float32)
    Source: SciPy documentation, `scipy.linalg.rsf2csf`.
    """
    t, z = pair("rsf2csf", T, Z)
    if t.ndim != 2 or t.shape[0] != t.shape[1] or z.shape != t.shape:
        raise ShapeError(f"rsf2csf: expected two arrays [n, n]; got {t.aval} and {z.aval}")
    n, dtype = t.shape[0], dtypes.complex_of(t.dtype)
    t, z = cast(t, dtype), cast(z, dtype)

    def step(k: Any, state: Any) -> Any:
        m = n - 1 - k
        t, z = state
        pick = lambda i, j: t[i, j]  # noqa: E731
        a, b, c, d = pick(m - 1, m - 1), pick(m - 1, m), pick(m, m - 1), pick(m, m)
        half = (a + d) / 2
        root = np.sqrt((a - d) * (a - d) / 4 + b * c)
        first, second = half + root, half - root
        near = np.where(abs(first - d) < abs(second - d), first, second)
        size = np.sqrt(abs(near - d) ** 2 + abs(c) ** 2)
        plain = size == 0
        safe = np.where(plain, 1.0, size)
        cosine = np.where(plain, 1.0, (near - d) / safe)
        sine = np.where(plain, 0.0, c / safe)
        turn = np.stack([np.stack([cosine.conj(), sine.conj()]), np.stack([-sine, cosine])])
        whole = np.eye(n, dtype=dtype)
        at = np.stack([m - 1, m])
        whole = whole.at[at[:, None], at].set(turn)
        whole = np.where(c == 0, np.eye(n, dtype=dtype), whole)
        t = whole @ t @ adjoint(whole)
        t = t.at[m, m - 1].set(0)
        return t, z @ adjoint(whole)

    t, z = fori_loop(0, n - 1, step, (t, z)) if n > 1 else (t, z)
    return np.triu(t), z


def _triangular_form(x: Any) -> tuple[Any, Any]:
    """(Zᴴ x Z, Z) with a constant Z for which the first is upper triangular; both complex."""
    wide = cast(x, dtypes.complex_of(x.dtype))
    _, z = lax_linalg.schur(selection.stop_gradient(wide))
    return adjoint(z) @ wide @ z, z


# --- roots ---


@custom_jvp
def _root(t: Any) -> Any:
    """The principal square root at an upper triangular matrix; what is below counts as zero."""
    return root_of_triangle(np.triu(t))


@_root.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """r dr + dr r = dt."""
    r = _root(*primals)
    return r, sylvester_near_triangles(r, r, tangents[0])


@custom_jvp
def _root_and_form(a: Any) -> Any:
    """(z r zᴴ, r, z): the root of a, and that of its triangular form zᴴ a z."""
    t, z = lax_linalg.schur(a)
    r = root_of_triangle(t)
    return z @ r @ adjoint(z), r, z


@_root_and_form.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """x dx + dx x = da, in the coordinates in which x is triangular: no second form is needed."""
    x, r, z = _root_and_form(*primals)
    triangle, turn = selection.stop_gradient(r), selection.stop_gradient(z)

    def solver(_: bool) -> Callable[[Any], Any]:
        def solved(c: Any) -> Any:
            inner = adjoint(turn) @ c @ turn
            return turn @ solve_sylvester_of_triangles(triangle, triangle, inner) @ adjoint(turn)

        return solved

    dx = sylvester(x, x, tangents[0], solver)
    return (x, r, z), (dx, np.zeros_like(r), np.zeros_like(z))


@located
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """The principal square root of matrices: X X = A.

    Args:
      A: array [batch…, n, n].
      blocksize: 1: the algorithm isn't blocked.
    Returns: complex array of the shape of A; NaN where there is no root.
    Raises: ShapeError: not square. ValueError: another blocksize.
    Example:
      >>> sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]])).real
      Array([[2., 0.],
             [0., 3.]], dtype=float32)
    Source: Å. Björck, S. Hammarling, Linear Algebra Appl. 52/53 (1983) 127-140.
    """
    if whole_number("sqrtm", blocksize, "blocksize") != 1:
        raise ValueError(f"sqrtm: blocksize must be 1: roots aren't blocked; got {blocksize}")
    x = matrices("sqrtm", A, "A", square=True)
    if not x.size:
        return cast(x, dtypes.complex_of(x.dtype))
    dtype = dtypes.complex_of(x.dtype)
    return rounded(_root_of_any(in_wide(x)), dtype)


@composite
def _root_of_any(x: Any) -> Any:
    return _root_and_form(cast(x, dtypes.complex_of(x.dtype)))[0]


# --- logarithms ---

_MOST_ROOTS = 60
_NODES = 8
_NEAR = 0.25  # |T - 1| up to which eight nodes are exact in float64


@located
def logm(A: ArrayLike, disp: bool = True) -> Any:
    """The principal logarithm of matrices: expm(X) = A.

    Args:
      A: array [batch…, n, n].
      disp: False returns an estimate of the relative error too.
    Returns: complex array of the shape of A, or (it, |expm(it) - A| / |A| in the 1-norm). NaN, or
      infinite, for singular matrices.
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
    found = rounded(_logarithm_of_any(in_wide(x)), dtype)
    if disp:
        return found
    a = cast(x, dtype)
    rest = linalg.norm(expm(found) - a, 1, (-2, -1))
    return found, rest / linalg.norm(a, 1, (-2, -1))


@composite
def _logarithm_of_any(x: Any) -> Any:
    t, z = _triangular_form(x)
    return z @ _logarithm(t) @ adjoint(z)


def _logarithm(t: Any) -> Any:
    """The logarithm at an upper triangular matrix."""
    one = identities(t.aval, t.shape[-1])

    def far(t: Any) -> Any:
        still = selection.stop_gradient(np.triu(t))
        return np.max(np.sum(abs(still - one), axis=-2), axis=-1) > _NEAR

    def step(k: Any, state: Any) -> Any:
        t, count = state
        again = far(t)

        def rooted(t: Any) -> Any:
            return np.where(again[..., None, None], _root(t), t)

        return cond(np.any(again), rooted, lambda t: t, t), count + again

    count = np.zeros(t.shape[:-2], t.real.dtype)
    t, count = fori_loop(0, _MOST_ROOTS, step, (t, count))
    nodes, weights = onp.polynomial.legendre.leggauss(_NODES)
    change, total = t - one, None
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        term = linalg.solve(one + float(node) * change, change) * float(weight)
        total = term if total is None else total + term
    return total * np.exp2(count)[..., None, None].astype(t.dtype)


# --- any function ---


@located
def funm(A: ArrayLike, func: Callable[[Array], Array], disp: bool = True) -> Any:
    """A function of matrices, by its values at the eigenvalues.

    There is no derivative. Eigenvalues that are nearly equal cost accuracy.

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
    x = matrices("funm", A, "A", square=True)
    if x.ndim != 2:
        raise ShapeError(f"funm: expected A [n, n]; got {x.aval}")
    wide = in_wide(x)
    dtype = dtypes.complex_of(wide.dtype)
    t, z = lax_linalg.schur(cast(wide, dtype))
    if x.size:
        values = cast(np.asarray(func(np.diagonal(t))), dtype)
        f, least = function_of_triangle(t, values)
    else:
        f, least = t, np.asarray(1.0)
    found = rounded(z @ f @ adjoint(z), dtypes.complex_of(x.dtype))
    if disp:
        return found
    tiny = float(dtypes.finfo(dtype).eps)
    least = np.where(least == 0, tiny, least)
    error = tiny / least * linalg.norm(np.triu(t, 1), 1)
    error = np.where(np.isnan(found).any(), float("inf"), np.clip(error, tiny, 1.0))
    return found, error
