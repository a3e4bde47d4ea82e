"""Methods of arrays that aren't functions of NumPy: byteswap, to_device."""

from typing import Any

from .. import dtypes
from ..primitives import complex_numbers, conversion
from .creation import on_device
from .elementwise import imag, real
from .promotion import noted
from .shapes import flip


def byteswap(x: Any) -> Any:
    """The array with the bytes of each element reversed; of a complex one, of each part."""
    dtype = x.aval.dtype
    if dtypes.is_complex(dtype):
        return complex_numbers.complex_(byteswap(real(x)), byteswap(imag(x)))
    if dtype.itemsize == 1:
        return x
    octets = conversion.bitcast_convert_type(x, dtype=dtypes.uint8)
    return conversion.bitcast_convert_type(flip(octets, -1), dtype=dtype)


def to_device(x: Any, device: Any, stream: Any = None) -> Any:
    """The array on a device."""
    if stream is not None:
        raise noted(
            ValueError(
                f"to_device: stream must be None: XLA orders its own work; got {stream!r:.40}"
            )
        )
    return on_device(x, device)
