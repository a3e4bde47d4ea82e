"""Norms of vectors and matrices, and condition numbers.

At zero the derivative of a norm is taken as zero, which is a subgradient.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.array import Array, literal
from ...core.source import located
from ...errors import ShapeError
from ...primitives import arithmetic, complex_numbers, selection, structural
from ...primitives.comparison import eq, ne
from ...primitives.reduction import reduce_max, reduce_min, reduce_or
from ...primitives.transcendental import pow_
from ...typing import ArrayLike
from ..axes import all_axes
from ..plans import composite
from ..promotion import cast, noted, value
from ..reductions import keep_axes
from .inverses import inv
from .operands import check_matrices, in_wide, matrices, rounded
from .singular import values_of

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]

Order = int | float | str | None


# --- of vectors ---


@located
def vector_norm(
    x: ArrayLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: int | float | str = 2,
) -> Array:
    """The length of vectors.

    Args:
      x: array of any shape; integers become floats.
      axis: of the vectors: one, several, or all.
      keepdims: keep these axes, with length one.
      ord: p of the p-norm; inf and -inf are the largest and smallest |x|, 0 counts what isn't zero.
    Returns: array of the dtype of x's real part, without the axes.
    Raises: ValueError: `ord` is no number. ShapeError: the smallest |x| of no elements.
    Example:
      >>> np.linalg.vector_norm(np.array([3.0, 4.0]))
      Array(5., dtype=float32)
    Source: array API standard, `linalg.vector_norm`.
    """
    v = _inexact(value("vector_norm", x))
    axes = all_axes("vector_norm", axis, v)
    return _checked_vectors("vector_norm", v, ord, axes, bool(keepdims))


def _inexact(x: Any) -> Any:
    x = x if x.aval.inexact else cast(x, dtypes.default_float())
    return cast(x, x.aval.dtype) if x.aval.weak_type else x


def _number(name: str, ord: Any) -> float:
    """The p of a vector's norm."""
    if ord is None:
        return 2.0
    if isinstance(ord, (int, float, np.integer, np.floating)) and not isinstance(ord, bool):
        return float(ord)
    if isinstance(ord, str) and ord in ("inf", "-inf"):
        return float(ord)
    raise noted(
        ValueError(f"{name}: ord of vectors must be a number, inf or -inf; got {ord!r:.60}")
    )


def _checked_vectors(name: str, x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The p-norms along axes, for a user's `ord`."""
    number = _number(name, ord)
    if number == -np.inf:
        _check_smallest(name, x, ord, min([x.shape[axis] for axis in axes], default=1))
    return _vectors(x, ord=number, axes=axes, keepdims=keepdims)


def _check_smallest(name: str, x: Any, ord: Any, length: int) -> None:
    """Refuses the smallest of no numbers."""
    if not length:
        raise noted(
            ShapeError(
                f"{name}: ord={ord!r} is a smallest number, and there is none among no elements; "
                f"got {x.aval}\n  fix: an ord above 0, or an array with elements"
            )
        )


def _vectors(x: Any, *, ord: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The p-norms along axes."""
    if ord == 2 and not keepdims and len(axes) == x.ndim:
        return _length(x)
    return _along(x, ord=ord, axes=axes, keepdims=keepdims)


def _root_of_squares(x: Any) -> Any:
    total = structural.reduce_sum(_squares(in_wide(x)), axes=tuple(range(x.ndim)))
    return rounded(_rooted(total), x.aval.dtype)


_length = composite(_root_of_squares)


@composite
def _along(x: Any, *, ord: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The p-norms along axes."""
    dtype = x.aval.dtype
    wide = in_wide(x)
    if ord == 2:
        result = _rooted(structural.reduce_sum(_squares(wide), axes=axes))
    elif ord == np.inf:
        result = _extreme(reduce_max, arithmetic.abs_(wide), axes)
    elif ord == -np.inf:
        result = _extreme(reduce_min, arithmetic.abs_(wide), axes)
    elif ord == 1:
        result = structural.reduce_sum(arithmetic.abs_(wide), axes=axes)
    elif ord == 0:
        counted = cast(ne(wide, literal(0, wide.dtype)), dtypes.real_of(wide.dtype))
        result = structural.reduce_sum(counted, axes=axes)
    else:
        size = arithmetic.abs_(wide)
        powers = pow_(size, literal(ord, size.dtype))
        result = _to_power(structural.reduce_sum(powers, axes=axes), 1 / ord)
    return rounded(keep_axes(result, x, axes, keepdims), dtype)


def _squares(x: Any) -> Any:
    """|x|²."""
    if not dtypes.is_complex(x.aval.dtype):
        return arithmetic.mul(x, x)
    a, b = complex_numbers.real(x), complex_numbers.imag(x)
    return structural.add(arithmetic.mul(a, a), arithmetic.mul(b, b))


def _rooted(total: Any) -> Any:
    """The square root, with derivative zero at zero."""
    zero = literal(0, total.aval.dtype)
    nothing = eq(total, zero)
    safe = selection.select_n(nothing, total, literal(1, total.aval.dtype))
    return selection.select_n(nothing, arithmetic.sqrt(safe), zero)


def _to_power(total: Any, power: float) -> Any:
    """A positive power, or a negative one, with derivative zero at zero."""
    dtype = total.aval.dtype
    nothing = eq(total, literal(0, dtype))
    safe = selection.select_n(nothing, total, literal(1, dtype))
    at_zero = literal(0.0 if power > 0 else np.inf, dtype)
    return selection.select_n(nothing, pow_(safe, literal(power, dtype)), at_zero)


def _extreme(reduce: Any, size: Any, axes: tuple[int, ...]) -> Any:
    """The largest or smallest number along axes; the largest of none is 0, as in NumPy."""
    if not all([size.shape[axis] for axis in axes]):
        shape = tuple([n for i, n in enumerate(size.shape) if i not in axes])
        return structural.full(size.aval.update(shape=shape), 0)
    return reduce(size, axes=axes)


# --- of matrices ---


@located
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Order = "fro") -> Array:
    """The norm of matrices.

    Args:
      x: array [batch…, m, n]; integers become floats.
      keepdims: keep the last two axes, with length one.
      ord: 'fro' (the root of the sum of |x|²), 'nuc' (the sum of singular values), 2 and -2 (the
        largest and smallest singular value), 1 and -1 (the largest and smallest sum of |x| over a
        column), inf and -inf (over a row).
    Returns: array [batch…] of the dtype of x's real part.
    Raises: ShapeError: less than two axes, or the smallest of none. ValueError: another `ord`.
    Example:
      >>> np.linalg.matrix_norm(np.eye(3), ord='nuc')
      Array(3., dtype=float32)
    Source: array API standard, `linalg.matrix_norm`.
    """
    v = value("matrix_norm", x)
    check_matrices("matrix_norm", v, "x", False)
    axes = v.ndim - 2, v.ndim - 1
    return _norm_of_matrices("matrix_norm", _inexact(v), ord, axes, bool(keepdims))


def _norm_of_matrices(name: str, x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord is None or (isinstance(ord, str) and ord in ("fro", "f")):
        return _vectors(x, ord=2.0, axes=axes, keepdims=keepdims)
    if isinstance(ord, str) and ord == "nuc":
        return _spectral(x, "nuc", axes, keepdims)
    known = isinstance(ord, (int, float, np.integer, np.floating)) and not isinstance(ord, bool)
    if not known or float(ord) not in (1, -1, 2, -2, np.inf, -np.inf):
        raise noted(
            ValueError(
                f"{name}: ord of matrices must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf; got "
                f"{ord!r:.60}"
            )
        )
    if ord < 0:
        rows, columns = [x.shape[axis] for axis in axes]
        lengths = {-1.0: columns, -2.0: min(rows, columns), -np.inf: rows}
        _check_smallest(name, x, ord, lengths[float(ord)])
    if abs(ord) == 2:
        return _spectral(x, float(ord), axes, keepdims)
    return _summed(x, ord=float(ord), axes=axes, keepdims=keepdims)


@composite
def _summed(x: Any, *, ord: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    """An extreme of sums of |x| over columns or rows."""
    wide = in_wide(x)
    over, then = axes if abs(ord) == 1 else axes[::-1]
    sums = structural.reduce_sum(arithmetic.abs_(wide), axes=(over,))
    reduce = reduce_max if ord > 0 else reduce_min
    result = _extreme(reduce, sums, (then - (over < then),))
    return rounded(keep_axes(result, x, axes, keepdims), x.aval.dtype)


def _spectral(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """A norm by singular values."""
    order = (*[i for i in range(x.ndim) if i not in axes], *axes)
    a = x if order == tuple(range(x.ndim)) else structural.transpose(x, permutation=order)
    s = values_of(in_wide(a))
    last = (s.ndim - 1,)
    if ord == "nuc":
        result = structural.reduce_sum(s, axes=last)
    else:
        result = _extreme(reduce_max if ord > 0 else reduce_min, s, last)
    return rounded(keep_axes(result, x, axes, keepdims), x.aval.dtype)


@located
def norm(
    x: ArrayLike,
    ord: Order = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Array:
    """The norm of a vector, a matrix, or of those along axes.

    Args:
      x: array; integers become floats. Without `axis` it has one or two axes, unless `ord` is None
        too: then it is the root of the sum of |x|² over all elements.
      ord: as in `vector_norm` or `matrix_norm`; 2, or 'fro', by default.
      axis: one, of vectors, or two, of matrices.
      keepdims: keep these axes, with length one.
    Returns: array of the dtype of x's real part, without the axes.
    Raises: ShapeError: more than two axes, or the smallest of no elements. ValueError: an unknown
      `ord`.
    Example:
      >>> np.linalg.norm(np.array([[3.0, 4.0], [0.0, 0.0]]), axis=1)
      Array([5., 0.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.norm`.
    """
    v = _inexact(value("norm", x))
    keepdims = bool(keepdims)
    if axis is None:
        axes = tuple(range(v.ndim))
        if ord is None or not axes:
            return _checked_vectors("norm", v, ord, axes, keepdims)
    else:
        axes = all_axes("norm", axis, v)
    if len(axes) == 1:
        return _checked_vectors("norm", v, ord, axes, keepdims)
    if len(axes) == 2:
        return _norm_of_matrices("norm", v, ord, axes, keepdims)
    raise ShapeError(
        f"norm: expected one or two axes of vectors or matrices; got {len(axes)} of {v.aval}\n"
        "  fix: axis=…, or vector_norm, which takes any number"
    )


# --- condition numbers ---


@located
def cond(x: ArrayLike, p: Order = None) -> Array:
    """The condition number of matrices: norm(x) norm(x⁻¹).

    Args:
      x: array [batch…, m, n]; for other p than None, 2 and -2 square.
      p: the norm, as in `matrix_norm`; None and 2 are the ratio of the largest singular value to
        the smallest one, -2 its inverse.
    Returns: array [batch…] of the dtype of x's real part; inf for singular matrices.
    Raises: ShapeError: no matrices, not square, or empty ones.
    Example:
      >>> np.linalg.cond(np.array([[4.0, 0.0], [0.0, 2.0]]))
      Array(2., dtype=float32)
    Source: NumPy documentation, `numpy.linalg.cond`.
    """
    spectral = p is None or (not isinstance(p, str) and p in (2, -2))
    a = matrices("cond", x, "x", square=not spectral)
    if not a.shape[-1] or not a.shape[-2]:
        raise ShapeError(f"cond: matrices must not be empty; got {a.aval}")
    if spectral:
        s = values_of(in_wide(a))
        first, last = s[..., 0], s[..., -1]
        ratio = last / first if p == -2 else first / last
    else:
        wide, axes = in_wide(a), (a.ndim - 2, a.ndim - 1)
        first = _norm_of_matrices("cond", wide, p, axes, False)
        ratio = first * _norm_of_matrices("cond", inv(wide), p, axes, False)
    clean = ~reduce_or(ne(a, a), axes=(a.ndim - 2, a.ndim - 1))
    singular = clean & ne(ratio, ratio)
    return rounded(selection.select_n(singular, ratio, literal(np.inf, ratio.dtype)), a.dtype)
