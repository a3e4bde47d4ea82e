"""The types that annotations of public functions use. Knows no module of weft at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, Union, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from .core.array import Array as Array

__all__ = [
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


@runtime_checkable
class SupportsDType(Protocol):
    """Anything with a dtype."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""


@runtime_checkable
class SupportsShape(Protocol):
    """A stand-in for an array where only its shape and dtype matter, as in `eval_shape`.

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

ArrayLike: TypeAlias = Union["Array", np.ndarray[Any, Any], np.generic, Scalar]
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
"""Nested containers with arrays (or what is said) at the leaves; see `tree_util`."""

Function = TypeVar("Function", bound=Callable[..., Any])
"""A function that a decorator returns with the same signature."""
