"""Arrays from existing data: frombuffer, from_dlpack, fromfile, fromiter, fromstring; and
fromfunction."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, from_host
from ..core.aval import aval
from ..core.placement import on_device as placed_on, type_on
from ..core.source import located
from ..runtime import capsules, device_memory
from ..transforms.arguments import check_callable, described
from ..typing import DTypeLike
from .axes import as_int, raised_inside, shape_tuple
from .creation import array, copied, dtype_argument, from_numpy_array, on_device
from .promotion import cast, noted

__all__ = ["from_dlpack", "frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring"]


def _check_numbers(name: str, count: Any, offset: Any = 0) -> None:
    """Raises an error for a count or an offset that is not an int, or a negative offset."""
    as_int(name, count, "count")
    if as_int(name, offset, "offset") < 0:
        raise noted(ValueError(f"{name}: offset must not be negative; got {offset}"))


@located
def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """A one-dimensional array with a copy of the bytes of a buffer.

    Args:
      buffer: bytes, or another object with the buffer protocol.
      dtype: dtype of the elements.
      count: the number of elements to read; -1 reads all.
      offset: the number of bytes to skip.
    Returns: array [count].
    Example:
      >>> np.frombuffer(b"abc", dtype="uint8")
      Array([97, 98, 99], dtype=uint8)
    """
    _check_numbers("frombuffer", count, offset)
    elements: Any = _read("frombuffer", np.frombuffer, buffer, dtype, count, offset)
    return from_numpy_array(elements, None, True)


def _read(name: str, function: Any, source: Any, dtype: Any, *options: Any, **named: Any) -> Any:
    """The array that a function of NumPy reads from external data. Python's float, int and complex
    mean the default widths. NumPy's errors get the name of the function and what came."""
    try:
        read_dtype: Any = (
            dtypes.canonicalize_dtype(dtype)
            if any(dtype is kind for kind in (float, int, complex))
            else dtypes.named_dtype(dtype)
        )
    except TypeError as error:
        raise noted(TypeError(f"{name}: {error}")) from None
    try:
        return function(source, read_dtype, *options, **named)
    except (AttributeError, TypeError, ValueError) as error:
        if raised_inside(error):  # by the user's iterator or file
            raise
        parameter, expected = _SOURCES[name]
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise noted(
            kind(
                f"{name}: {parameter} must be {expected}; got {described(source)} for dtype "
                f"{read_dtype}\n  NumPy's reason: {error}"
            )
        ) from None


_SOURCES = {
    "frombuffer": (
        "buffer",
        "bytes, or another object with the buffer protocol, of whole elements",
    ),
    "fromfile": ("file", "a path, or a file open for reading bytes"),
    "fromiter": ("iter", "an iterable of numbers"),
    "fromstring": ("string", "numbers with the separator sep between them"),
}
"""The parameter that is read, and what it must be, by function."""


@located
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array that shares memory with an array of another library, by DLPack.

    Args:
      x: an object with `__dlpack__`, on the CPU or on an accelerator that weft uses.
      device: the device of the result.
      copy: True copies; otherwise memory is shared if possible, and must not be written to.
    Returns: array.
    Example:
      >>> np.from_dlpack(np.arange(3.0))
      Array([0., 1., 2.], dtype=float32)
    """
    if isinstance(x, Array):
        return on_device(copied(x) if copy else x, device)
    if not hasattr(x, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack: x must have the method __dlpack__; got {described(x)}\n"
            "  fix: weft.numpy.array(x)"
        )
    if x.__dlpack_device__()[0] in device_memory.KINDS.values():
        buffer, shape, dtype, source_device = device_memory.received(x)
        array = Array(None, type_on(aval(shape, dtype), placed_on(source_device)), buffer)
        array = cast(array, dtypes.canonicalize_dtype(dtype))
        return on_device(copied(array) if copy else array, device)
    host = _imported(x)
    return on_device(from_numpy_array(host, None, bool(copy)), device)


def _imported(x: Any) -> np.ndarray:
    """A NumPy array that shares the memory of another library's array on the CPU."""
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError):  # bfloat16, which NumPy does not support
        if x.__dlpack_device__()[0] not in capsules.ON_HOST:
            raise
        host = capsules.imported(x.__dlpack__())
        if host is None:
            raise
        return host


@located
def fromfile(
    file: Any, dtype: DTypeLike = float, count: int = -1, sep: str = "", offset: int = 0
) -> Array:
    """A one-dimensional array with the contents of a binary or text file; see `numpy.fromfile`.

    Returns: array [count].
    Example:
      >>> import numpy
      >>> numpy.arange(3, dtype="float32").tofile("numbers.bin")
      >>> np.fromfile("numbers.bin", "float32")
      Array([0., 1., 2.], dtype=float32)
    """
    _check_numbers("fromfile", count, offset)
    return array(_read("fromfile", np.fromfile, file, dtype, count, sep, offset))


@located
def fromiter(iter: Iterable[Any], dtype: DTypeLike, count: int = -1) -> Array:
    """A one-dimensional array with the items of an iterable.

    Args:
      dtype: dtype of the items.
      count: the number of items to read; -1 reads all.
    Returns: array [count].
    Example:
      >>> np.fromiter(range(3), dtype=int)
      Array([0, 1, 2], dtype=int32)
    """
    _check_numbers("fromiter", count)
    with np.errstate(all="ignore"):
        host = _read("fromiter", np.fromiter, iter, dtype, count)
    return array(host)


@located
def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """A one-dimensional array with the numbers in a string.

    Args:
      sep: the separator between numbers.
      count: the number of numbers to read; -1 reads all.
    Returns: array [count].
    Example:
      >>> np.fromstring("1 2 3", dtype=int, sep=" ")
      Array([1, 2, 3], dtype=int32)
    """
    _check_numbers("fromstring", count)
    return array(_read("fromstring", np.fromstring, string, dtype, count, sep=sep))


@located
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: DTypeLike = float, **kwargs: Any
) -> Array:
    """An array computed by a function of its indices.

    Args:
      function: called once, with an array of indices for each axis.
      shape: the lengths of the axes.
      dtype: dtype of the indices.
      kwargs: passed to the function.
    Example:
      >>> np.fromfunction(lambda i, j: i + 10 * j, (2, 2), dtype=int)
      Array([[ 0, 10],
             [ 1, 11]], dtype=int32)
    """
    check_callable(function, "fromfunction")
    lengths = shape_tuple("fromfunction", shape)
    index_dtype = dtype_argument("fromfunction", dtype)
    grids = np.indices(lengths)
    return function(*(from_host(g.astype(index_dtype), copy=False) for g in grids), **kwargs)
