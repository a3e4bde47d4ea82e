"""Cases of reductions."""

import numpy as np

from cases.case import ALL, NUMBERS, REAL, Case, f32, i32
from weft.lax import reductions as lax
from weft.primitives import reductions as p, structural

MORE = ("int4", "float8_e4m3fn", "float8_e5m2", "float64", "int64")
SHAPES = [((3, 4), (0,)), ((3, 4), (1,)), ((3, 4), (0, 1)), ((5,), (0,)), ((2, 3, 4), (0, 2))]
EMPTY = [((0,), (0,)), ((3, 0), (1,)), ((0, 3), (1,)), ((2, 3), ()), ((), ())]


def over(function):
    def oracle(x, axes):
        kind = (
            np.float64 if x.dtype.name.startswith("float8") or x.dtype.name == "int4" else x.dtype
        )
        return function(x.astype(kind), axis=tuple(axes)).astype(x.dtype)

    return oracle


def reductions(primitive, function, dtypes, **options):
    first = options.pop("wish", f32)
    return [
        Case(
            primitive,
            [first(*shape)],
            {"axes": axes},
            oracle=over(function) if (shape, axes) not in EMPTY else None,
            dtypes=dtypes if axes in ((0,), (1,)) else (),
            differentiable=None if 0 not in shape else (),
            **options,
        )
        for shape, axes in SHAPES + EMPTY
    ]


def product_from_the_left(x, axes):
    return np.prod(x, axis=tuple(axes), dtype=x.dtype)


special = np.float32(
    [[0.0, -0.0, -1.0], [-0.0, -0.0, -0.0], [np.nan, np.inf, 0.0], [1, -np.inf, 3]]
)
ties = np.float32([[2.0, 2.0, 1.0], [0.5, -1.0, 0.5], [3.0, 3.0, 3.0]])
zeros = np.float32([[2.0, 0.0, 3.0, 0.5], [0.0, 4.0, 0.0, 2.0], [1.0, 2.0, 3.0, 0.0], [1, 2, 3, 4]])
AT_TIES = dict.fromkeys(("jvp", "second_order"), "not smooth at ties")

CASES = [
    *reductions(structural.reduce_sum, np.sum, NUMBERS, lower_atol=1e-5, atol=2e-2),
    *reductions(p.reduce_max, np.max, (*ALL, *MORE)),
    *reductions(p.reduce_min, np.min, (*ALL, *MORE)),
    *reductions(
        p.reduce_prod, np.prod, (*NUMBERS, *MORE), ulp=32, rtol={"float16": 1e-2, "bfloat16": 5e-2}
    ),
    *reductions(p.reduce_and, np.bitwise_and.reduce, ("bool", "uint8", "int16"), wish=i32),
    *reductions(p.reduce_or, np.bitwise_or.reduce, ("bool", "uint8", "int16"), wish=i32),
    *reductions(p.reduce_xor, np.bitwise_xor.reduce, ("bool", "uint8", "int16"), wish=i32),
    *[Case(f, [special], {"axes": (1,)}, differentiable=()) for f in (p.reduce_max, p.reduce_min)],
    *[Case(f, [ties], {"axes": (1,)}, without=AT_TIES) for f in (p.reduce_max, p.reduce_min)],
    *[
        Case(p.reduce_prod, [zeros], {"axes": axes}, oracle=np.prod, oracle_params=False)
        if axes == (0, 1)
        else Case(p.reduce_prod, [zeros], {"axes": axes})
        for axes in ((0,), (1,), (0, 1))
    ],
    *[
        Case(f, [x], {"axis": axis, "dtype": np.dtype(dtype)}, oracle=oracle, dtypes=dtypes)
        for f, function in ((p.argmax, np.argmax), (p.argmin, np.argmin))
        for oracle in [lambda x, axis, dtype, function=function: function(x, axis).astype(dtype)]
        for x, axis, dtype, dtypes in [
            (f32(3, 4), 1, "int32", ("bool", *REAL)),
            (f32(3, 4), 0, "int8", ("int4", "float8_e5m2")),
            (f32(7), 0, "uint32", ()),
            (special, 1, "int32", ()),
            (special, 0, "int32", ()),
            (ties, 1, "int16", ()),
            (np.float32([[-np.inf, -np.inf], [np.inf, np.inf]]), 1, "int32", ()),
            (np.int32([-(2**31), -(2**31), 2**31 - 1, 2**31 - 1]), 0, "int32", ()),
        ]
    ],
    *[
        Case(
            lax.reduce,
            [f32(3, 4)],
            {"init_values": init, "computation": c, "dimensions": (1,)},
            oracle=o,
            name=f"reduce_by_{c.__name__}",
            oracle_params=False,
        )
        for init, c, o in [
            (0.0, lambda x, y: x + y, lambda x: x.sum(1)),
            (2.0, lambda x, y: x + y, lambda x: x.sum(1) + 2),
            (3.0, lambda x, y: y * x, lambda x: 3 * x.prod(1)),
        ]
    ],
]
