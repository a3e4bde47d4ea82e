"""Determinants with derivatives that hold at singular matrices.

The derivative of a determinant is made of cofactors: det(a) a⁻¹, if a is far from singular.
Elsewhere they come from singular vectors: with a = U s Vᴴ and b = Uᴴ a V, which is diagonal, det(a)
is a constant of size one times det(b); and near diagonal matrices det(b) and the cofactors are
polynomials of which few terms are left. Vectors are constants in that, so any choice of them does.
"""

import functools
from typing import Any

from ... import dtypes
from ...core.array import literal
from ...lax import linalg as lax_linalg
from ...lax.control_flow import switch
from ...primitives import arithmetic, complex_numbers, selection, structural
from ...primitives.comparison import eq, ge, gt, lt, ne
from ...primitives.creation import iota
from ...primitives.linalg.determinants import diagonal, factored_det, factored_slogdet
from ...primitives.linalg.factored import factored_inverse
from ...primitives.reduction import reduce_max, reduce_min
from ...primitives.slicing import concatenate
from ...transforms.custom_batching import custom_vmap
from ...transforms.custom_derivatives import custom_jvp
from ..indexing import flatnonzero
from ..products import matmul
from ..promotion import cast
from ..running import cumprod
from .operands import adjoint, identities, turned


def determinant(a: Any) -> Any:
    """The determinants of values in a dtype that is computed in."""
    factors, pivots, order = lax_linalg.lu(selection.stop_gradient(a))
    return _determinant_by(a, factors, pivots, order)


def sign_and_logarithm(a: Any) -> Any:
    """The determinants as (sign, log |det|)."""
    factors, pivots, order = lax_linalg.lu(selection.stop_gradient(a))
    return _logarithm_by(a, factors, pivots, order)


# --- det ---


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
    """The derivatives of determinants by each element."""
    n = a.shape[-1]
    if n <= 1:
        return structural.full(a.aval.strong(), 1)
    size = arithmetic.abs_(diagonal(factors))
    last = (size.ndim - 1,)
    least = reduce_min(size, axes=last)
    bound = reduce_max(size, axes=last) * float(dtypes.finfo(a.dtype).eps) ** 0.5
    singular = ~(ge(least, bound) & ne(least, least * 0))
    few = 8 + singular.size // 128
    left = structural.reduce_sum(cast(singular, dtypes.int32), axes=tuple(range(singular.ndim)))
    some, many = (cast(gt(left, literal(k, dtypes.int32)), dtypes.int32) for k in (0, few))
    ways: list[Any] = [_by_inverse, functools.partial(_by_both, few), _by_singular_vectors]
    if few >= singular.size:
        del ways[1]
        many = literal(0, dtypes.int32)
    return switch(some + many, ways, singular, value, a, factors, order)


@_cofactors.def_vmap
def _(axis_size: int, in_batched: Any, *args: Any) -> Any:
    """Those of one stack: a mapped choice would compute all that there is to choose from."""
    pairs = zip(args, in_batched, strict=True)
    return _cofactors(
        *(x if b else structural.widen(x, (axis_size, *x.shape)) for x, b in pairs)
    ), True


def _by_inverse(singular: Any, value: Any, a: Any, factors: Any, order: Any) -> Any:
    inverse = turned(factored_inverse(factors, order, a))
    return inverse * structural.reshape(value, shape=(*value.shape, 1, 1))


def _by_singular_vectors(singular: Any, value: Any, a: Any, factors: Any, order: Any) -> Any:
    return _cofactors_by_vectors(a)


def _by_both(few: int, singular: Any, value: Any, a: Any, factors: Any, order: Any) -> Any:
    """By singular vectors those of at most so many singular matrices: vectors take a hundred times
    as long. In their place the identity is inverted, of which nothing is infinite."""
    n, count = a.shape[-1], singular.size
    wide = structural.broadcast_in_dim(singular, shape=a.shape, dims=tuple(range(singular.ndim)))
    a_, factors = (selection.select_n(wide, x, identities(a.aval, n)) for x in (a, factors))
    found = _by_inverse(singular, value, a_, factors, order)
    found, stack = (structural.reshape(x, shape=(count, n, n)) for x in (found, a))
    places = flatnonzero(singular, size=few, fill_value=count)
    special = _cofactors_by_vectors(stack.at[places].get(mode="clip"))
    found = found.at[places].set(special, mode="drop")
    return structural.reshape(found, shape=a.shape)


def _cofactors_by_vectors(a: Any) -> Any:
    n = a.shape[-1]
    u, _, vh = lax_linalg.svd(selection.stop_gradient(a))
    uh, v = adjoint(u), adjoint(vh)
    phase = determinant(matmul(u, vh))
    b = matmul(matmul(uh, a), v)
    line: Any = diagonal(b)
    last = line.ndim - 1
    ones = structural.full(line.aval.update(shape=(*line.shape[:-1], 1)), 1)
    before = concatenate(ones, cumprod(line, -1)[..., :-1], dimension=last)
    after = cumprod(line[..., ::-1], -1)[..., ::-1]
    after = concatenate(after[..., 1:], ones, dimension=last)
    # between[i, j]: the product of line[i + 1] … line[j - 1], for i < j
    rows = iota(dtype=dtypes.int32, shape=(n, n), dimension=0)
    columns = iota(dtype=dtypes.int32, shape=(n, n), dimension=1)
    above = lt(rows, columns)
    wide = structural.broadcast_in_dim(line, shape=b.shape, dims=(*range(last), last + 1))
    running = cumprod(selection.select_n(above, literal(1, a.dtype), wide), -1)
    ones = structural.full(b.aval.update(shape=(*b.shape[:-1], 1)), 1)
    between = concatenate(ones, running[..., :-1], dimension=last + 1)
    pairs = before[..., :, None] * between * after[..., None, :]
    pairs = selection.select_n(above, literal(0, a.dtype), pairs)
    pairs = pairs + turned(pairs)
    alone = (before * after)[..., None, :]
    adjugate = selection.select_n(eq(rows, columns), -b * pairs, alone * _ones(b))
    return turned(matmul(matmul(v, adjugate), uh)) * phase[..., None, None]


def _ones(x: Any) -> Any:
    return structural.full(x.aval.strong(), 1)


# --- slogdet ---


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
    turn = complex_numbers.complex_(change.imag * 0, change.imag)
    return (sign, logarithm), (sign * turn, change.real)
