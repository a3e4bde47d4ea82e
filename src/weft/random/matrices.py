"""Samples made with decompositions: correlated normal numbers, orthogonal matrices."""

from typing import Any

import numpy as np

from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..lax import linalg
from ..numpy.axes import shape_tuple, whole_number
from ..numpy.matrices import diagonal
from ..numpy.products import matmul
from ..primitives import arithmetic, structural
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .distributions import float_dtype, normal, parameter

__all__ = ["multivariate_normal", "orthogonal"]

_METHODS = ("cholesky", "eigh", "svd")


@located
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
) -> Array:
    """Normal vectors of a mean and a covariance.

    Args:
      key: a key.
      mean: float[…,n], whose leading axes broadcast to `shape`.
      cov: float[…,n,n], symmetric and without negative eigenvalues; the leading axes broadcast to
        `shape`.
      shape: the shape of the result without its last axis; what the leading axes of the parameters
        broadcast to by default.
      dtype: a float dtype; float32 by default (float64 with x64 on).
      method: how the covariance is factored: "cholesky", the fastest, needs a positive definite
        one; "eigh" and "svd" take singular ones too.
    Returns: array of `shape` and an axis of length n; NaN where "cholesky" has no factor, and for
      "eigh" where an eigenvalue is negative. Differentiable in `mean` and `cov`.
    Raises: TypeError: not a key, or not a float dtype. ValueError: the parameters don't fit each
      other or the shape, or no such method.
    Example:
      >>> cov = np.array([[2.0, 1.0], [1.0, 2.0]])
      >>> random.multivariate_normal(random.PRNGKey(0), np.zeros(2), cov, (5,)).shape
      (5, 2)
    Source: a factor F with F Fᵀ = cov, times independent normal numbers.
    """
    name = "multivariate_normal"
    if method not in _METHODS:
        raise ValueError(f"{name}: method must be one of {', '.join(_METHODS)}; got {method!r}")
    dtype = float_dtype(name, dtype)
    centre, spread = parameter(name, mean, "mean", dtype), parameter(name, cov, "cov", dtype)
    if not centre.ndim or spread.ndim < 2 or spread.shape[-2:] != 2 * centre.shape[-1:]:
        raise ShapeError(
            f"{name}: expected a mean […,n] and a covariance […,n,n]; got mean {centre.aval} and "
            f"cov {spread.aval}"
        )
    batch, n = _batch_shape(name, shape, centre, spread), centre.shape[-1]
    factor = _factor(spread, method)
    z = normal(key, (*batch, n), dtype)
    return structural.add(structural.widen(centre, z.shape), _applied(factor, z))


def _batch_shape(name: str, shape: Any, mean: Any, cov: Any) -> tuple[int, ...]:
    own = mean.shape[:-1], cov.shape[:-2]
    wanted = None if shape is None else shape_tuple(name, shape)
    try:
        together = np.broadcast_shapes(*own, *([] if wanted is None else [wanted]))
        if wanted is None or together == wanted:
            return together
    except ValueError:
        pass
    raise ShapeError(
        f"{name}: the leading axes of mean {mean.aval} and cov {cov.aval} don't broadcast "
        + ("together" if wanted is None else f"to shape {wanted}")
        + "\n  fix: shape is that of the result without its last axis"
    )


def _factor(cov: Any, method: str) -> Any:
    if method == "cholesky":
        return linalg.cholesky(cov)
    if method == "eigh":
        vectors, squares = linalg.eigh(cov)
    else:
        vectors, squares, _ = linalg.svd(cov)
    roots = arithmetic.sqrt(squares)
    shape = (*roots.shape[:-1], 1, roots.shape[-1])
    return vectors * structural.reshape(roots, shape=shape)


def _applied(factor: Any, z: Any) -> Any:
    """Matrices times vectors."""
    if factor.ndim == 2:  # one for all: the vectors are the rows of one matrix
        return matmul(z, structural.transpose(factor, permutation=(1, 0)))
    columns = structural.reshape(z, shape=(*z.shape, 1))
    return structural.reshape(matmul(factor, columns), shape=z.shape)


@located
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
) -> Array:
    """Orthogonal matrices, each as likely as any other; unitary ones for a complex dtype.

    Args:
      key: a key.
      n: the number of rows.
      shape: the shape of the result without its last two axes.
      dtype: a float or complex dtype; float32 by default (float64 with x64 on).
      m: the number of columns; n by default. Of unequal numbers the fewer rows, or columns, are
        orthonormal.
    Returns: array of `shape` and axes of lengths n and m.
    Raises: TypeError: not a key, not integers, or not such a dtype. ValueError: a negative number.
    Example:
      >>> q = random.orthogonal(random.PRNGKey(0), 3)
      >>> bool(np.allclose(q @ q.T, np.eye(3), atol=1e-5))
      True
    Source: Mezzadri (2007), “How to generate random matrices from the classical compact groups”.
    """
    dtype = float_dtype("orthogonal", dtype, accepts_complex=True)
    rows = whole_number("orthogonal", n, "n")
    columns = rows if m is None else whole_number("orthogonal", m, "m")
    if rows < 0 or columns < 0:
        raise ShapeError(f"orthogonal: n and m must not be negative; got {rows} and {columns}")
    batch = shape_tuple("orthogonal", shape)
    z = normal(key, (*batch, max(rows, columns), min(rows, columns)), dtype)
    q, r = linalg.qr(z, full_matrices=False)
    # R's diagonal made positive: then Q is as likely as any other, whatever signs LAPACK chose
    signs = arithmetic.sign(diagonal(r, 0, -2, -1))
    q = q * structural.reshape(signs, shape=(*batch, 1, min(rows, columns)))
    if rows >= columns:
        return q
    front = tuple(range(len(batch)))
    return structural.transpose(q, permutation=(*front, len(batch) + 1, len(batch)))
