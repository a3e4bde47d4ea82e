"""Cases of products of arrays."""

import string

import numpy as np

from cases.case import ALL, NUMBERS, Case, f32
from weft.lax import products as lax
from weft.primitives import products as p
from weft.primitives.dot_algorithms import DotAlgorithmPreset


def sum_of_products(x, y, *, dims, dtype=None, precision=None):
    """np.einsum with the subscripts that `dims` stands for."""
    (cx, cy), (bx, by) = dims
    letters = iter(string.ascii_letters)
    left = [next(letters) for _ in range(x.ndim)]
    right = [next(letters) for _ in range(y.ndim)]
    for i, j in zip((*cx, *bx), (*cy, *by), strict=True):
        right[j] = left[i]
    batch = [left[i] for i in bx]
    free = [c for i, c in enumerate(left) if i not in (*cx, *bx)]
    free += [c for i, c in enumerate(right) if i not in (*cy, *by)]
    subscripts = f"{''.join(left)},{''.join(right)}->{''.join(batch + free)}"
    if x.dtype == np.bool_:
        return np.einsum(subscripts, x.astype(int), y.astype(int)) > 0
    if x.dtype.name == "int4":
        return np.einsum(subscripts, x.astype(int), y.astype(int))
    return np.einsum(subscripts, x, y)


ATOL = {"float32": 4e-6, "complex64": 8e-6, "float16": 8e-3, "bfloat16": 8e-2}
FLOAT8 = ("float8_e4m3fn", "float8_e5m2")


def product(x, y, contracting, batch=((), ()), dtypes=(), **options):
    params = options.pop("params", {})
    return Case(
        p.dot_general,
        [x, y],
        {"dims": (contracting, batch), **params},
        oracle=sum_of_products,
        dtypes=dtypes,
        atol=ATOL,
        lower_atol=2e-6,
        **options,
    )


ALGORITHM_OPERANDS = [
    (f32(2, 4), f32(4, 3), ((1,), (0,))),
    (f32(2, 3, 4), f32(2, 3, 2), ((1,), (1,)), ((0,), (0,))),
]
IN_F64 = {"precision": DotAlgorithmPreset.F64_F64_F64}  # the laws of derivatives compute in float64

CASES = [
    product(f32(3, 4), f32(4, 5), ((1,), (0,)), dtypes=(*ALL, "int4", "float64", *FLOAT8), ulp=16),
    product(f32(4, 3), f32(4, 5), ((0,), (0,)), dtypes=("int32", "bfloat16")),
    product(f32(3, 4), f32(5, 4), ((1,), (1,)), dtypes=("complex64",), ulp=16),
    product(f32(4, 3), f32(5, 4), ((0,), (1,))),
    product(f32(4), f32(4), ((0,), (0,)), dtypes=("float16", "bool")),
    product(f32(4), f32(4, 2), ((0,), (0,))),
    product(f32(4), f32(2, 4), ((0,), (1,))),
    product(f32(2, 4), f32(4), ((1,), (0,))),
    *[
        product(x, y, *dims, dtypes=("bfloat16", "int32", "complex64"), params=IN_F64)
        for x, y, *dims in ALGORITHM_OPERANDS
    ],
    product(f32(4, 2), f32(4), ((0,), (0,))),
    product(f32(2, 3), f32(4), ((), ())),
    product(f32(), f32(2, 2), ((), ())),
    product(f32(2, 3, 4), f32(2, 4, 5), ((2,), (1,)), ((0,), (0,)), dtypes=("int16", "float16")),
    product(f32(3, 2, 4), f32(4, 5, 2), ((2,), (0,)), ((1,), (2,))),
    product(f32(2, 3, 4, 2), f32(4, 2, 3, 5), ((2, 3), (0, 1)), ((1,), (2,)), dtypes=("bool",)),
    product(f32(2, 3, 4), f32(4, 5, 3), ((1, 2), (2, 0))),
    product(f32(4, 3), f32(4, 3), ((), ()), ((0, 1), (0, 1))),
    product(f32(4, 3), f32(3, 4), ((), ()), ((1, 0), (0, 1))),
    product(f32(3, 0), f32(0, 2), ((1,), (0,)), dtypes=("int32", "bool")),
    product(f32(0, 3), f32(3, 2), ((1,), (0,))),
    product(f32(3, 2, 3, 2), f32(2, 3, 2), ((1, 2), (0, 1)), ((3,), (2,))),
    *[
        Case(
            lax.dot,
            [x, y],
            {"preferred_element_type": "float32"},
            oracle=lambda x, y, **_: np.dot(x, y),
            dtypes=("bfloat16", "int8", "float8_e5m2"),
            rtol=1e-5,
            atol=1e-5,
            without=dict.fromkeys(
                ("jvp", "transpose", "second_order", "compiled_derivative"),
                "taken in float64, which float32 is too narrow for; see tests/lax",
            ),
        )
        for x, y in [(f32(3, 4), f32(4)), (f32(4), f32(4, 2))]
    ],
    Case(
        lax.dot,
        [f32(2, 3), f32(3, 2)],
        {"precision": "highest"},
        oracle=np.dot,
        oracle_params=False,
    ),
    Case(
        lax.batch_matmul,
        [f32(2, 2, 3, 4), f32(2, 2, 4, 2)],
        oracle=np.matmul,
        dtypes=NUMBERS,
        atol=ATOL,
        ulp=16,
    ),
]
