"""Arrays in NumPy's files: save, savez, load. Pickles raise an error, so loading never runs
code."""

import os
from typing import IO, Any

import numpy as np

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..transforms.arguments import described
from .creation import array
from .promotion import noted, value

__all__ = ["load", "save", "savez"]

File = str | os.PathLike[str] | IO[bytes]

# NumPy's format cannot name these dtypes, so a field of raw bytes has the dtype's name.
_UNNAMED_DTYPES = {
    d.name: d for d in (*dtypes.SMALL_FLOATS, *dtypes.SMALL_INTS, np.dtype(dtypes.bfloat16))
}


def _check_file(name: str, file: Any, method: str) -> None:
    """Raises an error unless `file` is a path, or an object with this method of open files."""
    if not isinstance(file, (str, bytes, os.PathLike)) and not hasattr(file, method):
        purpose = "reading" if method == "read" else "writing"
        raise noted(
            TypeError(
                f"{name}: file must be a path, or a file open for {purpose} bytes; got "
                f"{described(file)}"
            )
        )


def _storable(x: Any) -> np.ndarray:
    host = np.asarray(x)
    if host.dtype.name in _UNNAMED_DTYPES:
        return host.view(np.dtype([(host.dtype.name, f"V{host.dtype.itemsize}")]))
    return host


def _restored(host: Any) -> Array:
    names = host.dtype.names
    if names and len(names) == 1 and names[0] in _UNNAMED_DTYPES:
        host = host.view(_UNNAMED_DTYPES[names[0]])
    return array(host)


@located
def save(file: File, arr: Any, allow_pickle: bool = False) -> None:
    """Writes an array to a file in NumPy's format (.npy).

    Args:
      file: a path, or a file open for writing bytes.
      arr: an array.
      allow_pickle: ignored; nothing is pickled.
    Example:
      >>> import io; f = io.BytesIO(); np.save(f, np.arange(3)); _ = f.seek(0); np.load(f)
      Array([0, 1, 2], dtype=int32)
    """
    _check_file("save", file, "write")
    np.save(file, _storable(value("save", arr, "arr")), allow_pickle=False)


@located
def savez(file: File, *args: Any, **kwds: Any) -> None:
    """Writes several arrays to a file in NumPy's format (.npz).

    Args:
      file: a path, or a file open for writing bytes.
      args: arrays, which are named arr_0, arr_1, ….
      kwds: arrays by name.
    Example:
      >>> np.savez("both.npz", x=np.arange(3), y=np.ones(2))
      >>> with np.load("both.npz") as file:
      ...     print(file["x"], file["y"])
      [0 1 2] [1. 1.]
    """
    _check_file("savez", file, "write")
    named_arrays: Any = {k: _storable(value("savez", v, k)) for k, v in kwds.items()}
    np.savez(  # type: ignore[misc]
        file,
        *(_storable(value("savez", v, f"argument {i}")) for i, v in enumerate(args)),
        **named_arrays,
    )


@located
def load(file: File, *args: Any, **kwargs: Any) -> Any:
    """Reads one or several arrays from a file in NumPy's format.

    Args:
      file: a path, or a file open for reading bytes.
      args, kwargs: as in `numpy.load`; files with pickled objects raise an error.
    Returns: array; for an .npz file NumPy's mapping from names to NumPy arrays.
    Raises: ValueError: the file has another format, or contains pickled objects.
    Example:
      >>> np.save("squares.npy", np.arange(4) ** 2)
      >>> np.load("squares.npy")
      Array([0, 1, 4, 9], dtype=int32)
    """
    if kwargs.pop("allow_pickle", False) or (len(args) > 1 and args[1]):
        raise ValueError(
            "load: allow_pickle=True is refused: a pickle can run any code\n  fix: save plain "
            "arrays"
        )
    _check_file("load", file, "read")
    options: Any = {**kwargs, "allow_pickle": False}
    out = np.load(file, *args, **options)
    return _restored(out) if isinstance(out, np.ndarray) else out
