"""The loop of transformed rejection: attempts for all elements, until each has been accepted."""

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..core.array import literal
from ..core.aval import aval
from ..lax.loops import while_loop
from ..primitives import arithmetic, bitwise, comparison, reduction, selection, structural
from .distributions import unit
from .prng import several


def accepted(
    attempt: Callable[[Any, Any, Any], tuple[Any, Any, Any]],
    key: Any,
    shape: tuple[int, ...],
    dtype: Any,
) -> Any:
    """Samples of a shape, each of the first attempt that succeeded.

    Args:
      attempt: of a uniform number u in [-0.5, 0.5), its distance from the ends, and another v in
        [0, 1), returns a sample, the bound for v below which it is taken at once if u isn't near an
        end, and whether it is taken otherwise.
    Source: Hörmann (1993), “The transformed rejection method for generating Poisson random
      variables”.
    """
    axes = tuple(range(len(shape)))
    start = (
        structural.full(aval(shape, dtype), -1.0),
        structural.zeros(aval(shape, dtypes.bool_)),
        key,
    )

    def more(state: Any) -> Any:
        return bitwise.bitwise_not(reduction.reduce_and(state[1], axes=axes))

    def step(state: Any) -> Any:
        sample, done, key = state
        key, for_u, for_v = several(key, 3)
        u = unit(for_u, shape=shape, dtype=dtype) - 0.5
        v = unit(for_v, shape=shape, dtype=dtype)
        inside = 0.5 - arithmetic.abs_(u)
        new, safe, otherwise = attempt(u, inside, v)
        middle = comparison.ge(inside, literal(0.07, dtype))
        quickly = bitwise.bitwise_and(middle, comparison.le(v, safe))
        accept = bitwise.bitwise_or(quickly, otherwise)
        return selection.where(accept, new, sample), bitwise.bitwise_or(done, accept), key

    return while_loop(more, step, start)[0]
