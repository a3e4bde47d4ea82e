"""Cases of sorting."""

import ml_dtypes
import numpy as np

from cases.case import ALL, REAL, Case, f32, i32
from weft.lax import sorting as lax
from weft.primitives import sorting as p

nan, inf = np.nan, np.inf
special = np.float32([3, nan, -0.0, 0.0, -0.0, -nan, inf, -inf, 1, 0.0, -1, nan])
of_complex = np.complex64(
    [
        1 + 1j,
        complex(nan, 1),
        complex(1, nan),
        complex(nan, nan),
        1 - 1j,
        0,
        complex(0, nan),
        1 + 1j,
    ]
)
places = np.arange(12, dtype=np.int32)
repeated = np.int32([3, 1, 3, 2, 1, 1, 2, 3, 0, 3, 1, 0])
NARROW = ("int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float64", "int64")


def sorted_along(x, dimension, **_):
    wide = (
        np.float64
        if x.dtype.name[:6] in ("float8", "bfloat") or x.dtype.name[-4:] == "int4"
        else x.dtype
    )
    return np.sort(x.astype(wide), axis=dimension, kind="stable").astype(x.dtype)


def sorted_together(x, y, dimension, **_):
    order = np.argsort(x, axis=dimension, kind="stable")
    return np.take_along_axis(x, order, dimension), np.take_along_axis(y, order, dimension)


def sorted_with_places(*operands, dimension, **_):
    order = np.argsort(operands[0], axis=dimension, kind="stable")
    return *(np.take_along_axis(x, order, dimension) for x in operands), order.astype(np.int32)


def largest(x, k):
    x = x.astype(np.float64 if x.dtype.kind == "V" else x.dtype)
    order = np.argsort(x, axis=-1, kind="stable")
    pairs = [
        sorted(range(x.shape[-1]), key=lambda i, row=row: (-float(row[i]), i))[:k]
        for row in x.reshape(-1, x.shape[-1])
    ]
    order = np.int32(pairs).reshape(*x.shape[:-1], k)
    return np.take_along_axis(x, order, -1), order


def params(dimension=0, is_stable=True, num_keys=1):
    return {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}


with_places = {**params(1), "with_places": True}

CASES = [
    Case(p.sort, [f32(7)], params(), oracle=sorted_along, dtypes=(*ALL, *NARROW)),
    Case(p.sort, [f32(3, 4)], params(0), oracle=sorted_along, dtypes=("bfloat16",)),
    Case(p.sort, [f32(2, 3, 4)], params(1, is_stable=False), oracle=sorted_along),
    Case(p.sort, [f32(0, 2)], params(0), oracle=sorted_along),
    Case(
        p.sort,
        [f32(5), i32(5)],
        params(),
        oracle=sorted_together,
        dtypes=("bool", "int8", "float16"),
    ),
    Case(p.sort, [f32(5), f32(5)], params(), oracle=sorted_together, dtypes=("complex64",)),
    Case(p.sort, [f32(3, 4), f32(3, 4)], params(1), oracle=sorted_together),
    Case(p.sort, [repeated, f32(12), f32(12)], params(num_keys=2)),
    Case(p.sort, [repeated, i32(12), f32(12)], params(num_keys=2)),
    Case(p.sort, [f32(3, 4)], with_places, oracle=sorted_with_places, dtypes=("int8", "bool")),
    Case(p.sort, [f32(3, 4), f32(3, 4)], with_places, oracle=sorted_with_places),
    Case(p.sort, [f32(2, 0)], with_places, oracle=sorted_with_places),
    Case(p.sort, [special], params(), differentiable=()),
    Case(p.sort, [special, places], params(), differentiable=()),
    Case(p.sort, [special.astype(ml_dtypes.bfloat16), places], params(), differentiable=()),
    Case(p.sort, [special.astype(ml_dtypes.float8_e5m2), places], params(), differentiable=()),
    Case(p.sort, [repeated, special, places], params(num_keys=2), differentiable=()),
    Case(p.sort, [np.abs(special) > 1, special, places], params(num_keys=2), differentiable=()),
    Case(p.sort, [of_complex], params(), differentiable=()),
    Case(p.sort, [of_complex, places[:8]], params(), differentiable=()),
    Case(
        p.sort,
        [np.int32([0, 0, 1, 1, 0, 1, 0, 1]), of_complex, places[:8]],
        params(num_keys=2),
        differentiable=(),
    ),
    Case(p.top_k, [f32(7)], {"k": 3}, oracle=largest, dtypes=("bool", *REAL, *NARROW)),
    Case(p.top_k, [f32(2, 3, 4)], {"k": 4}, oracle=largest, dtypes=("int8",)),
    Case(p.top_k, [f32(3)], {"k": 0}, oracle=largest),
    Case(p.top_k, [f32(2, 0)], {"k": 0}),
    Case(p.top_k, [repeated], {"k": 7}, oracle=largest),
    Case(p.top_k, [np.uint32([1, 2**32 - 1, 2**31, 0, 2**31 - 1])], {"k": 4}, oracle=largest),
    Case(p.top_k, [np.int32([-(2**31), 2**31 - 1, 0, -1])], {"k": 3}, oracle=largest),
    Case(p.top_k, [special], {"k": 12}, differentiable=()),
    Case(p.top_k, [special.astype(ml_dtypes.bfloat16)], {"k": 5}, differentiable=()),
    Case(p.top_k, [special.astype(np.float64)], {"k": 12}, differentiable=()),
    Case(lax.sort_key_val, [f32(3, 4), f32(3, 4)], {"dimension": -1}, oracle=sorted_together),
    Case(lax.top_k, [f32(5, 3)], {"k": 2, "axis": 0}),
    Case(lax.approx_min_k, [f32(5)], {"k": 2}),
]
