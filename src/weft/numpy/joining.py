"""Arrays put together, taken apart, repeated and padded. Knows shapes, and promotion of parts."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..lax.axis_slices import slice_along
from ..primitives import slicing, structural
from ..typing import ArrayLike, Axis, DTypeLike
from .axes import one_axis, whole_number
from .creation import array, wanted_dtype
from .plans import composite
from .promotion import cast, no_out, noted, promote_values, value
from .shapes import atleast_1d, atleast_2d, atleast_3d, ravel, reshape

__all__ = [
    "append",
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "row_stack",
    "split",
    "stack",
    "vsplit",
    "vstack",
]

# --- putting together ---


def parts_of(name: str, arrays: Any, dtype: Any = None) -> list[Any]:
    """Values of one dtype from a sequence of arrays, or from the rows of an array."""
    if isinstance(arrays, Value):
        if not arrays.ndim:
            raise noted(ShapeError(f"{name}: expected a sequence of arrays; got {arrays.aval}"))
        parts: list[Any] = list(arrays)
    elif isinstance(arrays, np.ndarray):
        parts = list(array(arrays))
    elif isinstance(arrays, Sequence) and not isinstance(arrays, str):
        parts = list(arrays)
    else:
        raise noted(
            TypeError(f"{name}: expected a sequence of arrays; got {type(arrays).__name__}\n"
                      f"  fix: {name}([x, y])")
        )  # fmt: skip
    if not parts:
        raise noted(
            ValueError(
                f"{name}: needs at least one array; got none\n  fix: zeros of a shape, for none"
            )
        )
    if dtype is not None:
        _in_one_list(name, dtype)
        wanted = wanted_dtype(name, dtype)
        return [cast(value(name, p, f"array {i}"), wanted) for i, p in enumerate(parts)]
    first = parts[0]
    if isinstance(first, Value):
        dtype = first.aval.dtype
        if all(isinstance(p, Value) and p.aval.dtype == dtype for p in parts):
            return parts
    return promote_values(name, *parts)


def _in_one_list(name: str, option: Any) -> None:
    """Refuses an array where an axis or a dtype belongs: it is one more array to join."""
    if isinstance(option, (Value, np.ndarray)) and option.ndim:
        found = option.aval if isinstance(option, Value) else f"{option.dtype} {option.shape}"
        raise noted(
            TypeError(
                f"{name}: expected one sequence of arrays; got a further array, {found}, after it\n"
                f"  fix: {name}([x, y])"
            )
        )


def joined(name: str, parts: Sequence[Any], axis: int) -> Any:
    """Values of one dtype one after the other."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0].aval
    for i, p in enumerate(parts[1:], 1):
        other = p.aval
        if other.ndim != first.ndim or any(
            n != m
            for k, (n, m) in enumerate(zip(first.shape, other.shape, strict=True))
            if k != axis
        ):
            raise noted(
                ShapeError(
                    f"{name}: arrays must have the same shape but for axis {axis}; array 0 is "
                    f"{first}, array {i} is {other}\n"
                    "  fix: x[None] adds an axis; stack makes a new one; pad what is short"
                )
            )
    return slicing.concatenate(*parts, dimension=axis)


def concatenate(
    arrays: Sequence[ArrayLike] | ArrayLike, axis: Axis = 0, dtype: DTypeLike | None = None
) -> Array:
    """Arrays one after the other along an axis they have.

    Args:
      arrays: a sequence of arrays with the same shape but for the axis.
      axis: one axis; None flattens the arrays first.
      dtype: that of the result; by default all are promoted to one.
    Returns: array whose axis is as long as those of the arrays together.
    Raises: TypeError: shapes differ. ValueError: no array, or the axis is out of range.
    Example:
      >>> np.concatenate([np.arange(2), np.ones(1)])
      Array([0., 1., 1.], dtype=float32)
    """
    plain = dtype is None and (axis is None or axis.__class__ is int)
    if plain and arrays.__class__ in (list, tuple):
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
            ShapeError(
                "concatenate: arrays without axes can't be put one after the other\n  fix: np.stack"
            )
        )
    return joined("concatenate", parts, one_axis("concatenate", axis, parts[0].aval.ndim))


@composite
def _concatenated(*arrays: Any, axis: Any) -> Any:
    return _concatenate(parts_of("concatenate", arrays), axis)


def concat(arrays: Sequence[ArrayLike], /, *, axis: Axis = 0) -> Array:
    """Arrays one after the other; as `concatenate`.

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
    """Arrays side by side along a new axis.

    Args:
      arrays: a sequence of arrays of one shape.
      axis: where the new axis is in the result.
      out: not supported.
      dtype: that of the result; by default all are promoted to one.
    Returns: array with one more axis.
    Raises: ValueError: shapes differ, or no array.
    Example:
      >>> np.stack([np.arange(2), np.arange(2)], axis=1)
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    no_out("stack", out)
    plain = dtype is None and (axis is None or axis.__class__ is int)
    if plain and arrays.__class__ in (list, tuple):
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
                    f"stack: arrays must be of one shape; array 0 is {parts[0].aval}, array {i} "
                    f"is {p.aval}\n  fix: concatenate, if they go one after the other"
                )
            )
    at = one_axis("stack", axis, len(shape) + 1)
    row = (*shape[:at], 1, *shape[at:])
    return joined("stack", [structural.reshape(p, shape=row) for p in parts], at)


def _stacked(name: str, arrays: Any, dtype: Any, shaped: Any, axis: int) -> Any:
    parts = [shaped(p) for p in parts_of(name, arrays, dtype)]
    return joined(name, parts, axis)


def vstack(tup: Any, dtype: DTypeLike | None = None) -> Array:
    """Arrays one below the other; [n] counts as [1, n].

    Example:
      >>> np.vstack([np.arange(2), np.arange(2)])
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    return _stacked("vstack", tup, dtype, atleast_2d, 0)


row_stack = vstack


def hstack(tup: Any, dtype: DTypeLike | None = None) -> Array:
    """Arrays one beside the other: along axis 1, or the only one.

    Example:
      >>> np.hstack([np.arange(2), np.arange(2)])
      Array([0, 1, 0, 1], dtype=int32)
    """
    parts = [atleast_1d(p) for p in parts_of("hstack", tup, dtype)]
    return joined("hstack", parts, 0 if parts[0].ndim == 1 else 1)


def dstack(tup: Any, dtype: DTypeLike | None = None) -> Array:
    """Arrays one behind the other, along axis 2.

    Example:
      >>> np.dstack([np.arange(2), np.arange(2)]).shape
      (1, 2, 2)
    """
    return _stacked("dstack", tup, dtype, atleast_3d, 2)


def column_stack(tup: Any) -> Array:
    """Arrays as columns: [n] counts as [n, 1].

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
    """An array with values after it; both are flattened if there is no axis.

    Example:
      >>> np.append(np.arange(2), 5)
      Array([0, 1, 5], dtype=int32)
    """
    return concatenate([arr, values], axis)


@located
def block(arrays: Any) -> Array:
    """An array put together from nested lists of blocks: the innermost ones side by side.

    Args:
      arrays: an array, or nested lists of arrays of one depth.
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


def _blocks(arrays: Any, ndim: int, depth: int, level: int) -> Any:
    if not isinstance(arrays, list):
        x = value("block", arrays, "a block")
        return reshape(x, (1,) * (ndim - x.ndim) + x.shape)
    parts = [_blocks(a, ndim, depth, level + 1) for a in arrays]
    return concatenate(parts, axis=ndim - depth + level - 1)


# --- taking apart ---


def _split_along(name: str, ary: Any, indices_or_sections: Any, axis: int) -> list[Any]:
    """The sections along an axis that the array must have."""
    x = value(name, ary, "ary")
    if x.ndim <= axis:
        plural = "is" if axis == 0 else "es"
        raise noted(
            ValueError(
                f"{name}: expected an array with at least {axis + 1} ax{plural}; got {x.aval}"
            )
        )
    return _split(name, x, indices_or_sections, axis)


def _split(
    name: str, ary: Any, indices_or_sections: Any, axis: Any, uneven: bool = False
) -> list[Any]:
    x = value(name, ary, "ary")
    i = one_axis(name, axis, x)
    n = x.aval.shape[i]
    several = isinstance(indices_or_sections, (tuple, list))
    if several or getattr(indices_or_sections, "ndim", 0) > 0:
        if isinstance(indices_or_sections, Value):
            known = indices_or_sections.concrete()
            if known is not None and known.ndim == 1 and known.dtype.kind in "iu":
                indices_or_sections = known.host().tolist()
        places = [
            whole_number(name, k, "an index in indices_or_sections") for k in indices_or_sections
        ]
        bounds = [0, *(max(k + n, 0) if k < 0 else min(k, n) for k in places), n]
    else:
        sections = whole_number(name, indices_or_sections, "indices_or_sections")
        if sections < 1:
            raise noted(ShapeError(f"{name}: expected at least one section; got {sections}"))
        size, more = divmod(n, sections)
        if more and not uneven:
            raise noted(
                ShapeError(
                    f"{name}: axis {i} of {x.aval} can't be split into {sections} equal sections\n"
                    "  fix: np.array_split, or a list of indices"
                )
            )
        bounds = [k * size + min(k, more) for k in range(sections + 1)]
    pairs = [*itertools.pairwise(bounds)]
    if all([a <= b for a, b in pairs]):  # its derivative is one array of all parts, and no sum
        return list(slicing.split(x, sizes=tuple([b - a for a, b in pairs]), axis=i))
    return [slice_along(x, i, a, max(a, b)) for a, b in pairs]


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """An array in sections.

    Args:
      ary: array of at least one axis.
      indices_or_sections: how many equal sections, or the indices where sections begin.
      axis: the axis to split.
    Returns: list of arrays.
    Raises: ValueError: the axis can't be split equally.
    Example:
      >>> np.split(np.arange(3), [1])
      [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """An array in sections; the first ones may be longer by one.

    Example:
      >>> np.array_split(np.arange(3), 2)
      [Array([0, 1], dtype=int32), Array([2], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis, uneven=True)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """An array in sections along axis 0.

    Example:
      >>> len(np.vsplit(np.ones((4, 2)), 2))
      2
    """
    x = value("vsplit", ary, "ary")
    if x.ndim == 1:
        raise noted(
            ValueError(
                f"vsplit: expected an array with at least 2 axes; got {x.aval}\n  fix: np.split"
            )
        )
    return _split_along("vsplit", x, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """An array in sections along axis 1, or its only axis.

    Example:
      >>> len(np.hsplit(np.ones((4, 2)), 2))
      2
    """
    x = value("hsplit", ary, "ary")
    return _split_along("hsplit", x, indices_or_sections, 0 if x.ndim <= 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """An array in sections along axis 2.

    Example:
      >>> len(np.dsplit(np.ones((4, 2, 2)), 2))
      2
    """
    return _split_along("dsplit", ary, indices_or_sections, 2)
