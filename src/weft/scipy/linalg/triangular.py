"""Triangular systems: solve_triangular; and checks of right-hand sides for all solvers."""

from typing import Any

from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...lax import linalg as lax_linalg
from ...numpy.linalg.operands import check_matrices, in_wide_dtype, pair, rounded
from ...numpy.plans import composite
from ...numpy.promotion import noted
from ...primitives import structural
from ...typing import ArrayLike

__all__ = ["solve_triangular"]


def right_side(name: str, a: Any, b: Any) -> tuple[Any, bool]:
    """(b as [batch…, n, k] with the batch of a, True if it was a vector)."""
    n = a.shape[-1]
    vector = b.ndim == 1
    if not b.ndim or b.shape[0 if vector else -2] != n:
        raise noted(
            ShapeError(f"{name}: b must be [n] or [batch…, n, k] with n = {n}; got {b.aval}")
        )
    return (b[:, None] if vector else b), vector


def same_batch(name: str, *xs: Any) -> list[Any]:
    """Stacks of matrices, broadcast to the same batch axes."""
    batch_avals = [x.aval.update(shape=x.shape[:-2]) for x in xs]
    batch_shape = structural.broadcast_shape(name, batch_avals)
    return [structural.widen(x, (*batch_shape, *x.shape[-2:])) for x in xs]


# --- triangular systems ---


@located
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """Solves a x = b for triangular matrices.

    Args:
      a: array [batch…, n, n], of which one triangle is read.
      b: array [n] or [batch…, n, k]; batch axes broadcast.
      trans: 0 or 'N': a x = b; 1 or 'T': aᵀ x = b; 2 or 'C': aᴴ x = b.
      lower: the triangle.
      unit_diagonal: assume ones on the diagonal, which is not read.
    Returns: array of b's shape; inf or NaN where a diagonal has a zero.
    Raises: ShapeError: the matrix is not square, or lengths differ. ValueError: an unknown `trans`.
    Example:
      >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), lower=True)
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.solve_triangular`.
    """
    kinds = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
    if not isinstance(trans, (int, str)) or trans not in kinds:
        raise ValueError(
            f"solve_triangular: trans must be 0, 1, 2, 'N', 'T', 'C'; got {trans!r:.60}"
        )
    return solve_by_triangles("solve_triangular", a, b, (kinds[trans],), lower, unit_diagonal)


def solve_by_triangles(
    name: str,
    a: Any,
    b: Any,
    kinds: tuple[int, ...],
    lower: Any,
    unit_diagonal: Any = False,
    argument: str = "a",
) -> Any:
    """Solves triangular systems with one matrix, one after another; see `_one_by_one`."""
    x, y = pair(name, a, b)
    check_matrices(name, x, argument, True)
    y, vector = right_side(name, x, y)
    operands = same_batch(name, in_wide_dtype(x), in_wide_dtype(y))
    solutions = _one_by_one(
        *operands, kinds=kinds, lower=bool(lower), unit_diagonal=bool(unit_diagonal)
    )
    return rounded(solutions[..., 0] if vector else solutions, x.dtype)


@composite
def _one_by_one(x: Any, y: Any, *, kinds: tuple[int, ...], lower: bool, unit_diagonal: bool) -> Any:
    """Solves with x (kind 0), xᵀ (1) or xᴴ (2); each system's right-hand side is the solution
    before it."""
    for kind in kinds:
        y = lax_linalg.triangular_solve(
            x,
            y,
            left_side=True,
            lower=lower,
            transpose_a=kind > 0,
            conjugate_a=kind == 2,
            unit_diagonal=unit_diagonal,
        )
    return y
