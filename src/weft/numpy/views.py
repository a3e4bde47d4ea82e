"""`x.view(dtype)`: the bits of an array read as another dtype."""

from typing import Any

from .. import dtypes
from ..errors import ShapeError
from ..extended_dtypes import is_extended, no_numbers
from ..primitives import comparison, complex_numbers, conversion, structural
from .creation import wanted_dtype
from .elementwise import imag, real
from .joining import concatenate
from .promotion import cast, noted


def view(x: Any, dtype: Any = None) -> Any:
    """The bits of an array read as another dtype."""
    if dtype is None:
        return x
    wanted = wanted_dtype("view", dtype)
    found = x.aval.dtype
    if wanted == found:
        return x
    if is_extended(found) or is_extended(wanted):
        raise noted(no_numbers("view", f"{x.aval}, or dtype {wanted}"))
    if not x.aval.ndim and wanted.itemsize != found.itemsize:
        raise noted(
            ShapeError(
                f"view: {x.aval} without axes can't be read as {wanted.name}, of another width"
            )
        )
    if dtypes.is_bool(wanted):
        octets = x if found.itemsize == 1 else view(x, dtypes.uint8)
        return comparison.ne(octets, structural.zeros(octets.aval))
    if dtypes.is_bool(found):
        x = cast(x, dtypes.uint8)
    if dtypes.is_complex(found) or dtypes.is_complex(wanted):
        return _complex_view(x, wanted)
    old, new = dtypes.bit_width(x.aval.dtype), dtypes.bit_width(wanted)
    shape = x.aval.shape
    if new > old:
        ratio = new // old
        if shape[-1] % ratio:
            raise noted(
                ShapeError(
                    f"view: the last axis of {x.aval} can't be read as {wanted.name}: its length "
                    f"must be a multiple of {ratio}"
                )
            )
        x = structural.reshape(x, shape=(*shape[:-1], shape[-1] // ratio, ratio))
    out = conversion.bitcast_convert_type(x, dtype=wanted)
    if new < old:
        out = structural.reshape(out, shape=(*shape[:-1], shape[-1] * (old // new)))
    return out


def _complex_view(x: Any, wanted: Any) -> Any:
    """Complex numbers as pairs of real ones, and the reverse."""
    found = x.aval.dtype
    if dtypes.is_complex(found):
        real_dtype = dtypes.real_of(found)
        parts = [structural.reshape(p, shape=(*p.shape, 1)) for p in (real(x), imag(x))]
        pairs = concatenate(parts, -1)
        flat = structural.reshape(pairs, shape=(*x.shape[:-1], x.shape[-1] * 2))
        return view(flat, wanted) if wanted != real_dtype else flat
    real_dtype = dtypes.real_of(wanted)
    flat = view(x, real_dtype)
    pairs = structural.reshape(flat, shape=(*flat.shape[:-1], flat.shape[-1] // 2, 2))
    return complex_numbers.complex_(pairs[..., 0], pairs[..., 1])
