"""StableHLO's types, attributes and constants as text.

An element of an extended dtype is written in the dtype in which it is stored.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..extended_dtypes import ExtendedDType, readable

# --- types ---

_DTYPES = {
    "bool": "i1",
    "void": "i1",  # float0, the tangents of integers: never read
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float4_e2m1fn": "f4E2M1FN",
    **{f"int{n}": f"i{n}" for n in (2, 4, 8, 16, 32, 64)},
    **{f"uint{n}": f"ui{n}" for n in (2, 4, 8, 16, 32, 64)},
}
_DTYPES.update({d.name: _DTYPES[d.stored.name] for d in ExtendedDType.by_name.values()})


def element(dtype: Any) -> str:
    """`f32` for float32."""
    return _DTYPES[dtype.name]


def tensor(aval: Any) -> str:
    """`tensor<3x4xf32>` for a shape and dtype; written once for each aval."""
    text = aval.text
    if text is None:
        dims = "".join(f"{n}x" for n in aval.shape)
        text = aval.text = f"tensor<{dims}{_DTYPES[aval.dtype.name]}>"
    return text


# --- attributes ---


def ints(values: Iterable[int]) -> str:
    """`array<i64: 0, 1>`: a list of integers."""
    inside = ", ".join(str(int(v)) for v in values)
    return f"array<i64: {inside}>" if inside else "array<i64>"


def location(name: str) -> str:
    """` loc("name")`: the name of an operation in XLA's metadata and profiles."""
    plain = "".join(c if c.isprintable() and c not in '"\\' else "_" for c in name)
    return f' loc("{plain}")'


def string(text: str) -> str:
    """A quoted string; special characters are written as hexadecimal bytes."""
    plain = [chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode()]
    return f'"{"".join(plain)}"'


_SCALARS = {
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"ui{n}" for n in (8, 16, 32, 64)},
    **{f"float{n}": f"f{n}" for n in (16, 32, 64)},
}


def value_attribute(x: object) -> str:
    """A number, string, array of one axis, or dict of them, as an attribute. Python numbers have 64
    bits.

    Raises: TypeError: any other type.
    """
    if isinstance(x, str):
        return string(x)
    if isinstance(x, dict):
        return f"{{{', '.join(f'{k} = {value_attribute(v)}' for k, v in sorted(x.items()))}}}"
    if isinstance(x, (bool, int, float, np.generic, np.ndarray)):
        array = np.asarray(x)
        if array.dtype == np.bool_ and not array.ndim:
            return "true" if array else "false"
        name = _SCALARS.get(array.dtype.name)
        if name is not None and not array.ndim:
            return f"{_element(array[()])} : {name}"
        kind = "i1" if array.dtype == np.bool_ else name
        if array.ndim == 1 and kind is not None and not kind.startswith("ui"):
            inside = ", ".join(map(_element, array))
            return f"array<{kind}: {inside}>" if inside else f"array<{kind}>"
    raise TypeError(
        "attributes must be numbers, strings, arrays of one axis, or dicts of them; got "
        f"{type(x).__name__} {x!r:.60}"
    )


def matrix(rows: object) -> str:
    """`dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`: a table of integers."""
    table = np.asarray(rows, np.int64)
    shape = "x".join(map(str, table.shape))
    if not table.size:
        return f"dense<> : tensor<{shape}xi64>"
    return f"dense<{table.tolist()}> : tensor<{shape}xi64>"


def dense(value: object) -> str:
    """The inside of `dense<…>` for an array: exact for every dtype, floats as bits."""
    array = np.asarray(value)
    if array.dtype.kind == "V":  # keys may be so
        array = readable(array)
    if array.dtype.names is not None:  # float0, which has no bits
        return "false" if array.size else ""
    flat = array.reshape(-1)
    if (
        flat.size > 1
        and (flat.view(np.uint8) == np.resize(flat[:1].view(np.uint8), flat.nbytes)).all()
    ):
        flat = flat[:1]
    if flat.size <= 1:
        return _element(flat[0]) if flat.size else ""
    if array.dtype == np.bool_:
        return _nested(array)
    if array.dtype.name in ("int2", "int4", "uint2", "uint4"):
        return _nested(array.astype(np.int8))
    return '"0x' + np.ascontiguousarray(array).tobytes().hex().upper() + '"'


def _nested(array: Any) -> str:
    return str(array.tolist()).replace("True", "true").replace("False", "false")


def _element(x: Any) -> str:
    dtype = x.dtype
    if dtype == np.bool_:
        return "true" if x else "false"
    if dtype.kind in "iu" or dtype.name in ("int2", "int4", "uint2", "uint4"):
        return str(int(x))
    if dtype.kind == "c":
        return f"({_element(x.real)}, {_element(x.imag)})"
    if np.isfinite(x.astype(np.float64)):
        text = repr(float(x))
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    bits = x.reshape(1).view(f"u{dtype.itemsize}")[0]
    return f"0x{int(bits):0{2 * dtype.itemsize}X}"
