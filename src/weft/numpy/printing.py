"""Arrays as text: array_repr, array_str, and NumPy's print options. The text is NumPy's, with the
dtype."""

from typing import Any

import numpy as np

from ..extended_dtypes import is_extended
from ..primitives.prng_keys import random_unwrap
from .axes import as_int, result_length
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
    """The string representation of an array, with its dtype; NumPy's print options apply.

    Example:
      >>> np.array_repr(np.arange(3.0))
      'Array([0., 1., 2.], dtype=float32)'
    """
    x = value("array_repr", arr, "arr")
    _check_format("array_repr", max_line_width, precision)
    array = x.concrete()
    if array is None or array is not x:
        return repr(x)
    if array.is_deleted():
        return f"Array(deleted, shape={x.shape}, dtype={x.dtype.name})"
    kind = f"dtype={x.dtype.name}" + (", weak_type=True" if x.aval.weak_type else "")
    if not _is_local(array):
        return f"Array(shape={x.shape}, {kind})"
    if is_extended(x.dtype):
        return f"Array({x.shape}, {kind}) overlaying:\n{_words(array)}"
    if not x.size and x.shape != (0,):
        kind = f"shape={x.shape}, {kind}"
    text = _text(array, "Array(", max_line_width, precision, suppress_small, separator=", ")
    last_width = len(text) - (text.rfind("\n") + 1) + (len("Array(") if "\n" not in text else 0)
    width = max_line_width or np.get_printoptions()["linewidth"]
    separator = "\n" + " " * len("Array(") if last_width + len(kind) + 3 > width else " "
    return f"Array({text},{separator}{kind})"


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The elements of an array as a string.

    Example:
      >>> np.array_str(np.arange(3.0))
      '[0. 1. 2.]'
    """
    x = value("array_str", a, "a")
    _check_format("array_str", max_line_width, precision)
    array = x.concrete()
    if array is None or array is not x:
        return str(x)
    if array.is_deleted():
        return "deleted"
    if not _is_local(array):
        return array_repr(array)
    if is_extended(x.dtype):
        return array_repr(array)
    if not x.ndim:
        return str(np.asarray(array.host())[()])
    return _text(array, "", max_line_width, precision, suppress_small, separator=" ")


def _check_format(name: str, max_line_width: Any, precision: Any) -> None:
    """Raises an error for options of a format that are not numbers."""
    if max_line_width is not None:
        as_int(name, max_line_width, "max_line_width")
    if precision is not None:
        result_length(name, precision, "precision")


def _words(keys: Any) -> str:
    """The words of random keys as a string."""
    return str(np.asarray(random_unwrap(keys).host()))


def _is_local(array: Any) -> bool:
    """True if this process has all elements; it may have only a part of a distributed array."""
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
