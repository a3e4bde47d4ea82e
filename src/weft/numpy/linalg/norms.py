"""Norms, condition numbers and ranks: norm, vector_norm, matrix_norm, cond, matrix_rank."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.array import Array, literal
from ...core.source import located
from ...errors import ShapeError
from ...lax import linalg as lax_linalg
from ...primitives import arithmetic, complex_numbers, creation, selection, structural
from ...primitives.comparison import eq, gt, ne
from ...primitives.exponential import pow_
from ...primitives.reductions import reduce_max, reduce_min, reduce_or
from ...typing import ArrayLike
from ..axes import all_axes
from ..plans import composite
from ..promotion import cast, noted, value
from ..reductions import any as any_of, keep_axes
from .decompositions import values_of
from .operands import check_matrices, in_wide_dtype, matrices, rounded
from .solvers import _alias, _threshold, inv

__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]


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
    """The norm of vectors.

    Args:
      x: array of any shape; integers become floats.
      axis: the axis or axes of the vectors; by default, all axes.
      keepdims: keep these axes, with length one.
      ord: p of the p-norm; inf and -inf are the largest and smallest |x|, 0 counts nonzero
        elements.
    Returns: array without the axes, of the dtype of the real part of `x`.
    Raises: ValueError: `ord` is not a number. ShapeError: the smallest |x| of no elements.
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
    """The p of a p-norm as a float."""
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
    """The p-norms along axes, for an unchecked `ord`."""
    p = _number(name, ord)
    if p == -np.inf:
        _check_smallest(name, x, ord, min([x.shape[axis] for axis in axes], default=1))
    return _vectors(x, ord=p, axes=axes, keepdims=keepdims)


def _check_smallest(name: str, x: Any, ord: Any, length: int) -> None:
    """Raises an error for the minimum of an empty set."""
    if not length:
        raise noted(
            ShapeError(
                f"{name}: ord={ord!r} is a minimum, which no elements do not have; "
                f"got {x.aval}\n  fix: an ord above 0, or an array with elements"
            )
        )


def _vectors(x: Any, *, ord: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The p-norms along axes."""
    if ord == 2 and not keepdims and len(axes) == x.ndim:
        return _euclidean_norm(x)
    return _norm_along(x, ord=ord, axes=axes, keepdims=keepdims)


def _root_of_sum_of_squares(x: Any) -> Any:
    total = structural.reduce_sum(_squares(in_wide_dtype(x)), axes=tuple(range(x.ndim)))
    return rounded(_square_root(total), x.aval.dtype)


_euclidean_norm = composite(_root_of_sum_of_squares)


@composite
def _norm_along(x: Any, *, ord: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The p-norms along axes."""
    dtype = x.aval.dtype
    operand = in_wide_dtype(x)
    if ord == 2:
        result = _square_root(structural.reduce_sum(_squares(operand), axes=axes))
    elif ord == np.inf:
        result = _extreme(reduce_max, arithmetic.abs_(operand), axes)
    elif ord == -np.inf:
        result = _extreme(reduce_min, arithmetic.abs_(operand), axes)
    elif ord == 1:
        result = structural.reduce_sum(arithmetic.abs_(operand), axes=axes)
    elif ord == 0:
        is_nonzero = cast(ne(operand, literal(0, operand.dtype)), dtypes.real_of(operand.dtype))
        result = structural.reduce_sum(is_nonzero, axes=axes)
    else:
        magnitudes = arithmetic.abs_(operand)
        powers = pow_(magnitudes, literal(ord, magnitudes.dtype))
        result = _to_power(structural.reduce_sum(powers, axes=axes), 1 / ord)
    return rounded(keep_axes(result, x, axes, keepdims), dtype)


def _squares(x: Any) -> Any:
    """|x|²."""
    if not dtypes.is_complex(x.aval.dtype):
        return arithmetic.mul(x, x)
    a, b = complex_numbers.real(x), complex_numbers.imag(x)
    return structural.add(arithmetic.mul(a, a), arithmetic.mul(b, b))


def _square_root(total: Any) -> Any:
    """The square root, with derivative 0 at 0."""
    zero = literal(0, total.aval.dtype)
    is_zero = eq(total, zero)
    nonzero_total = selection.select_n(is_zero, total, literal(1, total.aval.dtype))
    return selection.select_n(is_zero, arithmetic.sqrt(nonzero_total), zero)


def _to_power(total: Any, power: float) -> Any:
    """A positive or negative power, with derivative 0 at 0."""
    dtype = total.aval.dtype
    is_zero = eq(total, literal(0, dtype))
    nonzero_total = selection.select_n(is_zero, total, literal(1, dtype))
    at_zero = literal(0.0 if power > 0 else np.inf, dtype)
    return selection.select_n(is_zero, pow_(nonzero_total, literal(power, dtype)), at_zero)


def _extreme(reduce: Any, values: Any, axes: tuple[int, ...]) -> Any:
    """The maximum or minimum along axes; 0 without elements, like NumPy's maximum."""
    if not all([values.shape[axis] for axis in axes]):
        shape = tuple([n for i, n in enumerate(values.shape) if i not in axes])
        return creation.full(values.aval.update(shape=shape), 0)
    return reduce(values, axes=axes)


# --- of matrices ---


@located
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Order = "fro") -> Array:
    """The norm of matrices.

    Args:
      x: array [batch…, m, n]; integers become floats.
      keepdims: keep the last two axes, with length one.
      ord: 'fro' (the square root of the sum of |x|²), 'nuc' (the sum of singular values), 2 and -2
        (the largest and smallest singular value), 1 and -1 (the largest and smallest sum of |x|
        over a column), inf and -inf (over a row).
    Returns: array [batch…] of the dtype of the real part of `x`.
    Raises: ShapeError: fewer than two axes, or a minimum of no elements. ValueError: another `ord`.
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
    is_number = isinstance(ord, (int, float, np.integer, np.floating)) and not isinstance(ord, bool)
    if not is_number or float(ord) not in (1, -1, 2, -2, np.inf, -np.inf):
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
    """The largest or smallest sum of |x| over columns or rows."""
    operand = in_wide_dtype(x)
    sum_axis, extreme_axis = axes if abs(ord) == 1 else axes[::-1]
    sums = structural.reduce_sum(arithmetic.abs_(operand), axes=(sum_axis,))
    reduce = reduce_max if ord > 0 else reduce_min
    result = _extreme(reduce, sums, (extreme_axis - (sum_axis < extreme_axis),))
    return rounded(keep_axes(result, x, axes, keepdims), x.aval.dtype)


def _spectral(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """A norm that is computed from singular values."""
    order = (*[i for i in range(x.ndim) if i not in axes], *axes)
    a = x if order == tuple(range(x.ndim)) else structural.transpose(x, permutation=order)
    s = values_of(in_wide_dtype(a))
    last_axis = (s.ndim - 1,)
    if ord == "nuc":
        result = structural.reduce_sum(s, axes=last_axis)
    else:
        result = _extreme(reduce_max if ord > 0 else reduce_min, s, last_axis)
    return rounded(keep_axes(result, x, axes, keepdims), x.aval.dtype)


@located
def norm(
    x: ArrayLike,
    ord: Order = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Array:
    """The norm of vectors or matrices.

    Args:
      x: array; integers become floats. Without `axis` it has one or two axes; if `ord` is None too,
        the norm is the square root of the sum of |x|² over all elements.
      ord: as in `vector_norm` or `matrix_norm`; by default 2 or 'fro'.
      axis: one axis of vectors, or two axes of matrices.
      keepdims: keep these axes, with length one.
    Returns: array without the axes, of the dtype of the real part of `x`.
    Raises: ShapeError: more than two axes, or a minimum of no elements. ValueError: an unknown
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
      x: array [batch…, m, n]; square unless p is None, 2 or -2.
      p: the norm, as in `matrix_norm`; for None and 2 the ratio of the largest singular value to
        the smallest one, for -2 its inverse.
    Returns: array [batch…] of the dtype of the real part of `x`; inf for singular matrices.
    Raises: ShapeError: the matrices are empty or not square, or `x` has fewer than two axes.
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
        s = values_of(in_wide_dtype(a))
        largest_value, smallest_value = s[..., 0], s[..., -1]
        ratio = smallest_value / largest_value if p == -2 else largest_value / smallest_value
    else:
        operand, axes = in_wide_dtype(a), (a.ndim - 2, a.ndim - 1)
        largest_value = _norm_of_matrices("cond", operand, p, axes, False)
        ratio = largest_value * _norm_of_matrices("cond", inv(operand), p, axes, False)
    has_no_nan = ~reduce_or(ne(a, a), axes=(a.ndim - 2, a.ndim - 1))
    singular = has_no_nan & ne(ratio, ratio)
    return rounded(selection.select_n(singular, ratio, literal(np.inf, ratio.dtype)), a.dtype)


@located
def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    tol: ArrayLike | None = None,
) -> Array:
    """The rank of matrices: the number of singular values above a tolerance.

    Args:
      M: array [batch…, m, n]; an array of fewer than two axes has rank 1 unless it is zero.
      rtol: singular values up to `rtol` times the largest one count as zero: a number, or one for
        each matrix. By default eps · max(m, n).
      hermitian: `M` is Hermitian; the singular values are computed from the eigenvalues.
      tol: another name of `rtol`, as in JAX. (In NumPy `tol` is absolute.)
    Returns: array [batch…] of the default integer dtype.
    Raises: ValueError: both `rtol` and `tol` are given.
    Example:
      >>> np.linalg.matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]]))
      Array(1, dtype=int32)
    Source: NumPy documentation, `numpy.linalg.matrix_rank`.
    """
    ratio = _alias("matrix_rank", rtol, tol, "tol")
    v = value("matrix_rank", M, "M")
    if v.ndim < 2:
        return cast(any_of(v != 0), dtypes.default_int())
    x = in_wide_dtype(matrices("matrix_rank", v, "M", square=bool(hermitian)))
    s = arithmetic.abs_(lax_linalg.eigh(x)[1]) if hermitian else values_of(x)
    is_nonzero = cast(gt(s, _threshold("matrix_rank", s, ratio, x)), dtypes.default_int())
    return structural.reduce_sum(is_nonzero, axes=(is_nonzero.ndim - 1,))
