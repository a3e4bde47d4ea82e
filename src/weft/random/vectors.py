"""Samples that are vectors: of a generalised normal distribution, and from balls."""

from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..errors import ShapeError
from ..numpy.axes import shape_tuple, whole_number
from ..primitives import arithmetic, comparison, structural, transcendental
from ..primitives.selection import where
from ..transforms.jit.function import jit
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .continuous import log1p
from .distributions import coins, float_dtype, parameter, unit
from .gammas import gammas
from .prng import one_key, several

__all__ = ["ball", "generalized_normal"]

pow_ = transcendental.pow_


@located
def generalized_normal(
    key: ArrayLike, p: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None
) -> Array:
    """Samples with density proportional to exp(-|x|**p).

    Args:
      key: a key.
      p: the exponent, a positive scalar: 1 is `laplace`, 2 a normal distribution.
      shape: the shape of the result.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape`. Differentiable in `p`.
    Raises: TypeError: not a key, or not a float dtype. ValueError: p isn't a scalar.
    Example:
      >>> random.generalized_normal(random.PRNGKey(0), 1.5, (3,)).shape
      (3,)
    Source: |x|**p has a gamma distribution with parameter 1/p.
    """
    name = "generalized_normal"
    data, dtype = one_key(name, key), float_dtype(name, dtype)
    return _signed(data, _exponent(name, p, dtype), shape=shape_tuple(name, shape))


def _exponent(name: str, p: Any, dtype: Any) -> Any:
    exponent = parameter(name, p, "p", dtype)
    if exponent.ndim:
        raise ShapeError(f"{name}: p must be a scalar; got {exponent.aval}\n  fix: vmap over p")
    return exponent


def _generalized(key: Any, p: Any, *, shape: tuple[int, ...]) -> Any:
    for_size, for_sign = several(key)
    sizes = gammas(for_size, 1.0 / p, shape, logarithm=False)
    half = literal(0.5, p.dtype)
    minus = comparison.eq(coins(for_sign, half, shape=shape), literal(False, dtypes.bool_))
    one = structural.full(aval(shape, p.dtype), 1.0)
    return where(minus, -one, one) * pow_(sizes, structural.widen(1.0 / p, shape))


_signed = jit(_generalized, static_argnames="shape")


@located
def ball(
    key: ArrayLike,
    d: int,
    p: ArrayLike = 2,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Points of the unit ball of the norm (Σ |x|**p)**(1/p), each part of it as likely as another.

    Args:
      key: a key.
      d: the dimension, 0 or more.
      p: the exponent of the norm, a positive scalar.
      shape: the shape of the result without its last axis.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape` and an axis of length d. Differentiable in `p`.
    Raises: TypeError: not a key, not an integer, or not a float dtype. ValueError: d is negative,
      or p isn't a scalar.
    Example:
      >>> bool((np.linalg.norm(random.ball(random.PRNGKey(0), 3, shape=(5,)), axis=-1) < 1).all())
      True
    Source: Barthe, Guédon, Mendelson, Naor (2005), “A probabilistic approach to the geometry of
      the l_p^n-ball”: generalised normal numbers, divided by the p-norm of themselves and one
      exponential number.
    """
    data, dtype = one_key("ball", key), float_dtype("ball", dtype)
    dimension = whole_number("ball", d, "d")
    if dimension < 0:
        raise ShapeError(f"ball: d must not be negative; got {dimension}")
    exponent = _exponent("ball", p, dtype)
    return _inside(data, exponent, d=dimension, shape=shape_tuple("ball", shape))


def _ball(key: Any, p: Any, *, d: int, shape: tuple[int, ...]) -> Any:
    for_parts, for_rest = several(key)
    parts = _generalized(for_parts, p, shape=(*shape, d))
    rest = -log1p(-unit(for_rest, shape=shape, dtype=p.dtype))
    powers = pow_(arithmetic.abs_(parts), structural.widen(p, (*shape, d)))
    total = structural.reduce_sum(powers, axes=(len(shape),)) + rest
    norm = pow_(total, structural.widen(1.0 / p, shape))
    return parts / structural.reshape(norm, shape=(*shape, 1))


_inside = jit(_ball, static_argnames=("d", "shape"))
