"""ShapeDtype and signature: shapes and dtypes without elements, nested like the inputs.
splice_signatures joins them; assert_shape_equals and assert_same_shape check arrays.

A layer is initialized for a signature. It may describe arrays of any backend.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .user_lines import noted

__all__ = [
    "ShapeDtype",
    "assert_same_shape",
    "assert_shape_equals",
    "signature",
    "splice_signatures",
]


class ShapeDtype:
    """The shape and the dtype of an array, without its elements.

    Args:
      shape: tuple or list of ints; `None` for an unknown length.
      dtype: anything that NumPy accepts as a dtype, or a dtype of TensorFlow; it is stored
        unchanged.

    Raises: TypeError: `shape` is not a tuple or list of ints.

    Two are equal if their shapes and dtypes are; `len` of one is 1, as it describes one array.

    Example:
      >>> ShapeDtype((2, 3))
      ShapeDtype{shape:(2, 3), dtype:<class 'numpy.float32'>}
      >>> ShapeDtype([2, 3], np.int32) == signature(np.zeros((2, 3), np.int32))
      True

    Source: Trax documentation, `shapes.ShapeDtype`.
    """

    __slots__ = ("dtype", "shape")

    shape: Any
    dtype: Any

    def __init__(self, shape: Any, dtype: Any = np.float32) -> None:
        if not isinstance(shape, tuple):
            if isinstance(shape, list) or hasattr(shape, "as_list"):  # the latter is TensorFlow's
                shape = tuple(shape)
            else:
                raise noted(TypeError(f"shape must be tuple or list; got: {shape!r}"))
        for length in shape:
            if not (length is None or hasattr(type(length), "__index__")):
                raise noted(TypeError(f"ShapeDtype: lengths are ints or None; got shape {shape}"))
        self.shape = shape
        self.dtype = getattr(dtype, "as_numpy_dtype", dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ShapeDtype)
            and self.shape == other.shape
            and bool(self.dtype == other.dtype)
        )

    __hash__ = None  # type: ignore[assignment]  # np.float32 and its dtype are equal, with two hashes

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return f"ShapeDtype{{shape:{self.shape}, dtype:{self.dtype}}}"

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {"shape": self.shape, "dtype": self.dtype}

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        self.__init__(state[1]["shape"], state[1]["dtype"])  # type: ignore[misc]

    def as_tuple(self) -> tuple[Any, Any]:
        """`(shape, dtype)`."""
        return self.shape, self.dtype

    def replace(self, shape: Any = None, dtype: Any = None, **ignored: Any) -> "ShapeDtype":
        """A copy with another shape, another dtype, or both; other keywords are ignored.

        Example:
          >>> ShapeDtype((2, 3)).replace(shape=(4,))
          ShapeDtype{shape:(4,), dtype:<class 'numpy.float32'>}
        """
        return ShapeDtype(
            self.shape if shape is None else shape, self.dtype if dtype is None else dtype
        )


def signature(obj: Any) -> Any:
    """The shapes and dtypes of nested arrays.

    Args:
      obj: an array of any backend, or another object with a shape and a dtype; or lists, tuples and
        dicts of these.
    Returns: the same nesting, with a `ShapeDtype` in place of each array.
    Raises: TypeError: an object lacks a shape or a dtype, such as a Python number.
    Example:
      >>> signature((np.zeros((2, 3)), [np.zeros(4)]))[1]
      [ShapeDtype{shape:(4,), dtype:float32}]
    Source: Trax documentation, `shapes.signature`.
    """
    if isinstance(obj, list | tuple):
        items = [signature(item) for item in obj]
        if isinstance(obj, list):
            return items
        return type(obj)(*items) if hasattr(obj, "_fields") else tuple(items)
    if isinstance(obj, dict):
        return {key: signature(value) for key, value in obj.items()}
    try:
        return ShapeDtype(obj.shape, obj.dtype)
    except AttributeError:
        pass
    raise noted(
        TypeError(
            f"signature: expected arrays, which have a shape and a dtype; got {type(obj).__name__}"
            "\n  fix: numpy.asarray makes an array of a number or of a list of them"
        )
    )


def splice_signatures(*sigs: Any) -> Any:
    """Joins signatures into one, in the order of a data stack.

    Args:
      *sigs: each a `ShapeDtype`, or a list or tuple of them, which is expanded.
    Returns: a tuple of all of them; a single one is returned itself.
    Example:
      >>> splice_signatures(ShapeDtype((2,)), [ShapeDtype((3,)), ShapeDtype((4,))])[2].shape
      (4,)
    Source: Trax documentation, `shapes.splice_signatures`.
    """
    items: list[Any] = []
    for sig in sigs:
        items += sig if isinstance(sig, list | tuple) else [sig]
    return items[0] if len(items) == 1 else tuple(items)


def assert_shape_equals(array: Any, shape: Sequence[int]) -> None:
    """Raises an AssertionError if an array does not have the given shape.

    Example:
      >>> assert_shape_equals(np.zeros((2, 3)), (2, 3))
    """
    if tuple(array.shape) != tuple(shape):
        raise AssertionError(f"Invalid shape {tuple(array.shape)}; expected {tuple(shape)}.")


def assert_same_shape(array1: Any, array2: Any) -> None:
    """Raises an AssertionError if two arrays have different shapes.

    Example:
      >>> assert_same_shape(np.zeros((2, 3)), np.ones((2, 3)))
    """
    assert_shape_equals(array1, array2.shape)
