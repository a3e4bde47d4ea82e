"""Splitting arrays: split, array_split, vsplit, hsplit, dsplit, unstack."""

import itertools
from typing import Any

import numpy as np

from .. import errors
from ..core.array import Array
from ..core.aval import aval
from ..core.value import Value
from ..errors import ShapeError
from ..lax.axes import slice_along
from ..lax.operands import uncommitted
from ..primitives import slicing
from ..primitives.structural import reshape
from ..typing import ArrayLike
from .axes import as_int, one_axis
from .indexing import host_of
from .plans import computing
from .promotion import noted, value

__all__ = ["array_split", "dsplit", "hsplit", "split", "unstack", "vsplit"]


def _split_along(name: str, ary: Any, indices_or_sections: Any, axis: int) -> list[Any]:
    """Splits along an axis. Raises an error if the array has too few axes."""
    x = value(name, ary, "ary")
    if x.ndim <= axis:
        ending = "is" if axis == 0 else "es"
        raise noted(
            ValueError(
                f"{name}: expected an array with at least {axis + 1} ax{ending}; got {x.aval}"
            )
        )
    return _split(name, x, indices_or_sections, axis)


def _split(
    name: str, ary: Any, indices_or_sections: Any, axis: Any, uneven: bool = False
) -> list[Any]:
    x = value(name, ary, "ary")
    i = one_axis(name, axis, x)
    n = x.aval.shape[i]
    is_sequence = isinstance(indices_or_sections, (tuple, list))
    if is_sequence or getattr(indices_or_sections, "ndim", 0) > 0:
        if isinstance(indices_or_sections, Value):
            concrete = indices_or_sections.concrete()
            if concrete is not None and concrete.ndim == 1 and concrete.dtype.kind in "iu":
                indices_or_sections = concrete.host().tolist()
        indices = [as_int(name, k, "an index in indices_or_sections") for k in indices_or_sections]
        bounds = [0, *(max(k + n, 0) if k < 0 else min(k, n) for k in indices), n]
    else:
        sections = as_int(name, indices_or_sections, "indices_or_sections")
        if sections < 1:
            raise noted(ShapeError(f"{name}: expected at least one section; got {sections}"))
        section_length, remainder = divmod(n, sections)
        if remainder and not uneven:
            raise noted(
                ShapeError(
                    f"{name}: axis {i} of {x.aval} cannot be split into {sections} equal sections\n"
                    "  fix: np.array_split, or a list of indices"
                )
            )
        bounds = [k * section_length + min(k, remainder) for k in range(sections + 1)]
    pairs = [*itertools.pairwise(bounds)]
    if all(
        [a <= b for a, b in pairs]
    ):  # one primitive; its derivative is one concatenation instead of a sum
        return list(slicing.split(x, sizes=tuple([b - a for a, b in pairs]), axis=i))
    return [slice_along(x, i, a, max(a, b)) for a, b in pairs]


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Splits an array into sections.

    Args:
      ary: array of at least one axis.
      indices_or_sections: the number of equal sections, or the indices where sections begin.
      axis: the axis to split.
    Returns: list of arrays.
    Raises: ValueError: the axis cannot be split equally.
    Example:
      >>> np.split(np.arange(3), [1])
      [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Splits an array into nearly equal sections; the first ones may be longer by one.

    Example:
      >>> np.array_split(np.arange(3), 2)
      [Array([0, 1], dtype=int32), Array([2], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis, uneven=True)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Splits an array along axis 0.

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
    """Splits an array along axis 1, or along its only axis.

    Example:
      >>> len(np.hsplit(np.ones((4, 2)), 2))
      2
    """
    x = value("hsplit", ary, "ary")
    return _split_along("hsplit", x, indices_or_sections, 0 if x.ndim <= 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Splits an array along axis 2.

    Example:
      >>> len(np.dsplit(np.ones((4, 2, 2)), 2))
      2
    """
    return _split_along("dsplit", ary, indices_or_sections, 2)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Splits an array into its slices along an axis.

    Args:
      x: array with at least one axis.
      axis: the axis; negative numbers count from the end.
    Returns: a tuple of arrays without that axis.
    Raises: ValueError: `x` has no axes, or `axis` is out of range.
    Example:
      >>> a, b = np.unstack(np.array([[1, 2], [3, 4]]), axis=1)
      >>> a.tolist(), b.tolist()
      ([1, 3], [2, 4])
    """
    v = value("unstack", x)
    if not v.ndim:
        raise noted(
            errors.ShapeError(f"unstack: expected an array with at least one axis; got {v.aval}")
        )
    a = one_axis("unstack", axis, v.ndim)
    n, shape = v.shape[a], (*v.shape[:a], *v.shape[a + 1 :])
    if uncommitted(v) and computing():
        host = host_of(v)
        if host is not None:
            slice_aval = aval(shape, v.dtype, v.weak_type)
            return tuple([Array(h, slice_aval) for h in (np.moveaxis(host, a, 0) if a else host)])
    if n <= 1:
        return tuple([reshape(v, shape=shape)] * n)
    return tuple([reshape(p, shape=shape) for p in slicing.split(v, sizes=(1,) * n, axis=a)])
