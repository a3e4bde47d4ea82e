"""qdwh: the polar decomposition from matrix products and QR and Cholesky decompositions."""

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...core.array import Array, as_value
from ...core.source import located
from ...core.value import Value
from ...errors import ShapeError
from ...primitives.arithmetic import abs_, div, mul, sqrt, sub
from ...primitives.creation import full
from ...primitives.linalg.cholesky import cholesky
from ...primitives.linalg.matrix_operations import (
    adjoint,
    identities,
    in_dtype_of_matrix,
    product_of,
)
from ...primitives.linalg.qr import qr
from ...primitives.linalg.solver_calls import check_matrices
from ...primitives.linalg.triangular_solve import triangular_solve
from ...primitives.reductions import reduce_max
from ...primitives.selection import where
from ...primitives.slicing import concatenate
from ...primitives.structural import add, broadcast_in_dim, reduce_sum
from ...typing import ArrayLike
from ..creation import broadcasted_iota
from .operands import narrowed, slice_range, widened

__all__ = ["qdwh"]


MAX_STEPS = 10


@located
def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[Any, Any] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Polar decomposition x = u h, where u has orthonormal columns and h is positive semidefinite.

    The weights of the steps are constants: those for matrices with singular values from the machine
    epsilon to 1. There are six or seven steps, which have derivatives in both modes.

    Args:
      x: a stack of matrices [..., m, n], m >= n, of full rank, of a float or complex dtype. 16-bit
        floats are computed in float32.
      is_hermitian: accepted and ignored.
      max_iterations: the maximum number of steps; 10 by default.
      eps: the precision: u has converged when a step changes it by a relative amount below
        (4 eps)^(1/3). The machine epsilon by default.
      dynamic_shape: (rows, columns) of x that are not padding.
    Returns: (u, h, steps, converged): u [..., m, n], h [..., n, n], an int32, and booleans [...].
    Raises: ShapeError: fewer rows than columns, or another dtype. ValueError: no steps.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> u, h, steps, converged = lax.linalg.qdwh(np.array([[0.0, -2.0], [3.0, 0.0]]))
      >>> print(np.round(h, 4), bool(converged))
      [[3. 0.]
       [0. 2.]] True
    Source: Y. Nakatsukasa, Z. Bai, F. Gygi, Optimizing Halley's iteration for computing the matrix
      polar decomposition, SIAM J. Matrix Anal. Appl. 31 (2010); JAX documentation,
      `jax.lax.linalg.qdwh`.
    """
    (value,), narrow_dtype = widened(x)
    check_matrices("qdwh", value.aval)
    m, n = value.shape[-2:]
    if m < n:
        raise ShapeError(f"qdwh: x must have at least as many rows as columns; got {value.aval}")
    limit = MAX_STEPS if max_iterations is None else int(max_iterations)
    if limit < 1:
        raise ValueError(f"qdwh: max_iterations must be at least 1; got {max_iterations!r}")
    if dynamic_shape is not None:
        value = without_padding(value, *dynamic_shape)
    machine_eps = float(np.finfo(value.dtype).eps)
    u, previous_u = normalised(value), value
    weights = halley_weights(machine_eps)
    has_all_steps, weights = len(weights) <= limit, weights[:limit]
    for a, b, c in weights:
        previous_u, u = u, halley(u, a, b, c)
    change_norm, u_norm = frobenius_norm(sub(u, previous_u)), frobenius_norm(u)
    bound = math.cbrt(4 * (machine_eps if eps is None else float(eps)))
    # before the last steps, small singular values may change although the iteration seems to have
    # converged
    bound = bound if has_all_steps else -1.0
    converged = change_norm <= mul(u_norm, full(u_norm.aval.strong(), bound))
    h = product_of(adjoint(u), value)
    h = mul(add(h, adjoint(h)), number(h, 0.5))
    u, h = narrowed([u, h], narrow_dtype)
    return u, h, as_value(np.int32(len(weights))), converged  # type: ignore[return-value]


def number(x: Value, value: float) -> Value:
    """A number as a scalar of x's dtype."""
    return full(x.aval.update(shape=(), weak_type=False), value)


def without_padding(x: Value, rows: Any, columns: Any) -> Value:
    """The matrices with zeros after some rows and columns."""
    mask = broadcasted_iota(dtypes.int32, x.shape, x.ndim - 2) < rows
    mask = mask & (broadcasted_iota(dtypes.int32, x.shape, x.ndim - 1) < columns)
    return where(mask, x, number(x, 0))


def frobenius_norm(x: Value) -> Value:
    """The Frobenius norm."""
    return sqrt(reduce_sum(mul(abs_(x), abs_(x)), axes=(x.ndim - 2, x.ndim - 1)))


def normalised(x: Value) -> Value:
    """The matrices divided by an upper bound of their singular values, from column and row sums."""
    if not x.size:
        return x
    rows, columns = x.ndim - 2, x.ndim - 1
    magnitudes = abs_(x)
    squared_bound = mul(
        reduce_max(reduce_sum(magnitudes, axes=(rows,)), axes=(rows,)),
        reduce_max(reduce_sum(magnitudes, axes=(columns,)), axes=(rows,)),
    )
    bound = sqrt(where(squared_bound > 0, squared_bound, number(squared_bound, 1)))
    bounds = broadcast_in_dim(bound, shape=x.shape, dims=tuple(range(x.ndim - 2)))
    return div(x, in_dtype_of_matrix(bounds, x))


def halley_weights(eps: float) -> list[tuple[float, float, float]]:
    """The weights (a, b, c) of the steps x -> x (a + b xᴴ x) / (1 + c xᴴ x) that move singular
    values from `eps` to 1 fastest."""
    step_weights: list[tuple[float, float, float]] = []
    smallest = eps
    while abs(1 - smallest) > 5 * eps and len(step_weights) < MAX_STEPS:
        square = smallest * smallest
        d = math.cbrt(4 * (1 - square) / (square * square))
        root = math.sqrt(1 + d)
        a = root + math.sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        step_weights.append((a, b, c))
        smallest = min(smallest * (a + b * square) / (1 + c * square), 1.0)
    return [*step_weights, (3.0, 1.0, 3.0)]


def halley(x: Value, a: float, b: float, c: float) -> Value:
    """A step of Halley's iteration: by QR decomposition for large c, otherwise by Cholesky
    decomposition, which is cheaper."""
    m, n = x.shape[-2:]
    identity = identities(x.aval, n)
    scaled_x = mul(x, number(x, b / c))
    if c > 100:
        root = math.sqrt(c)
        stacked = concatenate(mul(x, number(x, root)), identity, dimension=x.ndim - 2)
        q, _ = qr(stacked, pivoting=False, full_matrices=False)
        product = product_of(slice_range(q, -2, 0, m), adjoint(slice_range(q, -2, m, m + n)))
        return add(scaled_x, mul(product, number(x, (a - b / c) / root)))
    factor = cholesky(
        add(identity, mul(product_of(adjoint(x), x), number(x, c))), lower=True, hermitian=True
    )
    product = x
    for matrix_transpose in (True, False):
        product = triangular_solve(
            factor,
            product,
            left_side=False,
            lower=True,
            transpose_a=matrix_transpose,
            conjugate_a=matrix_transpose,
            unit_diagonal=False,
        )
    return add(scaled_x, mul(product, number(x, a - b / c)))
