"""scaled_dot: products of narrow arrays, with a scale for each run of elements."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..primitives.structural import broadcast_in_dim, convert_element_type, reshape
from ..typing import ArrayLike, DTypeLike
from .contraction import DotDimensionNumbers, dot_general

__all__ = ["scaled_dot"]


@located
def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The product of lhs · lhs_scale and rhs · rhs_scale; a scale counts for a run of elements.

    Args:
      lhs, rhs: arrays of real dtypes; floats of 8 and 4 bits are what it is for.
      lhs_scale, rhs_scale: arrays of as many axes; a length divides that of the operand, and each
        element is the scale of a run of the quotient's length. `None` is 1.
      dimension_numbers: as of `dot_general`; by default the product of matrices [m, k] and [k, n],
        or of stacks of them.
      preferred_element_type: the dtype of the result, bfloat16 by default; sums are of float32, or
        float64 for it.
    Returns: array [batch…, lhs…, rhs…].
    Raises: ShapeError: shapes or dtypes don't fit.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> x, scale = np.ones((1, 4), "float32"), np.array([[1.0, 0.5]], "float32")
      >>> lax.scaled_dot(x, x.T, lhs_scale=scale).tolist()
      [[3.0]]
    Source: JAX documentation, `jax.lax.scaled_dot`.
    """
    name = "scaled_dot"
    x, y = as_value(lhs), as_value(rhs)
    if dimension_numbers is None:
        if x.ndim != y.ndim or x.ndim not in (2, 3):
            raise ShapeError(
                f"{name}: without dimension_numbers expected two matrices, or stacks of them; got "
                f"{x.aval} and {y.aval}"
            )
        n = x.ndim
        dimension_numbers = ((n - 1,), (n - 2,)), (tuple(range(n - 2)), tuple(range(n - 2)))
    wish = np.dtype(dtypes.bfloat16) if preferred_element_type is None else preferred_element_type
    dtype = dtypes.requested_dtype(wish, name)
    wide = dtypes.float64 if dtype == dtypes.float64 else dtypes.float32
    a, b = _scaled(name, "lhs", x, lhs_scale, wide), _scaled(name, "rhs", y, rhs_scale, wide)
    found = dot_general(a, b, dimension_numbers)
    return convert_element_type(found, dtype=dtype)


def _scaled(name: str, argument: str, x: Value, scale: ArrayLike | None, wide: Any) -> Any:
    """An operand times its scales, in a dtype that holds the products."""
    if dtypes.is_complex(x.dtype):
        raise ShapeError(f"{name}: {argument} must be real; got {x.aval}")
    found = convert_element_type(x, dtype=wide)
    if scale is None:
        return found
    s = as_value(scale)
    fits = s.ndim == x.ndim and all(
        m == n or (m and n % m == 0) for m, n in zip(s.shape, x.shape, strict=True)
    )
    if dtypes.is_complex(s.dtype) or not fits:
        raise ShapeError(
            f"{name}: {argument}_scale must be real, of lengths that divide those of {x.aval}; got "
            f"{s.aval}"
        )
    runs = [k for m, n in zip(s.shape, x.shape, strict=True) for k in (m, n // m if m else 1)]
    s = convert_element_type(s, dtype=wide)
    s = broadcast_in_dim(s, shape=tuple(runs), dims=tuple(range(0, 2 * s.ndim, 2)))
    return found * reshape(s, shape=x.shape)
