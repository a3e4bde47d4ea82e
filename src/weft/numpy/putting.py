"""Copies with elements replaced, by arrays of indices or by masks: put, put_along_axis, place,
fill_diagonal."""

import numpy as np

from .. import dtypes, errors
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..primitives import creation, selection, structural
from ..primitives.arithmetic import sub
from ..primitives.cumulative import cumsum
from ..primitives.gather_dimension_numbers import ScatterDimensionNumbers
from ..primitives.indexing import scatter
from ..primitives.selection import where
from ..primitives.slicing import concatenate
from ..primitives.structural import convert_element_type, reshape, widen
from ..typing import ArrayLike
from .axes import one_axis
from .axis_gathers import take_static
from .creation import broadcast, from_numpy
from .gather_indices import run_time_indices
from .indexing import getitem
from .promotion import cast, noted, value
from .reductions import truth
from .shapes import ravel
from .taking import CLIP, Mode, _broadcast_along, gather_positions, integers, take, wrapped

__all__ = ["fill_diagonal", "place", "put", "put_along_axis"]


def refuse_in_place(name: str, inplace: bool, alternative: str) -> None:
    """Raises an error: arrays cannot be changed in place."""
    if inplace:
        raise noted(
            ValueError(
                f"{name}: arrays are immutable and cannot be changed in place\n"
                f"  fix: y = np.{name}(…, inplace=False), or y = {alternative}"
            )
        )


@located
def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: Mode = None,
) -> Array:
    """A copy of an array with elements set in each one-dimensional slice along an axis.

    Args:
      arr: array.
      indices: as in `take_along_axis`.
      values: the new elements; they broadcast to the indices.
      axis: as in `take_along_axis`.
      inplace: must be False, because arrays are immutable.
      mode: for indices out of range: "drop" (or `None`) ignores them, "clip" sets the nearest
        element.
    Returns: array of the shape and dtype of `arr`.
    Raises: ValueError: `inplace` is not False, or the shapes do not match.
    Example:
      >>> x = np.array([[10, 30, 20], [60, 40, 50]])
      >>> np.put_along_axis(x, np.array([[1], [0]]), 99, 1, inplace=False).tolist()
      [[10, 99, 20], [99, 40, 50]]
    """
    name = "put_along_axis"
    refuse_in_place(name, inplace, "x.at[index].set(values)")
    array, i = value(name, arr, "arr"), integers(name, indices)
    x = reshape(array, shape=(array.size,)) if axis is None else array
    d = 0 if axis is None else one_axis(name, axis, x)
    shape = x.shape
    x, i = _broadcast_along(name, x, i, d)
    if x.shape != shape:
        raise errors.ShapeError(f"{name}: indices {i.aval} do not fit an array of shape {shape}")
    y = widen(cast(value(name, values, "values"), x.dtype), i.shape)
    if not i.size:
        return array
    positions, scatter_mode = gather_positions(name, i, x.shape[d], mode)
    batch_axes = tuple(a for a in range(x.ndim) if a != d)
    out = scatter(
        x,
        reshape(positions, shape=(*i.shape, 1)),
        y,
        dimension_numbers=ScatterDimensionNumbers((), (d,), (d,), batch_axes, batch_axes),
        indices_are_sorted=False,
        unique_indices=False,
        mode=scatter_mode,
    )
    return reshape(out, shape=array.shape) if axis is None else out


@located
def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: Mode = None, *, inplace: bool = True
) -> Array:
    """A copy of an array with elements set at flat indices.

    Args:
      a: array.
      ind: integers; negative indices count from the end of the flattened array.
      v: the values, repeated if necessary.
      mode: for indices out of range: "clip" (or `None`) sets the nearest element, "wrap" takes
        them modulo the size.
      inplace: must be False, because arrays are immutable.
    Returns: array of the shape and dtype of `a`.
    Raises: ValueError: `inplace` is not False.
    Example:
      >>> np.put(np.zeros((2, 2)), np.array([0, 3]), 7, inplace=False).tolist()
      [[7.0, 0.0], [0.0, 7.0]]
    """
    refuse_in_place("put", inplace, "x.at[index].set(v)")
    x, i = value("put", a), integers("put", ind, "ind")
    y = cast(value("put", v, "v"), x.dtype)
    n = i.size
    if not n or not y.size:
        return x
    updates = reshape(y, shape=(y.size,))
    if y.size != n:
        updates = getitem(updates, np.arange(n) % y.size)
    positions = reshape(i, shape=(n,))
    if mode == "wrap":
        positions = wrapped(positions, x.size)
    elif mode in (None, "clip"):
        positions = run_time_indices(x.size, positions, True)
    else:
        raise ValueError(f"put: mode must be 'clip' or 'wrap'; got {mode!r}")
    out = scatter(
        reshape(x, shape=(x.size,)),
        reshape(positions, shape=(n, 1)),
        updates,
        dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
        indices_are_sorted=False,
        unique_indices=False,
        mode=CLIP,
    )
    return reshape(out, shape=x.shape)


@located
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """A copy of an array with the elements where a mask is true replaced by values, in order.

    Args:
      arr: array.
      mask: boolean array with as many elements as `arr`.
      vals: the values, repeated if necessary.
      inplace: must be False, because arrays are immutable.
    Returns: array of the shape and dtype of `arr`.
    Raises: ValueError: `inplace` is not False, or the sizes differ.
    Example:
      >>> x = np.arange(4)
      >>> np.place(x, x % 2 == 1, np.array([-1, -2]), inplace=False).tolist()
      [0, -1, 2, -2]
    """
    refuse_in_place("place", inplace, "np.where(mask, values, x)")
    x, flags = value("place", arr, "arr"), truth("place", mask, "mask")
    y = cast(value("place", vals, "vals"), x.dtype)
    if flags.size != x.size:
        text = f"place: the mask must be of the size of the array; got {flags.aval} for {x.aval}"
        raise errors.ShapeError(text)
    if not y.size:
        if x.size:
            raise ValueError("place: expected at least one value")
        return x
    kind = dtypes.default_int()
    flat_flags = reshape(flags, shape=(x.size,))
    order = sub(
        cumsum(convert_element_type(flat_flags, dtype=kind), axis=0, reverse=False),
        literal(1, kind),
    )
    values = take(y, wrapped(order, y.size), mode="clip")
    return where(reshape(flags, shape=x.shape), reshape(values, shape=x.shape), x)


@located
def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """A copy of an array with its main diagonal replaced.

    Args:
      a: array of at least two axes; three or more axes must have equal lengths.
      val: a scalar, or an array whose elements are repeated as needed.
      wrap: not supported.
      inplace: must be False, because arrays are immutable.
    Returns: array of the shape of `a`.
    Example:
      >>> np.fill_diagonal(np.ones((2, 2)), 0, inplace=False)
      Array([[0., 1.],
             [1., 0.]], dtype=float32)
    """
    if inplace:
        raise NotImplementedError(
            "fill_diagonal: arrays are immutable\n  fix: y = np.fill_diagonal(x, val, "
            "inplace=False)"
        )
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap=True is not supported")
    x = value("fill_diagonal", a, "a")
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(f"fill_diagonal: expected a matrix, or equal lengths; got {x.aval}")
    v = ravel(cast(value("fill_diagonal", val, "val"), x.dtype))
    n = min(x.shape)
    if v.size != 1 and v.size != n:
        v = take_static(v, np.arange(n) % v.size, 0)
    mask = np.zeros(x.shape, bool)
    mask[(np.arange(n),) * x.ndim] = True
    diagonal = broadcast("fill_diagonal", v, (n,))
    rows = x.shape[0]
    if rows > n:
        diagonal = concatenate(
            diagonal, creation.full(diagonal.aval.update(shape=(rows - n,)), 0), dimension=0
        )
    replacement = structural.broadcast_in_dim(diagonal, shape=x.shape, dims=(0,))
    return selection.select_n(from_numpy(mask), x, replacement)
