"""Axes, shapes and static integers as users write them."""

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import errors
from ..core.value import Value
from .promotion import noted


def one_axis(name: str, axis: Any, of: Any, argument: str = "axis") -> int:
    """An axis of an array (or of so many axes) counted from the front."""
    i = axis if axis.__class__ is int else no_bool(name, axis, argument)
    ndim = of if of.__class__ is int else of.ndim
    if not -ndim <= i < ndim:
        what = f"{of.aval}, which has" if isinstance(of, Value) else "an array with"
        raise noted(
            errors.AxisError(
                f"{name}: {argument} {i} is out of range for {what} {ndim} "
                f"ax{'i' if ndim == 1 else 'e'}s"
                f"\n  fix: an axis from {-ndim} to {ndim - 1}"
                if ndim
                else f"{name}: {argument} {i} is out of range for {what} no axes"
            )
        )
    return i + ndim if i < 0 else i


def all_axes(name: str, axis: Any, of: Any, argument: str = "axis") -> tuple[int, ...]:
    """Several axes counted from the front: one, a sequence of them, or all for `None`."""
    if axis is None:
        return tuple(range(of if of.__class__ is int else of.ndim))
    axis = as_listed(axis)
    if isinstance(axis, SEQUENCES):
        axes = tuple([one_axis(name, a, of, argument) for a in axis])
        if len(set(axes)) != len(axes):
            raise noted(errors.ShapeError(f"{name}: {argument} names an axis twice: {tuple(axis)}"))
        return axes
    return (one_axis(name, axis, of, argument),)


def axes_of(axis: Any) -> Any:
    """A sequence of axes from one, or from a sequence."""
    axis = as_listed(axis)
    return axis if isinstance(axis, SEQUENCES) else (axis,)


def as_listed(axis: Any) -> Any:
    """A NumPy array of axes as a list, or an int; anything else as it is."""
    return axis.tolist() if isinstance(axis, np.ndarray) else axis


SEQUENCES = (tuple, list, range)
"""Several axes, as they are given."""


def no_bool(name: str, x: Any, argument: str) -> int:
    """As `whole_number`; refuses True and False, which are neither axes nor lengths."""
    if isinstance(x, (bool, np.bool_)):
        raise noted(TypeError(f"{name}: {argument} must be an int; got the boolean {x}"))
    return whole_number(name, x, argument)


def whole_number(name: str, x: Any, argument: str) -> int:
    """A Python int; an error that says that it has to be known for what isn't one."""
    if x.__class__ is int:
        return x
    try:
        return operator.index(x)
    except errors.TracerIntegerConversionError:
        raise noted(
            errors.TracerIntegerConversionError(
                f"{name}: {argument} decides shapes and must be known when the function is traced; "
                f"got a traced {x.aval}\n  fix: make it a static argument (static_argnums, "
                "static_argnames), or compute it from shapes"
            )
        ) from None
    except TypeError:
        raise noted(
            TypeError(
                f"{name}: {argument} must be an int; got {type(x).__name__} {x!r:.60}\n"
                f"  fix: int({argument})"
            )
        ) from None


def result_length(name: str, x: Any, argument: str) -> int:
    """A Python int that is not negative: the length of a result."""
    n = whole_number(name, x, argument)
    if n < 0:
        raise noted(errors.ShapeError(f"{name}: {argument} must not be negative; got {n}"))
    return n


def shape_tuple(name: str, shape: Any, argument: str = "shape") -> tuple[int, ...]:
    """A shape as a tuple of ints, from an int or a sequence of them."""
    if shape.__class__ is tuple:
        for n in shape:
            if n.__class__ is not int or n < 0:
                break
        else:
            return shape
    if hasattr(shape, "aval") and shape.ndim and shape.dtype == np.uint32:
        raise noted(
            TypeError(
                f"{name}: {argument} must be ints; got {shape.aval}, which is the form of random "
                f"keys\n  fix: the key is the first argument, {argument} comes after it"
            )
        )
    if isinstance(shape, Iterable) and getattr(shape, "ndim", True):
        lengths = tuple([no_bool(name, n, f"a length in {argument}") for n in shape])
    else:
        lengths = (no_bool(name, shape, argument),)
    for n in lengths:
        if n < 0:
            raise noted(
                errors.ShapeError(
                    f"{name}: lengths must not be negative; got {argument} {lengths}\n"
                    "  fix: max(n, 0); -1 stands for a length in reshape only"
                )
            )
    return lengths
