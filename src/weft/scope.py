"""The scope in which a program is traced, which is a part of its key.

It consists of named axes, from `vmap(axis_name=…)` and others, and the values of `Mark`s.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from .config import set_axes, thread

T = TypeVar("T")


class Mark:
    """A name in the scope that is not an axis but affects programs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


DEVICES = Mark("maps over devices")
"""The number of maps over devices around the current trace."""
MESH = Mark("mesh")
"""The mesh of the innermost `with mesh:`."""


def in_scope(mark: Mark, default: object = None) -> Any:
    """The value of a mark in this thread."""
    for name, value in thread.axes:
        if name is mark:
            return value
    return default


def within_axis(name: object, size: object, function: Callable[..., T], *args: object) -> T:
    """The result of `function(*args)` with a named axis in scope, in this thread.

    It hides an outer axis of that name. `name` may be a `Mark`, and `size` its value. Programs
    traced inside differ from those outside, since the axes are in `thread.key`.

    The `try` restores the scope after an interrupt, see `weft.core.trace.under`. An interrupt may
    come before the call in `finally`, which is then repeated.
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
    """The axes in scope with one more; raises an error if it is not hashable."""
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
    """Like `within_axis`, for several axes: names and sizes."""
    inside = functools.partial(function, *args)
    for name, size in reversed(axes):
        inside = functools.partial(within_axis, name, size, inside)
    return inside()


def on_devices(axes: Sequence[tuple[Any, int]], function: Callable[..., T], *args: object) -> T:
    """Like `within_axes`, inside one more map over devices."""
    return within_axes([(DEVICES, in_scope(DEVICES, 0) + 1), *axes], function, *args)
