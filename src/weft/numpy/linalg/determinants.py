"""Determinants, det and slogdet, with correct derivatives at singular matrices."""

import functools
from typing import Any, NamedTuple

from ... import dtypes
from ...core.array import Array, literal
from ...core.source import located
from ...lax import linalg as lax_linalg
from ...lax.conditionals import switch
from ...primitives import arithmetic, complex_numbers, creation, selection, structural
from ...primitives.comparison import eq, ge, gt, lt, ne
from ...primitives.creation import iota
from ...primitives.linalg.determinants import diagonal, factored_det, factored_slogdet
from ...primitives.linalg.lu_solve import factored_inverse
from ...primitives.reductions import reduce_max, reduce_min
from ...primitives.slicing import concatenate
from ...transforms.custom_batching import custom_vmap
from ...transforms.custom_derivatives import custom_jvp
from ...typing import ArrayLike
from ..cumulative import cumprod
from ..indexing import flatnonzero
from ..plans import composite
from ..products import matmul
from ..promotion import cast
from .operands import adjoint, identities, in_wide_dtype, matrices, rounded, turned

__all__ = ["det", "slogdet"]


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Array
    logabsdet: Array


def determinant(a: Any) -> Any:
    """The determinants of matrices in the computation dtype."""
    factors, pivots, order = lax_linalg.lu(selection.stop_gradient(a))
    return _determinant_by(a, factors, pivots, order)


def sign_and_logarithm(a: Any) -> Any:
    """The determinants of matrices as (sign, log |det|)."""
    factors, pivots, order = lax_linalg.lu(selection.stop_gradient(a))
    return _logarithm_by(a, factors, pivots, order)


# --- derivative of det ---


@custom_jvp
def _determinant_by(a: Any, factors: Any, pivots: Any, order: Any) -> Any:
    return factored_det(factors, pivots, a)


@_determinant_by.defjvp
def _(primals: Any, tangents: Any) -> Any:
    out = _determinant_by(*primals)
    changes = _cofactors(out, *primals) * tangents[0]
    return out, structural.reduce_sum(changes, axes=(changes.ndim - 2, changes.ndim - 1))


@custom_vmap
def _cofactors(value: Any, a: Any, factors: Any, pivots: Any, order: Any) -> Any:
    """The cofactors of matrices, which are the derivatives of the determinants."""
    n = a.shape[-1]
    if n <= 1:
        return creation.full(a.aval.strong(), 1)
    magnitudes = arithmetic.abs_(diagonal(factors))
    last_axis = (magnitudes.ndim - 1,)
    smallest = reduce_min(magnitudes, axes=last_axis)
    bound = reduce_max(magnitudes, axes=last_axis) * float(dtypes.finfo(a.dtype).eps) ** 0.5
    singular = ~(ge(smallest, bound) & ne(smallest, smallest * 0))
    max_singular = 8 + singular.size // 128
    singular_count = structural.reduce_sum(
        cast(singular, dtypes.int32), axes=tuple(range(singular.ndim))
    )
    any_singular, exceeds_limit = (
        cast(gt(singular_count, literal(k, dtypes.int32)), dtypes.int32) for k in (0, max_singular)
    )
    methods: list[Any] = [
        _by_inverse,
        functools.partial(_by_both, max_singular),
        _by_singular_vectors,
    ]
    if max_singular >= singular.size:
        del methods[1]
        exceeds_limit = literal(0, dtypes.int32)
    return switch(any_singular + exceeds_limit, methods, singular, value, a, factors, order)


@_cofactors.def_vmap
def _(axis_size: int, in_batched: Any, *args: Any) -> Any:
    """The cofactors of one stack; separate, because a mapped `switch` computes all its branches."""
    pairs = zip(args, in_batched, strict=True)
    return _cofactors(
        *(x if b else structural.widen(x, (axis_size, *x.shape)) for x, b in pairs)
    ), True


def _by_inverse(singular: Any, value: Any, a: Any, factors: Any, order: Any) -> Any:
    inverse = turned(factored_inverse(factors, order, a))
    return inverse * structural.reshape(value, shape=(*value.shape, 1, 1))


def _by_singular_vectors(singular: Any, value: Any, a: Any, factors: Any, order: Any) -> Any:
    return _cofactors_by_vectors(a)


def _by_both(max_singular: int, singular: Any, value: Any, a: Any, factors: Any, order: Any) -> Any:
    """Computes the cofactors of at most `max_singular` singular matrices by singular vectors, which
    is much slower, and those of the others by inverses. For the inverses, the identity replaces
    singular matrices, so that all values are finite."""
    n, count = a.shape[-1], singular.size
    mask = structural.broadcast_in_dim(singular, shape=a.shape, dims=tuple(range(singular.ndim)))
    regular, factors = (selection.select_n(mask, x, identities(a.aval, n)) for x in (a, factors))
    cofactors = _by_inverse(singular, value, regular, factors, order)
    cofactors, stack = (structural.reshape(x, shape=(count, n, n)) for x in (cofactors, a))
    positions = flatnonzero(singular, size=max_singular, fill_value=count)
    cofactors_of_singular = _cofactors_by_vectors(stack.at[positions].get(mode="clip"))
    cofactors = cofactors.at[positions].set(cofactors_of_singular, mode="drop")
    return structural.reshape(cofactors, shape=a.shape)


def _cofactors_by_vectors(a: Any) -> Any:
    n = a.shape[-1]
    u, _, vh = lax_linalg.svd(selection.stop_gradient(a))
    uh, v = adjoint(u), adjoint(vh)
    phase = determinant(matmul(u, vh))
    b = matmul(matmul(uh, a), v)
    diagonal_elements: Any = diagonal(b)
    last_axis = diagonal_elements.ndim - 1
    ones = creation.full(diagonal_elements.aval.update(shape=(*diagonal_elements.shape[:-1], 1)), 1)
    product_before = concatenate(
        ones, cumprod(diagonal_elements, -1)[..., :-1], dimension=last_axis
    )
    product_after = cumprod(diagonal_elements[..., ::-1], -1)[..., ::-1]
    product_after = concatenate(product_after[..., 1:], ones, dimension=last_axis)
    # product_between[i, j]: the product of diagonal elements i + 1 … j - 1, for i < j
    rows = iota(dtype=dtypes.int32, shape=(n, n), dimension=0)
    columns = iota(dtype=dtypes.int32, shape=(n, n), dimension=1)
    is_upper = lt(rows, columns)
    diagonal_columns = structural.broadcast_in_dim(
        diagonal_elements, shape=b.shape, dims=(*range(last_axis), last_axis + 1)
    )
    products = cumprod(selection.select_n(is_upper, literal(1, a.dtype), diagonal_columns), -1)
    ones = creation.full(b.aval.update(shape=(*b.shape[:-1], 1)), 1)
    product_between = concatenate(ones, products[..., :-1], dimension=last_axis + 1)
    pair_products = product_before[..., :, None] * product_between * product_after[..., None, :]
    pair_products = selection.select_n(is_upper, literal(0, a.dtype), pair_products)
    pair_products = pair_products + turned(pair_products)
    diagonal_cofactors = (product_before * product_after)[..., None, :]
    adjugate = selection.select_n(
        eq(rows, columns), -b * pair_products, diagonal_cofactors * _ones(b)
    )
    return turned(matmul(matmul(v, adjugate), uh)) * phase[..., None, None]


def _ones(x: Any) -> Any:
    return creation.full(x.aval.strong(), 1)


# --- derivative of slogdet ---


@custom_jvp
def _logarithm_by(a: Any, factors: Any, pivots: Any, order: Any) -> Any:
    return tuple(factored_slogdet(factors, pivots, a))


@_logarithm_by.defjvp
def _(primals: Any, tangents: Any) -> Any:
    a, factors, _, order = primals
    sign, logarithm = _logarithm_by(*primals)
    inverse = turned(factored_inverse(factors, order, a))
    change = structural.reduce_sum(inverse * tangents[0], axes=(a.ndim - 2, a.ndim - 1))
    if not dtypes.is_complex(a.dtype):
        return (sign, logarithm), (sign * 0, change)
    phase_tangent = complex_numbers.complex_(change.imag * 0, change.imag)
    return (sign, logarithm), (sign * phase_tangent, change.real)


# --- public functions ---


@located
def det(a: ArrayLike) -> Array:
    """The determinant of matrices.

    The first and second derivatives are also correct at singular matrices.

    Args:
      a: array [batch…, n, n].
    Returns: array [batch…] of the dtype of `a`.
    Raises: ShapeError: the matrices are not square.
    Example:
      >>> np.linalg.det(np.array([[1.0, 2.0], [3.0, 4.0]]))
      Array(-2., dtype=float32)
    Source: NumPy documentation, `numpy.linalg.det`.
    """
    return _det(matrices("det", a, square=True))


def _determinant(a: Any) -> Any:
    return rounded(determinant(in_wide_dtype(a)), a.dtype)


_det = composite(_determinant)


@located
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The sign and the logarithm of the absolute value of the determinant of matrices.

    Args:
      a: array [batch…, n, n].
      method: 'lu' (the default) or 'qr'; both use the LU decomposition.
    Returns: SlogdetResult(sign, of the dtype of `a`; logabsdet, of the dtype of its real part); 0
      and -inf for singular matrices.
    Raises: ShapeError: the matrices are not square. ValueError: an unknown method.
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
    return tuple([rounded(x, a.dtype) for x in sign_and_logarithm(in_wide_dtype(a))])


_slogdet = composite(_sign_and_logarithm)
