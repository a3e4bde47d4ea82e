"""from_dlpack, to_dlpack, is_supported_dtype: arrays shared with other libraries by DLPack, without
a copy where possible."""

from typing import Any

from . import dtypes
from .core.array import Array, Tracer
from .core.source import located
from .numpy.from_data import from_dlpack as array_from_dlpack
from .typing import DTypeLike

__all__ = ["from_dlpack", "is_supported_dtype", "to_dlpack"]


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """True if arrays of a dtype can be shared by DLPack: all except dtypes of less than a byte.

    Example:
      >>> from weft import dlpack
      >>> dlpack.is_supported_dtype("bfloat16"), dlpack.is_supported_dtype("int4")
      (True, False)
    Source: JAX documentation, `jax.dlpack.is_supported_dtype`.
    """
    own = dtypes.named_dtype(dtype)
    return own in dtypes.DTYPES and dtypes.bit_width(own) >= 8


@located
def to_dlpack(x: Array) -> Any:
    """A DLPack capsule of an array, for another library's `from_dlpack`.

    Args:
      x: the array. Its memory is shared or copied; the other library must not write to it.
    Returns: a capsule, which can be read once. Libraries that accept arrays
      (`torch.from_dlpack(x)`) need no capsule.
    Raises: TypeError: `x` is not an array. TracerArrayConversionError: it is being traced.
    Example:
      >>> import weft.numpy as np
      >>> from weft import dlpack
      >>> "dltensor" in str(dlpack.to_dlpack(np.ones(3)))
      True
    Source: the DLPack specification.
    """
    if isinstance(x, Tracer):
        return x.__array__()  # raises the error for a tracer
    if not isinstance(x, Array):
        raise TypeError(f"to_dlpack: expected an array; got {type(x).__name__} {x!r:.60}")
    return x.__dlpack__()


class Capsule:
    """A bare capsule as an argument of `from_dlpack`; it names no device, so it is on the CPU."""

    __slots__ = ("capsule",)

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@located
def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Array:
    """An array from another library, or from a DLPack capsule in the memory of the CPU.

    Args:
      external_array: anything with `__dlpack__`, or a capsule.
      device: the device to put it on.
      copy: True copies; otherwise memory is shared if possible.
    Returns: array. Shared memory must no longer be written to.
    Example:
      >>> import numpy
      >>> from weft import dlpack
      >>> dlpack.from_dlpack(numpy.arange(3, dtype="int32"))
      Array([0, 1, 2], dtype=int32)
    Source: the DLPack specification.
    """
    x = external_array
    if type(x).__name__ == "PyCapsule":
        x = Capsule(x)
    return array_from_dlpack(x, device=device, copy=copy)
