"""Array methods that are not functions of NumPy: view, byteswap, to_device."""

from typing import Any

from .. import dtypes
from ..errors import ShapeError
from ..extended_dtypes import is_extended, no_numbers
from ..primitives import comparison, complex_numbers, conversion, creation, structural
from .complex_numbers import imag, real
from .creation import dtype_argument, on_device
from .joining import concatenate
from .promotion import cast, noted
from .rearranging import flip


def byteswap(x: Any) -> Any:
    """The array with the bytes of each element (of each part of a complex element) reversed."""
    dtype = x.aval.dtype
    if dtypes.is_complex(dtype):
        return complex_numbers.complex_(byteswap(real(x)), byteswap(imag(x)))
    if dtype.itemsize == 1:
        return x
    octets = conversion.bitcast_convert_type(x, dtype=dtypes.uint8)
    return conversion.bitcast_convert_type(flip(octets, -1), dtype=dtype)


def to_device(x: Any, device: Any, stream: Any = None) -> Any:
    """The array moved to a device."""
    if stream is not None:
        raise noted(
            ValueError(
                f"to_device: stream must be None: XLA orders its own work; got {stream!r:.40}"
            )
        )
    return on_device(x, device)


def view(x: Any, dtype: Any = None) -> Any:
    """The bits of an array reinterpreted as another dtype."""
    if dtype is None:
        return x
    new_dtype = dtype_argument("view", dtype)
    old_dtype = x.aval.dtype
    if new_dtype == old_dtype:
        return x
    if is_extended(old_dtype) or is_extended(new_dtype):
        raise noted(no_numbers("view", f"{x.aval}, or dtype {new_dtype}"))
    if not x.aval.ndim and new_dtype.itemsize != old_dtype.itemsize:
        raise noted(
            ShapeError(
                f"view: {x.aval} without axes cannot be viewed as {new_dtype.name}, of another "
                "width"
            )
        )
    if dtypes.is_bool(new_dtype):
        octets = x if old_dtype.itemsize == 1 else view(x, dtypes.uint8)
        return comparison.ne(octets, creation.zeros(octets.aval))
    if dtypes.is_bool(old_dtype):
        x = cast(x, dtypes.uint8)
    if dtypes.is_complex(old_dtype) or dtypes.is_complex(new_dtype):
        return _complex_view(x, new_dtype)
    old_width, new_width = dtypes.bit_width(x.aval.dtype), dtypes.bit_width(new_dtype)
    shape = x.aval.shape
    if new_width > old_width:
        ratio = new_width // old_width
        if shape[-1] % ratio:
            raise noted(
                ShapeError(
                    f"view: the last axis of {x.aval} cannot be viewed as {new_dtype.name}: its "
                    f"length must be a multiple of {ratio}"
                )
            )
        x = structural.reshape(x, shape=(*shape[:-1], shape[-1] // ratio, ratio))
    out = conversion.bitcast_convert_type(x, dtype=new_dtype)
    if new_width < old_width:
        out = structural.reshape(out, shape=(*shape[:-1], shape[-1] * (old_width // new_width)))
    return out


def _complex_view(x: Any, new_dtype: Any) -> Any:
    """Views complex numbers as pairs of real numbers, or the reverse."""
    old_dtype = x.aval.dtype
    if dtypes.is_complex(old_dtype):
        real_dtype = dtypes.real_of(old_dtype)
        parts = [structural.reshape(p, shape=(*p.shape, 1)) for p in (real(x), imag(x))]
        pairs = concatenate(parts, -1)
        flat_pairs = structural.reshape(pairs, shape=(*x.shape[:-1], x.shape[-1] * 2))
        return view(flat_pairs, new_dtype) if new_dtype != real_dtype else flat_pairs
    real_dtype = dtypes.real_of(new_dtype)
    flat_pairs = view(x, real_dtype)
    pairs = structural.reshape(
        flat_pairs, shape=(*flat_pairs.shape[:-1], flat_pairs.shape[-1] // 2, 2)
    )
    return complex_numbers.complex_(pairs[..., 0], pairs[..., 1])
