"""The generalized normal distribution, whose density is proportional to exp(-|x|**p):
generalized_normal. |x|**p has a gamma distribution.
"""

from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..errors import ShapeError
from ..numpy.axes import shape_tuple
from ..primitives import comparison, creation, structural
from ..primitives.exponential import pow_
from ..primitives.selection import where
from ..transforms.jit.function import jit
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import float_dtype, parameter
from .discrete import bernoulli_samples
from .gamma import gammas
from .keys import one_key, subkey_list

__all__ = ["generalized_normal"]


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
    Raises: TypeError: not a key, or not a float dtype. ValueError: p is not a scalar.
    Example:
      >>> random.generalized_normal(random.PRNGKey(0), 1.5, (3,)).shape
      (3,)
    Source: |x|**p has a gamma distribution with parameter 1/p.
    """
    name = "generalized_normal"
    data, dtype = one_key(name, key), float_dtype(name, dtype)
    return _signed(data, scalar_exponent(name, p, dtype), shape=shape_tuple(name, shape))


def scalar_exponent(name: str, p: Any, dtype: Any) -> Any:
    exponent = parameter(name, p, "p", dtype)
    if exponent.ndim:
        raise ShapeError(f"{name}: p must be a scalar; got {exponent.aval}\n  fix: vmap over p")
    return exponent


def _generalized(key: Any, p: Any, *, shape: tuple[int, ...]) -> Any:
    size_key, sign_key = subkey_list(key)
    magnitudes = gammas(size_key, 1.0 / p, shape, logarithm=False)
    half = literal(0.5, p.dtype)
    is_negative = comparison.eq(
        bernoulli_samples(sign_key, half, shape=shape), literal(False, dtypes.bool_)
    )
    one = creation.full(aval(shape, p.dtype), 1.0)
    return where(is_negative, -one, one) * pow_(magnitudes, structural.widen(1.0 / p, shape))


_signed = jit(_generalized, static_argnames="shape")
