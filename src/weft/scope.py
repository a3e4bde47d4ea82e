"""What is in scope where a program is traced, and so a part of the key of what is traced.

Named axes, which `vmap(axis_name=…)` and others bring in; and what `Mark`s stand for.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from .config import set_axes, thread


class Mark:
    """A name in the scope that is no axis: it stands for something else that programs depend on."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return self.what


DEVICES = Mark("maps over devices")
"""How many maps over devices surround what is being traced."""
MESH = Mark("mesh")
"""The mesh of the innermost `with mesh:`."""


def in_scope(mark: Mark, default: Any = None) -> Any:
    """What a mark stands for in this thread."""
    for name, value in thread.axes:
        if name is mark:
            return value
    return default


@contextmanager
def named_axis(name: Any, size: Any) -> Iterator[None]:
    """Has a named axis in scope within a block, in this thread; one of that name is hidden.

    A `Mark` in the place of the name brings its value in.

    Programs traced inside are others than those outside: the axes are in `thread.key`. No callback
    is called, since what primitives keep doesn't depend on axes.
    """
    before = thread.__dict__.get("axes")
    inner = (*[a for a in before or () if a[0] != name], (name, size))
    hash(inner)  # what can't be in a key is refused before anything has changed
    set_axes(inner)
    try:
        yield
    finally:
        set_axes(before)


@contextmanager
def on_devices(axes: Sequence[tuple[Any, int]]) -> Iterator[None]:
    """Traces, within a block, what each device of a map runs; `axes` are names and sizes."""
    with ExitStack() as scopes:
        scopes.enter_context(named_axis(DEVICES, in_scope(DEVICES, 0) + 1))
        for name, size in axes:
            scopes.enter_context(named_axis(name, size))
        yield
