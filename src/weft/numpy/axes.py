"""Checks of axes, shapes and static integers in the arguments of public functions."""

import operator
from collections.abc import Iterable, Mapping, Set, Sized
from typing import Any

import numpy as np

from .. import errors
from ..core.value import Value
from ..transforms.arguments import described
from .promotion import noted


def one_axis(name: str, axis: Any, array: Any, argument: str = "axis") -> int:
    """An axis, counted from the front. `array` may also be the number of axes."""
    i = axis if axis.__class__ is int else strict_int(name, axis, argument)
    ndim = array if array.__class__ is int else array.ndim
    if not -ndim <= i < ndim:
        description = f"{array.aval}, which has" if isinstance(array, Value) else "an array with"
        raise noted(
            errors.AxisError(
                f"{name}: {argument} {i} is out of range for {description} {ndim} "
                f"ax{'i' if ndim == 1 else 'e'}s"
                f"\n  fix: an axis from {-ndim} to {ndim - 1}"
                if ndim
                else f"{name}: {argument} {i} is out of range for {description} no axes"
            )
        )
    return i + ndim if i < 0 else i


def all_axes(name: str, axis: Any, array: Any, argument: str = "axis") -> tuple[int, ...]:
    """Axes, counted from the front: one axis, a sequence of axes, or all axes for `None`."""
    if axis is None:
        return tuple(range(array if array.__class__ is int else array.ndim))
    axis = as_listed(axis)
    if isinstance(axis, SEQUENCES):
        axes = tuple([one_axis(name, a, array, argument) for a in axis])
        if len(set(axes)) != len(axes):
            raise noted(errors.ShapeError(f"{name}: {argument} names an axis twice: {tuple(axis)}"))
        return axes
    return (one_axis(name, axis, array, argument),)


def axes_of(axis: Any) -> Any:
    """A sequence of axes, from one axis or a sequence."""
    axis = as_listed(axis)
    return axis if isinstance(axis, SEQUENCES) else (axis,)


def as_listed(axis: Any) -> Any:
    """A NumPy array of axes as a list or an int; other objects are unchanged."""
    return axis.tolist() if isinstance(axis, np.ndarray) else axis


SEQUENCES = (tuple, list, range)
"""The types of several axes in users' arguments."""


def is_listing(x: object) -> bool:
    """True for an object with a length and an order, as an argument of several arrays: a sequence,
    the values of a dict, or an object of a library's own class."""
    return (
        isinstance(x, Sized)
        and (isinstance(x, Iterable) or hasattr(x, "__getitem__"))
        and not isinstance(x, (str, bytes, Mapping, Set))
    )


def host_array(name: str, x: Any, argument: str, expected: str, dtype: Any = None) -> np.ndarray:
    """A NumPy array of numbers or nested lists. `expected` describes them for the error."""
    try:
        return np.asarray(x, dtype)
    except (TypeError, ValueError) as error:
        if raised_inside(error):
            raise
        raise noted(
            errors.ShapeError(f"{name}: {argument} must be {expected}; got {described(x)}")
        ) from None


def raised_inside(error: BaseException) -> bool:
    """True for a caught error that Python code raised which the handling function called, such as
    the user's iterator; false if the function itself or compiled code raised it."""
    trace = error.__traceback__
    return trace is not None and trace.tb_next is not None


def strict_int(name: str, x: Any, argument: str) -> int:
    """Like `as_int`, but rejects True and False, which are neither axes nor lengths."""
    if isinstance(x, (bool, np.bool_)):
        raise noted(TypeError(f"{name}: {argument} must be an int; got the boolean {x}"))
    return as_int(name, x, argument)


def as_int(name: str, x: Any, argument: str) -> int:
    """A Python int. For a traced value, the error says that it must be known at tracing time."""
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
    """A non-negative Python int: the length of a result."""
    n = as_int(name, x, argument)
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
        lengths = tuple([strict_int(name, n, f"a length in {argument}") for n in shape])
    else:
        lengths = (strict_int(name, shape, argument),)
    for n in lengths:
        if n < 0:
            raise noted(
                errors.ShapeError(
                    f"{name}: lengths must not be negative; got {argument} {lengths}\n"
                    "  fix: max(n, 0); -1 stands for a length in reshape only"
                )
            )
    return lengths
