"""The texts of arrays: as NumPy's, with the dtype. Knows nothing of tracing."""

from typing import Any

import numpy as np

from ..extended_dtypes import is_extended
from ..primitives.keys import random_unwrap
from .promotion import value

__all__ = ["array_repr", "array_str", "get_printoptions", "printoptions", "set_printoptions"]

get_printoptions = np.get_printoptions
set_printoptions = np.set_printoptions
printoptions = np.printoptions


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The array as text that shows its dtype; NumPy's print options hold.

    Example:
      >>> np.array_repr(np.arange(3.0))
      'Array([0., 1., 2.], dtype=float32)'
    """
    x = value("array_repr", arr, "arr")
    array = x.concrete()
    if array is None or array is not x:
        return repr(x)
    if array.is_deleted():
        return f"Array(deleted, shape={x.shape}, dtype={x.dtype.name})"
    kind = f"dtype={x.dtype.name}" + (", weak_type=True" if x.aval.weak_type else "")
    if not _is_here(array):
        return f"Array(shape={x.shape}, {kind})"
    if is_extended(x.dtype):
        return f"Array({x.shape}, {kind}) overlaying:\n{_words(array)}"
    if not x.size and x.shape != (0,):
        kind = f"shape={x.shape}, {kind}"
    text = _text(array, "Array(", max_line_width, precision, suppress_small, separator=", ")
    last = len(text) - (text.rfind("\n") + 1) + (len("Array(") if "\n" not in text else 0)
    width = max_line_width or np.get_printoptions()["linewidth"]
    between = "\n" + " " * len("Array(") if last + len(kind) + 3 > width else " "
    return f"Array({text},{between}{kind})"


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The array's elements as text.

    Example:
      >>> np.array_str(np.arange(3.0))
      '[0. 1. 2.]'
    """
    x = value("array_str", a, "a")
    array = x.concrete()
    if array is None or array is not x:
        return str(x)
    if array.is_deleted():
        return "deleted"
    if not _is_here(array):
        return array_repr(array)
    if is_extended(x.dtype):
        return array_repr(array)
    if not x.ndim:
        return str(np.asarray(array.host())[()])
    return _text(array, "", max_line_width, precision, suppress_small, separator=" ")


def _words(keys: Any) -> str:
    """The words of keys as text."""
    return str(np.asarray(random_unwrap(keys).host()))


def _is_here(array: Any) -> bool:
    """True if this process has all elements: of an array over several it may have a part."""
    return bool(array.is_fully_addressable or array.is_fully_replicated)


def _text(
    array: Any, prefix: str, width: Any, precision: Any, suppress_small: Any, separator: str
) -> str:
    host = np.asarray(array.host())
    if not host.size:
        return "[]"
    return np.array2string(
        host,
        max_line_width=width,
        precision=precision,
        suppress_small=suppress_small,
        separator=separator,
        prefix=prefix,
        suffix="," if prefix else "",
    )
