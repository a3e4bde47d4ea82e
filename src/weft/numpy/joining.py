"""Joining arrays: concatenate (concat), stack, vstack, hstack, dstack, column_stack, block,
append."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..primitives import slicing, structural
from ..typing import ArrayLike, Axis, DTypeLike
from .axes import is_listing, one_axis
from .creation import array, dtype_argument
from .plans import composite
from .promotion import cast, no_out, noted, promote_values, value
from .shapes import atleast_1d, atleast_2d, atleast_3d, ravel, reshape

__all__ = [
    "append",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dstack",
    "hstack",
    "row_stack",
    "stack",
    "vstack",
]


def parts_of(name: str, arrays: Any, dtype: Any = None) -> list[Any]:
    """Values of one dtype from a sequence of arrays, or from the slices of an array."""
    if isinstance(arrays, Value):
        if not arrays.ndim:
            raise noted(ShapeError(f"{name}: expected a sequence of arrays; got {arrays.aval}"))
        parts: list[Any] = list(arrays)
    elif isinstance(arrays, np.ndarray):
        parts = list(array(arrays))
    elif is_listing(arrays):
        parts = [*arrays]
    else:
        raise noted(
            TypeError(f"{name}: expected a sequence of arrays; got {type(arrays).__name__}\n"
                      f"  fix: {name}([x, y])")
        )  # fmt: skip
    if not parts:
        raise noted(
            ValueError(
                f"{name}: needs at least one array; got none\n"
                "  fix: np.zeros(shape) for an empty result"
            )
        )
    if dtype is not None:
        _in_one_list(name, dtype)
        out_dtype = dtype_argument(name, dtype)
        return [cast(value(name, p, f"array {i}"), out_dtype) for i, p in enumerate(parts)]
    first_part = parts[0]
    if isinstance(first_part, Value):
        dtype = first_part.aval.dtype
        if all(isinstance(p, Value) and p.aval.dtype == dtype for p in parts):
            return parts
    return promote_values(name, *parts)


def _in_one_list(name: str, option: Any) -> None:
    """Raises an error for an array as axis or dtype, because the arrays were not passed as one
    sequence."""
    if isinstance(option, (Value, np.ndarray)) and option.ndim:
        description = option.aval if isinstance(option, Value) else f"{option.dtype} {option.shape}"
        raise noted(
            TypeError(
                f"{name}: expected one sequence of arrays; got a further array, "
                f"{description}, after it\n"
                f"  fix: {name}([x, y])"
            )
        )


def joined(name: str, parts: Sequence[Any], axis: int) -> Any:
    """Concatenates values of one dtype."""
    if len(parts) == 1:
        return parts[0]
    first_aval = parts[0].aval
    for i, p in enumerate(parts[1:], 1):
        other = p.aval
        if other.ndim != first_aval.ndim or any(
            n != m
            for k, (n, m) in enumerate(zip(first_aval.shape, other.shape, strict=True))
            if k != axis
        ):
            raise noted(
                ShapeError(
                    f"{name}: arrays must have the same shape except for axis {axis}; array 0 is "
                    f"{first_aval}, array {i} is {other}\n"
                    "  fix: x[None] adds an axis; stack makes a new one; pad the shorter arrays"
                )
            )
    return slicing.concatenate(*parts, dimension=axis)


def concatenate(
    arrays: Sequence[ArrayLike] | ArrayLike, axis: Axis = 0, dtype: DTypeLike | None = None
) -> Array:
    """Joins arrays along an existing axis.

    Args:
      arrays: a sequence of arrays with the same shape except for the axis.
      axis: one axis; None flattens the arrays first.
      dtype: dtype of the result; by default the promoted dtype of all arrays.
    Returns: array whose length along the axis is the sum of the lengths.
    Raises: TypeError: shapes differ. ValueError: no arrays, or the axis is out of range.
    Example:
      >>> np.concatenate([np.arange(2), np.ones(1)])
      Array([0., 1., 1.], dtype=float32)
    """
    defaults = dtype is None and (axis is None or axis.__class__ is int)
    if defaults and arrays.__class__ in (list, tuple):
        for a in arrays:
            if a.__class__ is not Array:
                break
        else:
            if arrays:
                return _concatenated(*arrays, axis=axis)
    _in_one_list("concatenate", axis)
    return _concatenate(parts_of("concatenate", arrays, dtype), axis)


def _concatenate(parts: list[Any], axis: Any) -> Any:
    if axis is None:
        return joined("concatenate", [ravel(p) for p in parts], 0)
    if not parts[0].aval.ndim:
        raise noted(
            ShapeError("concatenate: arrays without axes cannot be concatenated\n  fix: np.stack")
        )
    return joined("concatenate", parts, one_axis("concatenate", axis, parts[0].aval.ndim))


@composite
def _concatenated(*arrays: Any, axis: Any) -> Any:
    return _concatenate(parts_of("concatenate", arrays), axis)


def concat(arrays: Sequence[ArrayLike], /, *, axis: Axis = 0) -> Array:
    """Joins arrays along an existing axis; the array API standard's name for `concatenate`.

    Example:
      >>> np.concat([np.arange(2), np.arange(2)])
      Array([0, 1, 0, 1], dtype=int32)
    """
    return concatenate(arrays, axis)


def stack(
    arrays: Sequence[ArrayLike] | ArrayLike,
    axis: int = 0,
    out: None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Joins arrays along a new axis.

    Args:
      arrays: a sequence of arrays with the same shape.
      axis: the position of the new axis in the result.
      out: not supported.
      dtype: dtype of the result; by default the promoted dtype of all arrays.
    Returns: array with one more axis.
    Raises: ValueError: shapes differ, or no arrays.
    Example:
      >>> np.stack([np.arange(2), np.arange(2)], axis=1)
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    no_out("stack", out)
    defaults = dtype is None and (axis is None or axis.__class__ is int)
    if defaults and arrays.__class__ in (list, tuple):
        for a in arrays:
            if a.__class__ is not Array:
                break
        else:
            if arrays:
                return _stacked_along(*arrays, axis=axis)
    _in_one_list("stack", axis)
    return _stack(parts_of("stack", arrays, dtype), axis)


@composite
def _stacked_along(*arrays: Any, axis: int) -> Any:
    return _stack(parts_of("stack", arrays), axis)


def _stack(parts: list[Any], axis: int) -> Any:
    shape = parts[0].aval.shape
    for i, p in enumerate(parts):
        if p.aval.shape != shape:
            raise noted(
                ShapeError(
                    f"stack: arrays must have one shape; array 0 is {parts[0].aval}, array {i} "
                    f"is {p.aval}\n  fix: np.concatenate joins along an existing axis"
                )
            )
    position = one_axis("stack", axis, len(shape) + 1)
    expanded = (*shape[:position], 1, *shape[position:])
    return joined("stack", [structural.reshape(p, shape=expanded) for p in parts], position)


def _stacked(name: str, arrays: Any, dtype: Any, reshape_part: Any, axis: int) -> Any:
    parts = [reshape_part(p) for p in parts_of(name, arrays, dtype)]
    return joined(name, parts, axis)


def vstack(tup: Any, dtype: DTypeLike | None = None) -> Array:
    """Stacks arrays vertically, along axis 0; [n] counts as [1, n].

    Example:
      >>> np.vstack([np.arange(2), np.arange(2)])
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    return _stacked("vstack", tup, dtype, atleast_2d, 0)


row_stack = vstack


def hstack(tup: Any, dtype: DTypeLike | None = None) -> Array:
    """Stacks arrays horizontally: along axis 1, or along the only axis.

    Example:
      >>> np.hstack([np.arange(2), np.arange(2)])
      Array([0, 1, 0, 1], dtype=int32)
    """
    parts = [atleast_1d(p) for p in parts_of("hstack", tup, dtype)]
    return joined("hstack", parts, 0 if parts[0].ndim == 1 else 1)


def dstack(tup: Any, dtype: DTypeLike | None = None) -> Array:
    """Stacks arrays along axis 2.

    Example:
      >>> np.dstack([np.arange(2), np.arange(2)]).shape
      (1, 2, 2)
    """
    return _stacked("dstack", tup, dtype, atleast_3d, 2)


def column_stack(tup: Any) -> Array:
    """Stacks arrays as columns; [n] counts as [n, 1].

    Example:
      >>> np.column_stack([np.arange(2), np.arange(2)])
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """

    def column(x: Any) -> Any:
        return x if x.ndim > 1 else reshape(x, (x.size, 1))

    return _stacked("column_stack", tup, None, column, 1)


@located
def append(arr: ArrayLike, values: ArrayLike, axis: Axis = None) -> Array:
    """Appends values to the end of an array; without an axis both are flattened.

    Example:
      >>> np.append(np.arange(2), 5)
      Array([0, 1, 5], dtype=int32)
    """
    return concatenate([arr, values], axis)


@located
def block(arrays: Any) -> Array:
    """Assembles an array from nested lists of blocks.

    Args:
      arrays: an array, or nested lists of arrays of equal depth. The innermost lists are joined
        along the last axis, the enclosing lists along the second-to-last axis, and so on.
    Example:
      >>> np.block([[np.ones((1, 1)), np.zeros((1, 2))], [np.arange(3)[None]]])
      Array([[1., 0., 0.],
             [0., 1., 2.]], dtype=float32)
    """
    depth = _depth(arrays)
    leaves: list[Any] = []
    _leaves(arrays, leaves)
    ndim = max([depth, *(x.ndim for x in leaves)])
    return _blocks(arrays, ndim, depth, 1)


def _depth(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise TypeError("block: blocks are nested in lists; got a tuple")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("block: a list of blocks is empty")
    depths = {_depth(a) for a in arrays}
    if len(depths) > 1:
        raise ShapeError(f"block: lists must be nested to one depth; got depths {sorted(depths)}")
    return depths.pop() + 1


def _leaves(arrays: Any, leaves: list[Any]) -> None:
    if isinstance(arrays, list):
        for a in arrays:
            _leaves(a, leaves)
    else:
        leaves.append(value("block", arrays, "a block"))


def _blocks(arrays: Any, ndim: int, depth: int, nesting_level: int) -> Any:
    if not isinstance(arrays, list):
        x = value("block", arrays, "a block")
        return reshape(x, (1,) * (ndim - x.ndim) + x.shape)
    parts = [_blocks(a, ndim, depth, nesting_level + 1) for a in arrays]
    return concatenate(parts, axis=ndim - depth + nesting_level - 1)
