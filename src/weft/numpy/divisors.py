"""Greatest common divisors and least common multiples."""

from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..lax.loops import while_loop
from ..primitives import arithmetic, comparison, selection, structural
from ..typing import ArrayLike
from .creation import broadcast
from .promotion import check_ranks, promote_values, strong
from .ufunc_options import takes_options

__all__ = ["gcd", "lcm"]


def _whole_pair(name: str, x1: Any, x2: Any) -> Any:
    x, y = map(strong, promote_values(name, x1, x2))
    if not dtypes.is_integer(x.dtype):
        raise ShapeError(f"{name}: expected integer operands; got {x.aval} and {y.aval}")
    shape = structural.broadcast_shape(name, (x.aval, y.aval))
    return broadcast(name, x, shape), broadcast(name, y, shape)


def _size(x: Any) -> Any:
    return arithmetic.abs_(x) if dtypes.is_signed(x.dtype) else x


@takes_options
@located
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Greatest common divisor, by Euclid's algorithm.

    Args:
      x1, x2: integer arrays that broadcast together.
    Returns: array of the broadcast shape.
    Example:
      >>> np.gcd(np.array([12, 7]), 8)
      Array([4, 1], dtype=int32)
    """
    check_ranks("gcd", x1, x2)
    x, y = _whole_pair("gcd", x1, x2)
    zero = literal(0, x.dtype)

    def going(pair: Any) -> Any:
        return comparison.ne(pair[1], zero).any()

    def step(pair: Any) -> Any:
        x, y = pair
        done = comparison.eq(y, zero)
        rest = arithmetic.rem(x, selection.select_n(done, y, literal(1, x.dtype)))
        return selection.select_n(done, y, x), selection.select_n(done, rest, zero)

    return while_loop(going, step, (_size(x), _size(y)))[0]  # type: ignore[no-any-return]


@takes_options
@located
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Least common multiple.

    Args:
      x1, x2: integer arrays that broadcast together.
    Returns: array of the broadcast shape.
    Example:
      >>> np.lcm(np.array([4, 3]), 6)
      Array([12,  6], dtype=int32)
    """
    check_ranks("lcm", x1, x2)
    x, y = _whole_pair("lcm", x1, x2)
    x, y = _size(x), _size(y)
    divisor = gcd(x, y)
    none = comparison.eq(divisor, literal(0, x.dtype))
    safe = selection.select_n(none, divisor, literal(1, x.dtype))
    return arithmetic.mul(x, arithmetic.div(y, safe))  # type: ignore[no-any-return]
