"""The types in annotations of public functions: Array, ArrayLike, DTypeLike, Shape, Axis, …; the
protocols Function, SupportsDType and SupportsShape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

__all__ = [
    "Array",
    "ArrayLike",
    "Axes",
    "Axis",
    "DType",
    "DTypeLike",
    "Function",
    "PyTree",
    "Scalar",
    "Shape",
    "ShapeLike",
    "SupportsDType",
    "SupportsShape",
]


class AbstractArray:
    """The class of all arrays, and of the tracers that replace arrays in a traced function.

    `weft.Array` and `weft.numpy.ndarray` are this class: for annotations, and for `isinstance`. An
    array is made by functions, such as `weft.numpy.array`.

    Example:
      >>> import weft.numpy as np
      >>> isinstance(np.ones(3), weft.Array), isinstance([1, 2, 3], weft.Array)
      (True, False)
    """

    __slots__ = ()


if TYPE_CHECKING:  # there it has all methods of an array
    from .core.array import Array as Array
else:
    AbstractArray.__name__ = AbstractArray.__qualname__ = "Array"
    Array = AbstractArray


@runtime_checkable
class SupportsDType(Protocol):
    """Anything with a dtype.

    Example:
      >>> isinstance(np.zeros(3), SupportsDType), isinstance(3, SupportsDType)
      (True, False)
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""


@runtime_checkable
class SupportsShape(Protocol):
    """An object with a shape and a dtype, which stands for an array in `eval_shape` and others.

    Example:
      >>> isinstance(np.zeros(3), SupportsShape), isinstance(3, SupportsShape)
      (True, False)
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""


Scalar: TypeAlias = bool | int | float | complex
"""A Python number: weak in promotion."""

if TYPE_CHECKING:
    ArrayLike: TypeAlias = Array | np.ndarray[Any, Any] | np.generic | Scalar
else:  # real classes, for libraries that take the union apart
    ArrayLike = Array | np.ndarray | np.generic | Scalar
"""Arguments of array functions. Lists and tuples are not among them: see `numpy.asarray`."""

DType: TypeAlias = np.dtype[Any]
"""A dtype in canonical form."""

DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | SupportsDType
"""A name of a dtype: a dtype, a scalar class, a name, one of Python's number types."""

Shape: TypeAlias = tuple[int, ...]
"""The length of each axis."""

ShapeLike: TypeAlias = int | Sequence[int]
"""A shape as users write it; a single int is the length of the only axis."""

Axis: TypeAlias = int | None
"""One axis, counted from the end if negative; None is all of them, or none, as documented."""

Axes: TypeAlias = int | Sequence[int] | None
"""Any number of axes."""

PyTree: TypeAlias = Any
"""Nested containers with arrays (or the given type) at the leaves; see `tree_util`."""

Function = TypeVar("Function", bound=Callable[..., Any])
"""A function that a decorator returns with the same signature."""
