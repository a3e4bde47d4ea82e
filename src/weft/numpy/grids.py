"""Grids of coordinates, and arrays written as slices: meshgrid, mgrid, ogrid, r_, c_, s_,
index_exp."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..primitives import structural
from ..typing import ArrayLike
from .joining import concatenate, stack
from .promotion import cast, value
from .ranges import arange, linspace
from .shapes import reshape

__all__ = ["c_", "index_exp", "meshgrid", "mgrid", "ogrid", "r_", "s_"]


@located
def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Array]:
    """Coordinate arrays of a grid, from the coordinates along each axis.

    Args:
      xi: arrays [n0], [n1], ….
      copy: ignored; accepted for compatibility with NumPy.
      sparse: whether the other axes of each array keep length one.
      indexing: 'xy', the first two axes swapped, or 'ij'.
    Returns: list of arrays [n1, n0, n2, …] or [n0, n1, …].
    Example:
      >>> np.meshgrid(np.arange(2), np.arange(2))[0]
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij'; got {indexing!r}")
    xs = [value("meshgrid", x, f"argument {i}") for i, x in enumerate(xi)]
    if any(x.ndim > 1 for x in xs):
        raise ShapeError(
            f"meshgrid: expected arrays of one axis; got {', '.join(str(x.aval) for x in xs)}"
        )
    positions = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        positions[:2] = 1, 0
    shape = [0] * len(xs)
    for x, p in zip(xs, positions, strict=True):
        shape[p] = x.size
    result = []
    for x, p in zip(xs, positions, strict=True):
        coordinates = reshape(x, tuple([x.size if i == p else 1 for i in range(len(xs))]))
        result.append(coordinates if sparse else structural.widen(coordinates, tuple(shape)))
    return result


class _Grid:
    """Grids written as slices; see `numpy.mgrid` and `numpy.ogrid`."""

    def __init__(self, name: str, sparse: bool) -> None:
        self.name, self.sparse = name, sparse

    def __repr__(self) -> str:
        return f"weft.numpy.{self.name}"

    def __getitem__(self, key: Any) -> Any:
        """Coordinates along each axis: start:stop:step as in `arange`, start:stop:5j as in
        `linspace`."""
        is_single = not isinstance(key, tuple)
        lines = [_slice_points(k) for k in ((key,) if is_single else key)]
        dtype = dtypes.result_type(*lines)
        lines = [cast(x, dtype) for x in lines]
        if is_single:
            return lines[0]
        if self.sparse:
            return meshgrid(*lines, indexing="ij", sparse=True)
        return stack(meshgrid(*lines, indexing="ij"))


def _slice_points(key: slice) -> Any:
    start, stop, step = 0 if key.start is None else key.start, key.stop, key.step
    if isinstance(step, complex):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


mgrid = _Grid("mgrid", False)
ogrid = _Grid("ogrid", True)


class _Rows:
    """Arrays concatenated by an index; see `numpy.r_` and `numpy.c_`."""

    def __init__(self, name: str, axis: int, ndmin: int, trans: int) -> None:
        self.name, self.axis, self.ndmin, self.trans = name, axis, ndmin, trans

    def __repr__(self) -> str:
        return f"weft.numpy.{self.name}"

    def __getitem__(self, key: Any) -> Any:
        """Concatenates arrays; slices are ranges as in `mgrid`. A leading string gives the axis,
        the minimal number of axes, and where the axes of smaller arrays go. With 'r' or 'c' the
        result is a matrix, with one row or column if the parts have one axis."""
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans = self.axis, self.ndmin, self.trans
        matrix = None
        directive = items.pop(0) if items and isinstance(items[0], str) else None
        if directive in ("r", "c"):
            matrix = directive
        elif directive is not None:
            try:
                settings = [int(n) for n in directive.split(",")]
            except ValueError:
                raise ValueError(
                    f"{self.name}: expected 'r', 'c', or up to three numbers as in '0,2,1'; got "
                    f"{key[0]!r}"
                ) from None
            axis, ndmin, trans = (*settings, *(axis, ndmin, trans)[len(settings) :])
        parts = []
        for item in items:
            x = _slice_points(item) if isinstance(item, slice) else _joined_item(item)
            if x.ndim < ndmin:
                new_count = ndmin - x.ndim
                leading_count = trans if trans >= 0 else new_count + 1 + trans
                leading_count = 0 if trans == 0 else min(max(leading_count, 0), new_count)
                x = reshape(x, (1,) * leading_count + x.shape + (1,) * (new_count - leading_count))
            parts.append(x)
        result = concatenate(parts, axis)
        if matrix is None or result.ndim == 2:
            return result
        if result.ndim != 1:
            raise ValueError(f"{self.name}: a matrix has two axes; got {result.aval}")
        return reshape(result, (1, -1) if matrix == "r" else (-1, 1))


def _joined_item(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        return (
            stack([_joined_item(i) for i in item])
            if any(np.ndim(i) for i in item)
            else concatenate([_joined_item(i) for i in item])
        )
    x = value("r_", item, "an item")
    return reshape(x, (1,)) if not x.ndim else x


r_ = _Rows("r_", 0, 1, -1)
c_ = _Rows("c_", -1, 2, 0)


s_ = np.s_
index_exp = np.index_exp
