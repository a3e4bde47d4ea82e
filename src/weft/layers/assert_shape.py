"""AssertShape, AssertFunction and assert_shape: checks of a layer's input and output shapes,
written as `...a->...b`.
"""

import functools
import re
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import ShapeError
from ..user_lines import noted
from .base import Layer
from .layer_errors import creation_site, short_path, shortened
from .serial import Serial

__all__ = ["AssertFunction", "AssertShape", "assert_shape"]

_SPECIFICATION = re.compile(r"[A-Za-z0-9.,]*")
_ELLIPSIS = "..."


class _Tensor:
    """The specification of one tensor: the axes before and after an ellipsis."""

    __slots__ = ("after", "before", "is_open")

    def __init__(self, text: str) -> None:
        before, dots, after = text.partition(_ELLIPSIS)
        if "." in before + after:
            raise ValueError("AssertShape: an ellipsis is '...', once at most in a tensor")
        self.before, self.after, self.is_open = before, after, bool(dots)


@functools.lru_cache(256)
def _tensors(specification: str) -> tuple[_Tensor, ...]:
    return tuple(_Tensor(text) for text in specification.split(","))


class AssertShape(Layer):
    """A layer that returns its inputs, and checks their shapes.

    Args:
      spec: tensors separated by commas. Each letter stands for a length, the same wherever it
        occurs; a digit is a fixed length; `...` stands for any number of axes, the same wherever it
        occurs, at most once in a tensor. An empty specification means a scalar.
      message: the end of the error message; by default, the line that made the layer.
      visible_layer: whether to show the layer when a network is printed.

    Raises: AssertionError: the specification has invalid characters. ValueError (when called): the
      shapes do not match.

    Example:
      >>> from weft import layers as tl
      >>> tl.AssertShape("ab,b", visible_layer=True)
      AssertShape_in2_out2

    Source: Trax's `layers.assert_shape.AssertShape`.
    """

    _needs_key = False

    def __init__(self, spec: str, message: str | None = None, visible_layer: bool = False) -> None:
        if not isinstance(spec, str) or not _SPECIFICATION.fullmatch(spec):
            raise noted(
                AssertionError(
                    "AssertShape: a specification has letters, digits, '...' and commas; got "
                    f"{spec!r}"
                )
            )
        n = spec.count(",") + 1
        super().__init__(n, n, "AssertShape" if visible_layer else "")
        path, line = creation_site()
        self._spec = spec
        self._message = f"Defined at {short_path(path)}:{line}" if message is None else message
        self._sizes: dict[str, Any] = {}
        self._linked = False

    def __repr__(self) -> str:
        return super().__repr__() if self._name else ""

    def forward(self, xs: Any) -> Any:
        """The unchanged inputs."""
        if not self._linked:
            self._sizes.clear()
        arrays = xs if isinstance(xs, list | tuple) else (xs,)
        tensors = _tensors(self._spec)
        if len(arrays) != len(tensors):
            raise self._mismatch(arrays)
        for x, tensor in zip(arrays, tensors, strict=True):
            if not _fits(tensor, tuple(x.shape), self._sizes):
                raise self._mismatch(arrays)
        return xs

    def _mismatch(self, xs: Any) -> ShapeError:
        shapes = shortened([tuple(x.shape) for x in xs])
        return ShapeError(
            f"AssertShape Error. Expected {self._spec}, got {shapes} with dict {self._sizes}. "
            f"{self._message}"
        )


def _fits(tensor: _Tensor, shape: tuple[Any, ...], sizes: dict[str, Any]) -> bool:
    """True if a shape is as specified; records the lengths of letters."""
    end = len(shape) - len(tensor.after)
    n_before = len(tensor.before)
    if n_before > end or (not tensor.is_open and n_before != end):
        return False
    items: list[Any] = [(_ELLIPSIS, shape[n_before:end])] if tensor.is_open else []
    items += zip(tensor.before, shape, strict=False)
    items += zip(tensor.after, shape[end:], strict=True)
    for name, length in items:
        expected = int(name) if name.isdigit() else sizes.setdefault(name, length)
        if expected is not length and not _equal(expected, length):
            return False
    return True


def _equal(a: Any, b: Any) -> bool:
    """True if two lengths are the same; True with a warning if that can't be known."""
    try:
        if a == b:
            return True
        is_known = a == a and b == b
    except TypeError:
        is_known = False
    if not is_known:
        warnings.warn("AssertShape: an unknown length is not checked", stacklevel=2)
    return not is_known


def _both(specification: Any) -> list[str]:
    """The parts of a specification on inputs and on outputs."""
    parts = specification.split("->") if isinstance(specification, str) else []
    if len(parts) != 2 or not all(map(_SPECIFICATION.fullmatch, parts)):
        raise noted(
            ValueError(
                f"assert_shape: expected 'inputs->outputs', such as '...a->...b'; got "
                f"{specification!r}"
            )
        )
    return parts


def _linked(specification: Any, message: str | None) -> tuple[AssertShape, AssertShape]:
    """The checks of inputs and of outputs, which share the lengths of letters."""
    parts = _both(specification)
    path, line = creation_site()
    message = f"Defined at {short_path(path)}:{line}" if message is None else message
    before = AssertShape(parts[0], f"{message} function input")
    after = AssertShape(parts[1], f"{message} function output")
    after._linked, after._sizes = True, before._sizes
    return before, after


def AssertFunction(specification: str, layer: Layer, message: str | None = None) -> Layer:
    """A layer whose inputs and outputs are checked: `Serial(before, layer, after)`.

    Args:
      specification: shapes of inputs and outputs, as 'ab,bc->ac'; see `AssertShape`.
      layer: the layer.
      message: the end of the error's text; by default, the line that called this.
    Returns: the layer, with weights `((), w, ())`.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.AssertFunction("...a->...b", tl.Dense(3))
      >>> _ = layer.init(np.ones((2, 5)))
      >>> layer(np.ones((2, 5))).shape
      (2, 3)
    Source: Trax's `layers.assert_shape.AssertFunction`.
    """
    before, after = _linked(specification, message)
    return Serial(before, layer, after)


def assert_shape(specification: str) -> Callable[[Any], Any]:
    """A decorator for a class of layers, or a function that returns one, whose shapes it checks.

    Args:
      specification: shapes of inputs and outputs, as '...a->...b'; see `AssertShape`.
    Returns: the decorator. It returns a class with a checked `forward`, or a function whose layer
      stands between two layers that check.
    Example:
      >>> from weft import layers as tl
      >>> @tl.assert_shape("ab->a")
      ... class Sum(tl.Layer):
      ...     def forward(self, x):
      ...         return x.sum(axis=1)
      >>> Sum()(np.ones((2, 3))).shape
      (2,)
    Source: Trax's `layers.assert_shape.assert_shape`.
    """

    _both(specification)

    def decorated(target: Any) -> Any:
        return (_of_class if isinstance(target, type) else _of_function)(specification, target)

    return decorated


def _of_class(specification: str, cls: Any) -> Any:
    make, forward, needs_key = cls.__init__, cls.forward, cls._needs_key

    @functools.wraps(make)
    def checked_init(self: Any, *args: Any, **kwargs: Any) -> None:
        checks = _linked(specification, None)
        make(self, *args, **kwargs)
        self.__dict__.setdefault("_checks", {})[specification] = checks

    @functools.wraps(forward)
    def checked_forward(self: Any, x: Any) -> Any:
        before, after = self._checks[specification]
        before.forward(x)
        y = forward(self, x)
        after.forward(y)
        return y

    cls.__init__, cls.forward, cls._needs_key = checked_init, checked_forward, needs_key
    return cls


def _of_function(specification: str, f: Callable[..., Layer]) -> Callable[..., Layer]:
    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Layer:
        layer = f(*args, **kwargs)
        return AssertFunction(specification, layer)

    return checked
