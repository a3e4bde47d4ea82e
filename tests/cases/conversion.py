"""Cases of conversions."""

import numpy as np

from cases.case import ALL, FLOATS, SMALLEST, Case, boolean, f32, i8, i16, i32, named
from weft import dtypes
from weft.primitives import conversion as p
from weft.primitives.structural import convert_element_type

WITHOUT = ("float64", "complex128", "int64", "uint64", *SMALLEST)
TARGETS = [d for d in dtypes.DTYPES if d.name not in WITHOUT]


def convert(x, dtype):
    if x.dtype.kind == "c" and dtype.kind != "c" and dtype != np.bool_:
        x = x.real
    return x.astype(dtype)


def view(x, dtype):
    return x.view(dtype)


CASES = [
    *(
        Case(
            convert_element_type,
            [f32(3, 4, low=0, high=7)],
            {"dtype": d},
            oracle=convert,
            dtypes=ALL,
            elementwise=True,
            differentiable=(0,) if d.name in ("float32", "complex64") else (),
        )
        for d in TARGETS
    ),
    Case(p.bitcast_convert_type, [i32(3, 4)], {"dtype": np.dtype(np.float32)}, oracle=view),
    Case(p.bitcast_convert_type, [i32(3, 4)], {"dtype": np.dtype(np.uint32)}, oracle=view),
    Case(
        p.bitcast_convert_type,
        [i32(3, 4)],
        {"dtype": np.dtype(np.int16)},
        oracle=lambda x, dtype: x.view(dtype).reshape(3, 4, 2),
    ),
    Case(
        p.bitcast_convert_type,
        [i8(3, 4)],
        {"dtype": np.dtype(np.int32)},
        oracle=lambda x, dtype: x.view(dtype)[:, 0],
    ),
    Case(p.bitcast_convert_type, [i16(3)], {"dtype": named("bfloat16")}, oracle=view),
    Case(
        p.bitcast_convert_type,
        [i8(3)],
        {"dtype": named("int4")},
        oracle=lambda x, dtype: np.stack([x << 4 >> 4, x >> 4], -1),
    ),
    Case(
        p.bitcast_convert_type,
        [np.arange(-8, 8).astype(named("int4")).reshape(4, 4)],
        {"dtype": np.dtype(np.int16)},
    ),
    Case(
        p.bitcast_convert_type, [np.arange(-8, 8).astype(named("int4"))], {"dtype": named("uint4")}
    ),
    Case(
        p.bitcast_convert_type, [boolean(3)], {"dtype": np.dtype(bool)}, oracle=lambda x, dtype: x
    ),
    *(
        Case(
            p.reduce_precision,
            [f32(3, 4)],
            {"exponent_bits": e, "mantissa_bits": m},
            dtypes=FLOATS,
            elementwise=True,
            without={
                "jvp": "tangents and cotangents are rounded too",
                "transpose": "as jvp",
                "second_order": "as jvp",
            },
        )
        for e, m in ((5, 10), (8, 7), (4, 3), (5, 2), (2, 1))
    ),
    Case(
        p.reduce_precision,
        [f32(3, 4)],
        {"exponent_bits": 5, "mantissa_bits": 10},
        differentiable=(),
        oracle=lambda x, **_: x.astype(np.float16),
    ),
    Case(
        p.reduce_precision,
        [f32(3, 4)],
        {"exponent_bits": 8, "mantissa_bits": 7},
        differentiable=(),
        oracle=lambda x, **_: x.astype(np.float32).astype(named("bfloat16")),
    ),
]
