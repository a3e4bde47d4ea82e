"""Greatest common divisors and least common multiples, by Euclid's algorithm: gcd, lcm."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..lax.loops import while_loop
from ..primitives import arithmetic, comparison, selection, structural
from ..typing import ArrayLike
from .creation import broadcast
from .floating_point import UNSIGNED
from .plans import are_few, composite, is_native
from .promotion import cast, check_ranks, promote_values, strong
from .ufunc_options import takes_options

__all__ = ["gcd", "lcm"]


def _integer_pair(name: str, x1: Any, x2: Any) -> Any:
    x, y = map(strong, promote_values(name, x1, x2))
    if not dtypes.is_integer(x.dtype):
        raise ShapeError(f"{name}: expected integer operands; got {x.aval} and {y.aval}")
    return x, y


def _magnitudes(name: str, *xs: Any) -> Any:
    """Absolute values as unsigned integers: |-128| is 128, which int8 cannot hold."""
    shape = structural.broadcast_shape(name, [x.aval for x in xs])
    dtype = xs[0].dtype
    if dtypes.is_signed(dtype):
        bits = UNSIGNED[dtype.itemsize]
        xs = tuple([cast(arithmetic.abs_(x), bits) for x in xs])
    return [broadcast(name, x, shape) for x in xs]


def _euclid(x: Any, y: Any) -> Any:
    """The greatest common divisor of unsigned numbers, by Euclid's algorithm."""
    zero, one = literal(0, x.dtype), literal(1, x.dtype)

    def is_unfinished(pair: Any) -> Any:
        return comparison.ne(pair[1], zero).any()

    def step(pair: Any) -> Any:
        x, y = pair
        is_zero = comparison.eq(y, zero)
        remainder = arithmetic.rem(x, selection.select_n(is_zero, y, one))
        return selection.select_n(is_zero, y, x), selection.select_n(is_zero, remainder, zero)

    return while_loop(is_unfinished, step, (x, y))[0]


def _gcd(x: Any, y: Any) -> Any:
    return cast(_euclid(*_magnitudes("gcd", x, y)), x.dtype)


def _lcm(x: Any, y: Any) -> Any:
    m, n = _magnitudes("lcm", x, y)
    divisor = _euclid(m, n)
    is_zero = comparison.eq(divisor, literal(0, m.dtype))
    nonzero_divisor = selection.select_n(is_zero, divisor, literal(1, m.dtype))
    return cast(arithmetic.mul(m, arithmetic.div(n, nonzero_divisor)), x.dtype)


def _by_numpy(function: Any) -> Any:
    def kernel(x: Any, y: Any) -> Any:
        return function if is_native(x, y) and are_few(x, y) else None

    return kernel


_divisor = composite(_gcd, evaluate=_by_numpy(np.gcd))
_multiple = composite(_lcm, evaluate=_by_numpy(np.lcm))


@takes_options
@located
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Greatest common divisor, element by element, by Euclid's algorithm.

    Args:
      x1, x2: integer arrays that broadcast together.
    Returns: array of the broadcast shape.
    Example:
      >>> np.gcd(np.array([12, 7]), 8)
      Array([4, 1], dtype=int32)
    """
    check_ranks("gcd", x1, x2)
    return _divisor(*_integer_pair("gcd", x1, x2))


@takes_options
@located
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Least common multiple, element by element.

    Args:
      x1, x2: integer arrays that broadcast together.
    Returns: array of the broadcast shape.
    Example:
      >>> np.lcm(np.array([4, 3]), 6)
      Array([12,  6], dtype=int32)
    """
    check_ranks("lcm", x1, x2)
    return _multiple(*_integer_pair("lcm", x1, x2))
