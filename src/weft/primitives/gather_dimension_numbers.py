"""The dimension numbers and modes of gathers and scatters, and their checks."""

import enum
from typing import NamedTuple, TypeAlias

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..errors import ShapeError
from ..extended_dtypes import KEYS
from .elementwise import same_dtype
from .monoids import highest, lowest
from .rule_types import Argument, DType, Host, Integers
from .structural import others

_HOSTS = {dtype.itemsize: dtype.host for dtype in KEYS}


class GatherDimensionNumbers(NamedTuple):
    """The layout of a `gather`. The last axis of its indices holds the start of a window.

    Attributes:
      offset_dims: axes of the output that run through a window.
      collapsed_slice_dims: axes of the operand with window size 1, which the output drops.
      start_index_map: the axis of the operand for each element of an index.
      operand_batching_dims, start_indices_batching_dims: axes of the operand, and of the indices,
        that are iterated together.
    Example:
      >>> rows = lax.GatherDimensionNumbers(
      ...     offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
      ... )
      >>> x = np.arange(6).reshape(3, 2)
      >>> lax.gather(x, np.array([[2], [0]]), rows, slice_sizes=(1, 2))
      Array([[4, 5],
             [0, 1]], dtype=int32)
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """The layout of a `scatter`: the reverse of `GatherDimensionNumbers`.

    Attributes:
      update_window_dims: axes of the updates that run through a window.
      inserted_window_dims: axes of the operand with window size 1, which the updates lack.
      scatter_dims_to_operand_dims: the axis of the operand for each element of an index.
      operand_batching_dims, scatter_indices_batching_dims: axes of the operand, and of the
        indices, that are iterated together.
    Example:
      >>> elements = lax.ScatterDimensionNumbers(
      ...     update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
      ... )
      >>> lax.scatter_add(np.zeros(3), np.array([[1], [1]]), np.array([10.0, 5.0]), elements)
      Array([ 0., 15.,  0.], dtype=float32)
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


Numbers: TypeAlias = GatherDimensionNumbers | ScatterDimensionNumbers
"""The same five fields for gathers and scatters."""


class GatherScatterMode(enum.Enum):
    """The treatment of windows outside the operand, in gathers and scatters.

    CLIP moves them inside. FILL_OR_DROP reads a fill value and writes nothing. PROMISE_IN_BOUNDS
    assumes that all windows are inside; otherwise the result is unspecified.

    Example:
      >>> x = np.array([10, 20, 30])
      >>> x.at[5].get(mode="fill", fill_value=-1), x.at[5].get(mode="clip")
      (Array(-1, dtype=int32), Array(30, dtype=int32))
      >>> lax.GatherScatterMode.from_any("clip")
      <GatherScatterMode.CLIP: 1>
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()

    @staticmethod
    def from_any(s: "str | GatherScatterMode | None") -> "GatherScatterMode":
        """The mode with a name: clip, fill, drop or promise_in_bounds. `None` means fill or
        drop."""
        if isinstance(s, GatherScatterMode):
            return s
        if s is None:
            return GatherScatterMode.FILL_OR_DROP
        try:
            return _MODES[s]
        except KeyError:
            raise ValueError(
                f"mode must be one of {', '.join(map(repr, _MODES))}, a GatherScatterMode or None; "
                f"got {s!r}"
            ) from None


CLIP, FILL_OR_DROP = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
_MODES = {
    "clip": CLIP,
    "fill": FILL_OR_DROP,
    "drop": FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
}


def default_fill(dtype: DType) -> np.generic:
    """The default fill value: NaN, the lowest signed integer, the highest unsigned one, True."""
    if dtypes.is_inexact(dtype):
        return dtype.type(np.nan)
    return lowest(dtype) if dtypes.is_signed(dtype) else highest(dtype)


def fill_scalar(dtype: DType, mode: GatherScatterMode, value: object) -> np.generic | None:
    """The value that a gather reads out of bounds; `None` if its windows are moved inside.

    For keys, the fill value is a key whose words are all ones.
    """
    if mode is not FILL_OR_DROP:
        return None
    host = _HOSTS.get(dtype.itemsize) if dtype.kind == "V" else None
    if host is not None:  # keys, as an aval or NumPy represents them
        if value is not None:
            raise TypeError(f"gather: fill_value must be None for keys; got {value!r}")
        return np.frombuffer(b"\xff" * host.itemsize, host)[0]
    return default_fill(dtype) if value is None else dtype.type(value)


def check_indices(
    name: str, argument: str, x: Aval, indices: Aval, index_map: Integers, label: str
) -> None:
    """Raises an error for indices that are not integers, or lack an element for an indexed axis."""
    if not dtypes.is_integer(indices.dtype):
        raise ShapeError(f"{name}: {argument} must be integers; got {indices}")
    if not indices.ndim or indices.shape[-1] != len(index_map):
        raise ShapeError(
            f"{name}: the last axis of the indices must be as long as {label} {index_map}; got "
            f"{indices}"
        )
    if len(set(index_map)) != len(index_map) or any(not 0 <= d < x.ndim for d in index_map):
        raise ShapeError(f"{name}: {label} {index_map} doesn't name axes of {x} once each")


def check_increasing(
    name: str, label: str, axes: Integers, x: Aval, rank: int | None = None
) -> None:
    """Raises an error for axes that do not increase or are out of range."""
    rank = x.ndim if rank is None else rank
    if list(axes) != sorted(set(axes)) or any(not 0 <= d < rank for d in axes):
        raise ShapeError(f"{name}: {label} {axes} must increase, from 0 to {rank - 1}")


def check_batching(name: str, x: Aval, indices: Aval, operand: Integers, index: Integers) -> None:
    """Raises an error for batching axes that do not match."""
    check_increasing(name, "operand_batching_dims", operand, x)
    if len(operand) != len(index) or any(not 0 <= d < indices.ndim - 1 for d in index):
        raise ShapeError(
            f"{name}: each of operand_batching_dims {operand} needs an axis of {indices} before "
            f"the last; got {index}"
        )
    if any(x.shape[a] != indices.shape[b] for a, b in zip(operand, index, strict=True)):
        raise ShapeError(
            f"{name}: batching axes must have equal lengths; got {x} at {operand} and "
            f"{indices} at {index}"
        )


def window_sizes(
    x: Argument | Host, updates: Argument | Host, dn: ScatterDimensionNumbers
) -> tuple[int, ...]:
    """The size of a window along each axis of the operand."""
    sizes = [1] * x.ndim
    remaining_axes = others((*dn.inserted_window_dims, *dn.operand_batching_dims), x.ndim)
    for d, update_dim in zip(remaining_axes, dn.update_window_dims, strict=True):
        sizes[d] = updates.shape[update_dim]
    return tuple(sizes)


def check_scatter(
    name: str, x: Aval, indices: Aval, updates: Aval, dn: ScatterDimensionNumbers
) -> None:
    """Raises an error for operands and dimension numbers that do not match."""
    same_dtype(name, x, updates)
    index_map = dn.scatter_dims_to_operand_dims
    check_indices(name, "scatter_indices", x, indices, index_map, "scatter_dims_to_operand_dims")
    check_batching(name, x, indices, dn.operand_batching_dims, dn.scatter_indices_batching_dims)
    check_increasing(name, "inserted_window_dims", dn.inserted_window_dims, x)
    check_increasing(name, "update_window_dims", dn.update_window_dims, updates)
    remaining_axes = others((*dn.inserted_window_dims, *dn.operand_batching_dims), x.ndim)
    if len(remaining_axes) != len(dn.update_window_dims):
        raise ShapeError(
            f"{name}: a window has {len(remaining_axes)} axes; got update_window_dims "
            f"{dn.update_window_dims}"
        )
    batch = tuple(updates.shape[d] for d in others(dn.update_window_dims, updates.ndim))
    if batch != indices.shape[:-1]:
        raise ShapeError(
            f"{name}: updates must have an axis for each of the indices' but the last; got "
            f"{updates} with update_window_dims {dn.update_window_dims} for {indices}"
        )
    for d, update_dim in zip(remaining_axes, dn.update_window_dims, strict=True):
        if updates.shape[update_dim] > x.shape[d]:
            raise ShapeError(
                f"{name}: a window of length {updates.shape[update_dim]} does not fit axis {d} of "
                f"{x}"
            )
