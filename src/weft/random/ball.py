"""Points that are uniformly distributed in a ball of the p-norm: ball."""

from typing import Any

from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..numpy.axes import as_int, shape_tuple
from ..primitives import arithmetic, structural
from ..primitives.exponential import log1p, pow_
from ..transforms.jit.function import jit
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import float_dtype
from .generalized_normal import _generalized, scalar_exponent
from .keys import one_key, subkey_list
from .uniform import unit_uniform

__all__ = ["ball"]


@located
def ball(
    key: ArrayLike,
    d: int,
    p: ArrayLike = 2,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Uniformly distributed points in the unit ball of the norm (Σ |x|**p)**(1/p).

    Args:
      key: a key.
      d: the dimension, 0 or more.
      p: the exponent of the norm, a positive scalar.
      shape: the shape of the result without its last axis.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape` and an axis of length d. Differentiable in `p`.
    Raises: TypeError: key, d or dtype has the wrong type. ValueError: d is negative, or p is not a
      scalar.
    Example:
      >>> bool((np.linalg.norm(random.ball(random.PRNGKey(0), 3, shape=(5,)), axis=-1) < 1).all())
      True
    Source: Barthe, Guédon, Mendelson, Naor (2005), “A probabilistic approach to the geometry of
      the l_p^n-ball”: generalised normal numbers, divided by the p-norm of themselves and one
      exponential number.
    """
    data, dtype = one_key("ball", key), float_dtype("ball", dtype)
    dimension = as_int("ball", d, "d")
    if dimension < 0:
        raise ShapeError(f"ball: d must not be negative; got {dimension}")
    exponent = scalar_exponent("ball", p, dtype)
    return _inside(data, exponent, d=dimension, shape=shape_tuple("ball", shape))


def _ball(key: Any, p: Any, *, d: int, shape: tuple[int, ...]) -> Any:
    coordinates_key, remainder_key = subkey_list(key)
    coordinates = _generalized(coordinates_key, p, shape=(*shape, d))
    remainder = -log1p(-unit_uniform(remainder_key, shape=shape, dtype=p.dtype))
    powers = pow_(arithmetic.abs_(coordinates), structural.widen(p, (*shape, d)))
    total = structural.reduce_sum(powers, axes=(len(shape),)) + remainder
    norm = pow_(total, structural.widen(1.0 / p, shape))
    return coordinates / structural.reshape(norm, shape=(*shape, 1))


_inside = jit(_ball, static_argnames=("d", "shape"))
