"""StableHLO's names of types. Knows shapes and dtypes; knows nothing of tracing.

An element of an extended dtype is one of the dtype in which it is stored.
"""

from typing import Any

from ..extended_dtypes import ExtendedDType

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
