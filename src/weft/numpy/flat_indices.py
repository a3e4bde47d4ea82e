"""Places in row-major order, and the indices that name them."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from .. import dtypes, errors
from ..core.array import Array, literal
from ..core.source import located
from ..core.value import Value
from ..primitives.arithmetic import mul, sub
from ..primitives.comparison import lt
from ..primitives.selection import clamp, where
from ..primitives.structural import add, convert_element_type
from ..typing import ArrayLike, DTypeLike, Shape
from .axes import shape_tuple
from .creation import wanted_dtype
from .index_arrays import run_time_places
from .indexing import coordinates
from .promotion import cast
from .taking import indices_in, integers

__all__ = ["ravel_multi_index", "unravel_index"]


@located
def unravel_index(indices: ArrayLike, shape: Shape, order: str = "C") -> tuple[Array, ...]:
    """The index along each axis for places in row-major order.

    Args:
      indices: integers; negative ones count from the end. Out of range is the nearest place.
      shape: of the array that they are places in; it may be traced.
      order: "C", or "F" for column-major places.
    Returns: an integer array for each axis.
    Raises: ValueError: another order.
    Example:
      >>> [i.tolist() for i in np.unravel_index(np.array([5, 11]), (3, 4))]
      [[1, 2], [1, 3]]
    """
    if order == "F":
        one = isinstance(shape, int) or getattr(shape, "ndim", 1) == 0
        return unravel_index(indices, shape if one else shape[::-1])[::-1]
    if order != "C":
        raise ValueError(f"unravel_index: order must be 'C' or 'F'; got {order!r}")
    i = integers("unravel_index", indices)
    sides: Any = shape if isinstance(shape, (tuple, list)) else (shape,)
    if any(isinstance(n, Value) and n.concrete() is None for n in sides):
        return _unravelled(i, sides[0] if len(sides) == 1 and sides[0].ndim else sides)
    lengths = shape_tuple("unravel_index", shape)
    if i.ndim and i.size and not lengths:
        raise ValueError(f"unravel_index: an array without axes has no places; got {i.aval}")
    if dtypes.bit_width(i.dtype) < 32:
        i = convert_element_type(i, dtype=dtypes.default_int())
    total = math.prod(lengths)
    i = run_time_places(total, i, True)
    last = literal(max(total - 1, 0), i.dtype)
    return tuple(coordinates(clamp(literal(0, i.dtype), i, last), lengths))


def _unravelled(places: Any, shape: Iterable[Any]) -> tuple[Array, ...]:
    """As `unravel_index`, for lengths that are known at run time only."""
    whole = dtypes.default_int()
    places = cast(places, dtypes.promote_types(places.dtype, whole))
    lengths = [cast(integers("unravel_index", n, "shape"), places.dtype) for n in shape]
    zero, total = literal(0, places.dtype), literal(1, places.dtype)
    for n in lengths:
        total = mul(total, n)
    places = where(lt(places, zero), add(places, total), places)
    places = clamp(zero, places, sub(total, literal(1, places.dtype)))
    return tuple(coordinates(places, lengths))


@located
def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: str | Sequence[str] = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Places in row-major order for an index along each axis.

    Args:
      multi_index: integer arrays, one for each axis.
      dims: the shape of the array that they are places in.
      mode: out of range, "raise" an error (the indices must be known), "clip" or "wrap"; or one for
        each axis.
      order: "C", or "F" for column-major places.
      dtype: that of the places, an integer one; the default integer if left out.
    Returns: integer array.
    Raises: ValueError: an index is out of range. TypeError: `dtype` is no integer dtype, or can't
      hold the last place.
    Example:
      >>> np.ravel_multi_index((np.array([1, 2]), np.array([3, 0])), (3, 4)).tolist()
      [7, 8]
    """
    name = "ravel_multi_index"
    lengths = shape_tuple(name, tuple(dims))
    if len(multi_index) != len(lengths):
        got = len(multi_index)
        raise errors.ShapeError(f"{name}: {lengths} needs {len(lengths)} arrays; got {got}")
    modes = [mode] * len(lengths) if isinstance(mode, str) else list(mode)
    if order not in ("C", "F"):
        raise ValueError(f"{name}: order must be 'C' or 'F'; got {order!r}")
    kind = wanted_dtype(name, dtype) or dtypes.default_int()
    if not dtypes.is_integer(kind):
        raise errors.ShapeError(f"{name}: dtype must be an integer one; got {kind.name}")
    if math.prod(lengths) - 1 > dtypes.iinfo(kind).max:
        raise errors.ShapeError(
            f"{name}: {kind.name} can't hold the last place of an array of shape {lengths}\n"
            "  fix: a wider dtype; 64 bits need enable_x64"
        )
    columns = [
        indices_in(name, convert_element_type(integers(name, i), dtype=dtypes.default_int()), n, m)
        for i, n, m in zip(multi_index, lengths, modes, strict=True)
    ]
    total: Any = literal(0, kind)
    for k, column in enumerate(columns):
        later = lengths[k + 1 :] if order == "C" else lengths[:k]
        stride = math.prod(later) if lengths[k] > 1 and 0 not in lengths else 0  # it fits `kind`
        total = add(total, mul(cast(column, kind), literal(stride, kind)))
    return total
