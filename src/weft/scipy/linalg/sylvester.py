"""The Sylvester equation A X + X B = Q: solve_sylvester.

Bartels and Stewart's method: the Schur forms of both matrices give a triangular equation, which is
solved column by column. The loop has a fixed number of steps, so it is differentiable in both
modes.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ... import dtypes, numpy as np
from ...core.array import Array, literal
from ...core.source import located
from ...core.value import Value
from ...errors import ShapeError
from ...lax import (
    custom_linear_solve,
    dynamic_slice_in_dim,
    dynamic_update_slice_in_dim,
    fori_loop,
    linalg as lax_linalg,
)
from ...numpy import linalg
from ...numpy.linalg.operands import check_matrices, in_wide_dtype, rounded
from ...numpy.promotion import cast, promote_values, value
from ...primitives import creation, selection
from ...typing import ArrayLike

__all__ = ["solve_sylvester"]


# --- Sylvester's equation ---


@located
def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """Solves the Sylvester equation A x + x B = C.

    Args:
      A, B: arrays [m, m] and [n, n].
      C: array [m, n].
      method: 'schur' (R. Bartels, G. Stewart) or 'eigen', by eigenvectors.
      tol: the result is NaN if the sum of an eigenvalue of A and one of B has at most this absolute
        value.
    Returns: array [m, n].
    Raises: ShapeError: the shapes do not match. ValueError: an unknown method.
    Example:
      >>> solve_sylvester(np.array([[1.0]]), np.array([[2.0]]), np.array([[6.0]]))
      Array([[2.]], dtype=float32)
    Source: R. H. Bartels, G. W. Stewart, Comm. ACM 15 (1972) 820-826.
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method must be 'schur' or 'eigen'; got {method!r:.60}")
    if not isinstance(tol, (int, float, Value)):
        raise TypeError(f"solve_sylvester: tol must be a number; got {tol!r:.80}")
    names = ("A", "B", "C")
    values = [value("solve_sylvester", x, n) for x, n in zip((A, B, C), names, strict=True)]
    a, b, c = promote_values("solve_sylvester", *values, to_inexact=True)
    check_matrices("solve_sylvester", a, "A", True)
    check_matrices("solve_sylvester", b, "B", True)
    if c.shape != (*a.shape[:-1], b.shape[-1]) or a.shape[:-2] != b.shape[:-2]:
        raise ShapeError(
            f"solve_sylvester: expected A [m, m], B [n, n] and C [m, n]; got {a.aval}, {b.aval} "
            f"and {c.aval}"
        )
    dtype = a.dtype
    a, b, c = in_wide_dtype(a), in_wide_dtype(b), in_wide_dtype(c)
    complex_dtype = dtypes.complex_of(a.dtype)
    forms = [cast(selection.stop_gradient(x), complex_dtype) for x in (a, b)]
    if method == "schur":
        parts = [y for x in forms for y in lax_linalg.schur(x)]
    else:
        parts = []
        for x in forms:
            w, v = lax_linalg.eig(x, compute_left_eigenvectors=False)
            parts += [w[..., None, :] * np.eye(w.shape[-1], dtype=complex_dtype), v]
    r, s = (np.diagonal(t, 0, -2, -1) for t in parts[::2])
    sums = r[..., :, None] + s[..., None, :]
    real = not dtypes.is_complex(dtype)
    solution = sylvester(a, b, c, lambda is_transposed: _by_parts(parts, is_transposed, real))
    is_nonsingular = np.all(abs(sums) > tol, axis=(-2, -1), keepdims=True)
    solution = selection.where(is_nonsingular, solution, literal(float("nan"), solution.dtype))
    return rounded(solution, dtype)


def _by_parts(parts: Sequence[Any], is_transposed: bool, real: bool) -> Callable[[Any], Any]:
    """The solver of a x + x b = c with a = u r u⁻¹, b = v s v⁻¹ and triangles r and s, from parts
    (r, u, s, v)."""
    r, u, s, v = (*parts[2:], *parts[:2]) if is_transposed else parts
    matrix_transpose = np.matrix_transpose

    def solver(c: Any) -> Any:
        transformed_c = linalg.solve(u, cast(c, u.dtype)) @ v
        y = solve_sylvester_of_triangles(r, s, transformed_c)
        x = matrix_transpose(linalg.solve(matrix_transpose(v), matrix_transpose(u @ y)))
        return x.real if real else x

    return solver


def solve_upper(t: Any, b: Any) -> Any:
    """t⁻¹ b for upper triangular t."""
    return lax_linalg.triangular_solve(t, b, left_side=True, lower=False)


def _column(x: Any, k: Any) -> Any:
    """Column k of a value, as [batch…, n, 1]."""
    return dynamic_slice_in_dim(x, k, 1, -1)


def solve_sylvester_of_triangles(
    r: Any, s: Any, c: Any, solve_shifted: Callable[[Any, Any, Any], Any] | None = None
) -> Any:
    """The solution y of r y + y s = c, for upper triangular r and s.

    Args:
      solve_shifted: the solver for a column: (r, number, column) -> (r + number)⁻¹ column.
    """
    n = s.shape[-1]
    if not c.size:
        return c
    solve_shifted = solve_shifted or _shifted_solution

    def step(k: Any, y: Any) -> Any:
        s_column = _column(s, k)
        shift = dynamic_slice_in_dim(s_column, k, 1, -2)
        remainder = _column(c, k) - y @ s_column  # columns k and later of y are still zero
        return dynamic_update_slice_in_dim(y, solve_shifted(r, shift, remainder), k, -1)

    return fori_loop(0, n, step, creation.zeros(c.aval.strong()))


def _shifted_solution(r: Any, shift: Any, column: Any) -> Any:
    return solve_upper(r + shift * np.eye(r.shape[-1], dtype=r.dtype), column)


def sylvester(a: Any, b: Any, c: Any, solver: Callable[[bool], Callable[[Any], Any]]) -> Any:
    """The solution x of a x + x b = c, with derivatives from the equation, with respect to a and b
    too.

    Args:
      solver: a function of a flag that returns a function from c to x. For True, a and b are
        exchanged. It need not be differentiable.
    """
    matrix_transpose = np.matrix_transpose
    return custom_linear_solve(
        lambda x: a @ x + x @ b,
        c,
        lambda _, c: solver(False)(c),
        lambda _, c: matrix_transpose(solver(True)(matrix_transpose(c))),
    )


def sylvester_near_triangles(r: Any, s: Any, c: Any) -> Any:
    """The solution y of r y + y s = c, for upper triangular matrices whose derivatives may have
    elements below the diagonal."""
    upper, right = (np.triu(selection.stop_gradient(x)) for x in (r, s))

    def solver(is_transposed: bool) -> Callable[[Any], Any]:
        left_triangle, right_triangle = (right, upper) if is_transposed else (upper, right)
        return lambda c: solve_sylvester_of_triangles(left_triangle, right_triangle, c)

    return sylvester(r, s, c, solver)
