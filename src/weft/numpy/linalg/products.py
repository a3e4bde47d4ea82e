"""Products of the array API standard (cross, outer, diagonal, trace), matrix_power, and multi_dot.

matrix_power squares repeatedly. multi_dot finds the cheapest order of the products by dynamic
programming.
"""

from collections.abc import Sequence
from typing import Any

from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...primitives import structural
from ...typing import ArrayLike, DTypeLike
from .. import matrices as in_matrices, products
from ..axes import as_int, is_listing, one_axis
from ..matrices import eye
from ..products import matmul, tensordot, vecdot
from ..promotion import value
from ..shapes import matrix_transpose
from .operands import check_matrices
from .solvers import inv

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


@located
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of length 3.

    Args:
      x1, x2: arrays that broadcast together, except along the axis.
      axis: the axis of the vectors.
    Returns: array of the broadcast shape.
    Raises: ShapeError: the vectors do not have length 3.
    Example:
      >>> np.linalg.cross(np.array([1, 0, 0]), np.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    Source: array API standard, `linalg.cross`.
    """
    x, y = value("cross", x1, "x1"), value("cross", x2, "x2")
    for v in (x, y):
        if v.shape[one_axis("cross", axis, v)] != 3:
            raise ShapeError(
                f"cross: vectors must have length 3; got {x.aval} and {y.aval}\n"
                "  fix: numpy.cross takes length 2 too"
            )
    return products.cross(x, y, axis=axis)


@located
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The outer product of two vectors.

    Args:
      x1, x2: arrays [n], [m].
    Returns: array [n, m].
    Raises: ShapeError: an argument does not have one axis.
    Example:
      >>> np.linalg.outer(np.array([1, 2]), np.array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    Source: array API standard, `linalg.outer`.
    """
    x, y = value("outer", x1, "x1"), value("outer", x2, "x2")
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(
            f"outer: expected two arrays of one axis; got {x.aval} and {y.aval}\n"
            "  fix: numpy.outer flattens others"
        )
    return products.outer(x, y)


@located
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices.

    Args:
      x: array [batch…, m, n].
      offset: 0 is the main diagonal, positive numbers are above it.
    Returns: array [batch…, length].
    Example:
      >>> np.linalg.diagonal(np.array([[1, 2], [3, 4]]), offset=1)
      Array([2], dtype=int32)
    Source: array API standard, `linalg.diagonal`.
    """
    return in_matrices.diagonal(x, offset, -2, -1)


@located
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """The sums of diagonals of matrices.

    Args:
      x: array [batch…, m, n].
      offset: 0 is the main diagonal, positive numbers are above it.
      dtype: dtype of the result and of the accumulation, as in `numpy.sum`.
    Returns: array [batch…].
    Example:
      >>> np.linalg.trace(np.array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    Source: array API standard, `linalg.trace`.
    """
    return in_matrices.trace(x, offset, -2, -1, dtype)


# --- of many matrices ---


@located
def matrix_power(a: ArrayLike, n: int) -> Array:
    """The n-th power of a matrix, computed with about log2(n) products.

    Args:
      a: array [batch…, k, k].
      n: an int; the power 0 is the identity, negative powers are powers of the inverse.
    Returns: array of the shape of `a`; floats for negative n.
    Raises: ShapeError: the matrices are not square. TypeError: n is not an int.
    Example:
      >>> np.linalg.matrix_power(np.array([[1, 1], [0, 1]]), 5)
      Array([[1, 5],
             [0, 1]], dtype=int32)
    Source: NumPy documentation, `numpy.linalg.matrix_power`.
    """
    x = value("matrix_power", a, "a")
    check_matrices("matrix_power", x, "a", True)
    n = as_int("matrix_power", n, "n")
    if n == 0:
        return structural.widen(eye(x.shape[-1], dtype=x.dtype), x.shape)
    if n < 0:
        x, n = inv(x), -n
    result = None
    while True:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        if not n:
            return result  # type: ignore[return-value]
        x = matmul(x, x)


@located
def multi_dot(arrays: Sequence[ArrayLike], *, precision: Any = None) -> Array:
    """The product of several matrices, in the order with the fewest multiplications.

    Args:
      arrays: at least two matrices [m, n]; the first and the last may be vectors.
      precision: the precision of products on accelerators; see `lax.Precision`.
    Returns: array of two axes, without the axis of a vector.
    Raises: ShapeError: the lengths differ. ValueError: fewer than two arrays.
    Example:
      >>> np.linalg.multi_dot([np.ones((2, 3)), np.ones((3, 4)), np.ones(4)])
      Array([12., 12.], dtype=float32)
    Source: T. Cormen et al., Introduction to Algorithms, 3rd ed., 15.2.
    """
    if not is_listing(arrays) or len(arrays) < 2:
        raise ValueError(f"multi_dot: expected at least two arrays; got {arrays!r:.60}")
    xs = [value("multi_dot", x, f"arrays[{i}]") for i, x in enumerate(arrays)]
    for i, x in enumerate(xs):
        if x.ndim != 2 and not (x.ndim == 1 and i in (0, len(xs) - 1)):
            raise ShapeError(f"multi_dot: arrays[{i}] must be a matrix; got {x.aval}")
    first_is_vector, last_is_vector = xs[0].ndim == 1, xs[-1].ndim == 1
    shapes = [x.shape for x in xs]
    shapes[0] = (1, *shapes[0]) if first_is_vector else shapes[0]
    shapes[-1] = (*shapes[-1], 1) if last_is_vector else shapes[-1]
    for i in range(1, len(xs)):
        if shapes[i - 1][1] != shapes[i][0]:
            raise ShapeError(
                f"multi_dot: the lengths of arrays[{i - 1}] and arrays[{i}] differ; got "
                f"{xs[i - 1].aval} and {xs[i].aval}"
            )
    splits = _best_splits([shapes[0][0], *[s[1] for s in shapes]])

    def product(i: int, j: int) -> Any:
        if i == j:
            return xs[i]
        k = splits[i, j]
        return matmul(product(i, k), product(k + 1, j), precision=precision)

    return product(0, len(xs) - 1)


def _best_splits(lengths: Sequence[int]) -> dict[tuple[int, int], int]:
    """The last matrix of the left factor, for each range of matrices, by dynamic programming."""
    n = len(lengths) - 1
    cost = {(i, i): 0 for i in range(n)}
    splits = {}
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            cost[i, j], splits[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1], k)
                for k in range(i, j)
            )
    return splits
