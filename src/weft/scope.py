"""The scope that a program is traced in, which is a part of its key.

Named axes, which `vmap(axis_name=…)` and others bring in; and what `Mark`s stand for.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from .config import set_axes, thread

T = TypeVar("T")


class Mark:
    """A name in the scope that is no axis: it stands for something else that programs depend on."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return self.what


DEVICES = Mark("maps over devices")
"""The number of maps over devices around what is being traced."""
MESH = Mark("mesh")
"""The mesh of the innermost `with mesh:`."""


def in_scope(mark: Mark, default: object = None) -> Any:
    """The value of a mark in this thread."""
    for name, value in thread.axes:
        if name is mark:
            return value
    return default


def within_axis(name: object, size: object, function: Callable[..., T], *args: object) -> T:
    """The result of `function(*args)` where a named axis is in scope, in this thread.

    It hides another one of that name. A `Mark` in the place of the name brings its value in. What
    is traced inside is another program than outside: the axes are in `thread.key`. No callback is
    called, since what primitives keep doesn't depend on axes.

    A function with a `try` of its own, so that interrupts leave the scope as it was: see
    `weft.core.trace.under`. Leaving it takes a call, which an interrupt may come before: then it is
    made again.
    """
    before = thread.__dict__.get("axes")
    inner = inner_axes(name, size)
    try:
        set_axes(inner)
        return function(*args)
    finally:
        try:
            set_axes(before)
        except BaseException:
            set_axes(before)
            raise


def inner_axes(name: object, size: object) -> tuple[tuple[Any, Any], ...]:
    """The axes in scope with one more; an error for what can't be in a key."""
    inner = (*[a for a in thread.axes if a[0] != name], (name, size))
    hash(inner)
    return inner


@contextmanager
def named_axis(name: object, size: object) -> Iterator[None]:
    """A block with a named axis in scope, as in `within_axis`."""
    before = thread.__dict__.get("axes")
    set_axes(inner_axes(name, size))
    try:
        yield
    finally:
        set_axes(before)


def within_axes(axes: Sequence[tuple[Any, Any]], function: Callable[..., T], *args: object) -> T:
    """As `within_axis`, for several axes: names and sizes."""
    inside = functools.partial(function, *args)
    for name, size in reversed(axes):
        inside = functools.partial(within_axis, name, size, inside)
    return inside()


def on_devices(axes: Sequence[tuple[Any, int]], function: Callable[..., T], *args: object) -> T:
    """As `within_axes`, inside one more map over devices."""
    return within_axes([(DEVICES, in_scope(DEVICES, 0) + 1), *axes], function, *args)
