"""Random orthogonal and unitary matrices, uniform with respect to Haar measure: orthogonal. They
are the factor Q of matrices of normal samples.
"""

from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..lax import linalg
from ..numpy.axes import as_int, shape_tuple
from ..numpy.matrices import diagonal
from ..primitives import arithmetic, structural
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import float_dtype
from .normal import normal

__all__ = ["orthogonal"]


@located
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
) -> Array:
    """Uniformly distributed orthogonal matrices; unitary ones for a complex dtype.

    Args:
      key: a key.
      n: the number of rows.
      shape: the shape of the result without its last two axes.
      dtype: a float or complex dtype; float32 by default (float64 with x64 on).
      m: the number of columns; n by default. If n and m differ, the rows or the columns are
        orthonormal, whichever are fewer.
    Returns: array of `shape` and axes of lengths n and m.
    Raises: TypeError: key, n, m or dtype has the wrong type. ValueError: n or m is negative.
    Example:
      >>> q = random.orthogonal(random.PRNGKey(0), 3)
      >>> bool(np.allclose(q @ q.T, np.eye(3), atol=1e-5))
      True
      >>> random.orthogonal(random.PRNGKey(0), 3, shape=(5,), m=2).shape
      (5, 3, 2)
    Source: Mezzadri (2007), “How to generate random matrices from the classical compact groups”.
    """
    dtype = float_dtype("orthogonal", dtype, accepts_complex=True)
    rows = as_int("orthogonal", n, "n")
    columns = rows if m is None else as_int("orthogonal", m, "m")
    if rows < 0 or columns < 0:
        raise ShapeError(f"orthogonal: n and m must not be negative; got {rows} and {columns}")
    batch = shape_tuple("orthogonal", shape)
    z = normal(key, (*batch, max(rows, columns), min(rows, columns)), dtype)
    q, r = linalg.qr(z, full_matrices=False)
    # with a positive diagonal of R, Q is uniform, whatever signs LAPACK chose
    signs = arithmetic.sign(diagonal(r, 0, -2, -1))
    q = q * structural.reshape(signs, shape=(*batch, 1, min(rows, columns)))
    if rows >= columns:
        return q
    batch_axes = tuple(range(len(batch)))
    return structural.transpose(q, permutation=(*batch_axes, len(batch) + 1, len(batch)))
