"""Systems of equations, inverses and determinants, by LU decomposition.

What NumPy raises LinAlgError for, singular matrices, gives inf or NaN.
"""

import math
from collections.abc import Sequence
from typing import Any

from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...lax import linalg as lax_linalg
from ...primitives import selection, structural
from ...primitives.linalg.factored import factored_inverse, factored_solve
from ...typing import ArrayLike
from ..axes import axes_of, one_axis, whole_number
from ..plans import composite
from ..promotion import cast
from .determinants import determinant, sign_and_logarithm
from .operands import in_wide, matrices, pair, rounded, wide_dtype
from .results import SlogdetResult

__all__ = ["det", "inv", "slogdet", "solve", "tensorinv", "tensorsolve"]


# --- systems of equations ---


@located
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The solutions x of a x = b.

    Args:
      a: array [batch…, n, n].
      b: array [n], or [batch…, n, k]; the axes in front broadcast.
    Returns: array [batch…, n] or [batch…, n, k]; inf or NaN where a matrix is singular.
    Raises: ShapeError: not square, or lengths that differ.
    Example:
      >>> np.linalg.solve(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
      Array([1., 2.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.solve`.
    """
    x, y = pair("solve", a, b)
    n = x.ndim
    if n < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"solve: a must be square: [batch…, n, n]; got {x.aval}")
    if not y.ndim or y.shape[0 if y.ndim == 1 else -2] != x.shape[-1]:
        raise ShapeError(
            f"solve: b must be [n], or [batch…, n, k], with n = {x.shape[-1]}; got {y.aval} for "
            f"a {x.aval}"
        )
    return _solve(x, y)


def _solution(a: Any, b: Any) -> Any:
    dtype = a.dtype
    a, b = cast(a, wide_dtype(dtype)), cast(b, wide_dtype(dtype))
    vector = b.ndim == 1
    if vector:
        b = structural.reshape(b, shape=(*b.shape, 1))
    front = structural.broadcast_shape("solve", [x.aval.update(shape=x.shape[:-2]) for x in (a, b)])
    factors, _, order = lax_linalg.lu(selection.stop_gradient(a))
    if a.shape[:-2] != front:
        a, factors = (structural.widen(x, (*front, *x.shape[-2:])) for x in (a, factors))
        order = structural.widen(order, (*front, order.shape[-1]))
    b = structural.widen(b, (*front, *b.shape[-2:]))
    x = factored_solve(factors, order, a, b, transposed=False)
    return rounded(structural.reshape(x, shape=x.shape[:-1]) if vector else x, dtype)


_solve = composite(_solution)


@located
def inv(a: ArrayLike) -> Array:
    """The inverse of matrices.

    Args:
      a: array [batch…, n, n].
    Returns: array of the shape of `a`; inf or NaN where a matrix is singular.
    Raises: ShapeError: not square.
    Example:
      >>> np.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.inv`.
    """
    return _inv(matrices("inv", a, square=True))


def _inverse(a: Any) -> Any:
    wide = in_wide(a)
    factors, _, order = lax_linalg.lu(selection.stop_gradient(wide))
    return rounded(factored_inverse(factors, order, wide), a.dtype)


_inv = composite(_inverse)


@located
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of an array as a linear map from its last axes to its first `ind`.

    Args:
      a: array whose first `ind` axes have together as many elements as the others.
      ind: how many axes are those of the map's results.
    Returns: array with the other axes first.
    Raises: ShapeError: the numbers of elements differ. ValueError: ind isn't positive.
    Example:
      >>> np.linalg.tensorinv(np.eye(4).reshape(2, 2, 4)).shape
      (4, 2, 2)
    Source: NumPy documentation, `numpy.linalg.tensorinv`.
    """
    (x,) = pair("tensorinv", a, 1.0)[:1]
    ind = whole_number("tensorinv", ind, "ind")
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be positive; got {ind}")
    first, last = x.shape[:ind], x.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise ShapeError(
            f"tensorinv: the first {ind} axes must have as many elements as the others; got "
            f"{x.aval}"
        )
    n = math.prod(first)
    inverse = inv(structural.reshape(x, shape=(n, math.prod(last))))
    return structural.reshape(inverse, shape=(*last, *first))


@located
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The solution x of tensordot(a, x, x.ndim) = b.

    Args:
      a: array [*shape of b, *shape of x], both with as many elements.
      b: array of any shape.
      axes: axes of `a` that are moved to the end first.
    Returns: array x.
    Raises: ShapeError: the numbers of elements differ.
    Example:
      >>> np.linalg.tensorsolve(np.eye(4).reshape(2, 2, 4), np.ones((2, 2)))
      Array([1., 1., 1., 1.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.tensorsolve`.
    """
    x, y = pair("tensorsolve", a, b)
    if axes is not None:
        moved = [one_axis("tensorsolve", i, x, "axes") for i in axes_of(axes)]
        order = (*[i for i in range(x.ndim) if i not in moved], *moved)
        if len(order) != x.ndim:
            raise ShapeError(f"tensorsolve: axes names an axis twice: {axes}")
        x = structural.transpose(x, permutation=order)
    shape = x.shape[y.ndim :]
    if x.size != y.size**2 or math.prod(shape) != y.size:
        raise ShapeError(
            f"tensorsolve: a must have the axes of b, and others with as many elements; got "
            f"{x.aval} and {y.aval}"
        )
    x = structural.reshape(x, shape=(y.size, y.size))
    return structural.reshape(_solve(x, structural.reshape(y, shape=(y.size,))), shape=shape)


# --- determinants ---


@located
def det(a: ArrayLike) -> Array:
    """The determinant of matrices.

    The derivative is that of the polynomial, at singular matrices too, and so is the second one.

    Args:
      a: array [batch…, n, n].
    Returns: array [batch…] of the dtype of `a`.
    Raises: ShapeError: not square.
    Example:
      >>> np.linalg.det(np.array([[1.0, 2.0], [3.0, 4.0]]))
      Array(-2., dtype=float32)
    Source: NumPy documentation, `numpy.linalg.det`.
    """
    return _det(matrices("det", a, square=True))


def _determinant(a: Any) -> Any:
    return rounded(determinant(in_wide(a)), a.dtype)


_det = composite(_determinant)


@located
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The sign of the determinant of matrices, and the logarithm of its size.

    Args:
      a: array [batch…, n, n].
      method: 'lu', the default, is LU decomposition; 'qr' is taken as a wish for the same result.
    Returns: SlogdetResult(sign, of the dtype of `a`; logabsdet, of that of its real part). For
      singular matrices they are 0 and -inf.
    Raises: ShapeError: not square. ValueError: another method.
    Example:
      >>> np.linalg.slogdet(np.array([[0.0, 1.0], [1.0, 0.0]]))
      SlogdetResult(sign=Array(-1., dtype=float32), logabsdet=Array(0., dtype=float32))
    Source: NumPy documentation, `numpy.linalg.slogdet`.
    """
    x = matrices("slogdet", a, square=True)
    if method not in (None, "lu", "qr"):
        raise ValueError(f"slogdet: method must be None, 'lu' or 'qr'; got {method!r:.60}")
    return SlogdetResult(*_slogdet(x))


def _sign_and_logarithm(a: Any) -> Any:
    return tuple([rounded(x, a.dtype) for x in sign_and_logarithm(in_wide(a))])


_slogdet = composite(_sign_and_logarithm)
