"""Cases of running reductions."""

import numpy as np

from cases.case import ALL, NUMBERS, Case, f32, f64
from weft.primitives import cumulative as p

MORE = ("int4", "float8_e5m2", "float64")
ATOL = {"float16": 4e-3, "bfloat16": 4e-2, "complex64": 4e-6, "float32": 2e-6}


def along(ufunc):
    def oracle(x, axis, reverse):
        kind = (
            np.float64 if x.dtype.name.startswith("float8") or x.dtype.name == "int4" else x.dtype
        )
        x, dtype = x.astype(kind), x.dtype
        if reverse:
            return np.flip(ufunc.accumulate(np.flip(x, axis), axis), axis).astype(dtype)
        return ufunc.accumulate(x, axis).astype(dtype)

    return oracle


def recurrence(a, b, axis, reverse):
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    out, before = np.zeros_like(b), 0
    for k in reversed(range(len(b))) if reverse else range(len(b)):
        before = out[k] = a[k] * before + b[k]
    return np.moveaxis(out, 0, axis)


special = np.float32(
    [[0.0, -0.0, -1.0], [-0.0, -0.0, 0.0], [1, np.nan, np.inf], [-np.inf, -np.inf, 0]]
)
zeros = np.float32([2.0, 0.0, 3.0, 0.0, -1.0])
ties = np.float32([1.0, 2.0, 2.0, 0.0, 2.0])

CASES = [
    *[
        Case(
            f,
            [x],
            {"axis": axis, "reverse": reverse},
            oracle=along(u),
            dtypes=d if axis == 0 else (),
            atol=ATOL,
            lower_atol=4e-6,
            **options,
        )
        for f, u, d, options in [
            (p.cumsum, np.add, (*NUMBERS, *MORE), {}),
            (p.cumprod, np.multiply, (*NUMBERS, *MORE), {}),
            (p.cummax, np.maximum, (*ALL, *MORE), {}),
            (p.cummin, np.minimum, (*ALL, *MORE), {}),
            (
                p.cumlogsumexp,
                np.logaddexp,
                ("float16", "bfloat16", "float64"),
                {"rtol": {"bfloat16": 5e-2, "float16": 5e-3}},
            ),
        ]
        for x, axis, reverse in [
            (f32(4, 3), 0, False),
            (f32(5), 0, True),
            (f32(2, 3, 2), 1, False),
            (f32(2, 4), 1, True),
            (f32(1), 0, False),
            (f32(0, 2), 0, False),
            (f32(2, 0), 0, True),
            (f32(2, 0), 1, True),
        ]
    ],
    *[
        Case(f, [special], {"axis": axis, "reverse": reverse}, differentiable=(), ulp=16)
        for f in (p.cumsum, p.cumprod, p.cummax, p.cummin, p.cumlogsumexp)
        for axis in (0, 1)
        for reverse in (False, True)
    ],
    *[Case(p.cumprod, [zeros], {"axis": 0, "reverse": reverse}) for reverse in (False, True)],
    *[
        Case(
            f,
            [ties],
            {"axis": 0, "reverse": False},
            without=dict.fromkeys(("jvp", "second_order"), "not smooth at ties"),
        )
        for f in (p.cummax, p.cummin)
    ],
    # four steps a round, after those that are left over
    *[
        Case(f, [f32(*shape)], {"axis": axis, "reverse": n % 2 == 0}, oracle=along(u), dtypes=d,
             atol=1e-5, lower_atol=1e-5)
        for n in (64, 65, 66, 67)
        for f, u, shape, axis, d in [
            (p.cumsum, np.add, (n,), 0, ("int32", "complex64")),
            (p.cummax, np.maximum, (1, n, 1), 1, ("int8",)),
        ]
    ],
    *[
        Case(p.linear_recurrence, [f32(n, low=-1, high=1), f32(n)],
             {"axis": 0, "reverse": n % 2 == 0}, oracle=recurrence, atol=ATOL, lower_atol=4e-6)
        for n in (64, 65, 66, 67)
    ],
    Case(
        p.cumsum,
        [f32(300, 400)],
        {"axis": 1, "reverse": True},
        oracle=along(np.add),
        atol=1e-3,
        lower_atol=1e-3,
        differentiable=(),
        without={"batch": "size"},
    ),
    *[
        Case(
            p.linear_recurrence,
            [a, b],
            {"axis": axis, "reverse": reverse},
            oracle=recurrence,
            dtypes=("complex64", "bfloat16") if axis == 0 else (),
            atol=ATOL,
            lower_atol=4e-6,
            rtol={"bfloat16": 5e-2},
        )
        for a, b, axis, reverse in [
            (f32(4), f32(4), 0, False),
            (f32(4, 2), f32(4, 2), 0, True),
            (f32(2, 3), f32(2, 3), 1, True),
            (f32(1), f32(1), 0, False),
            (f32(0, 2), f32(0, 2), 0, False),
            (f64(2, 0), f64(2, 0), 0, False),
        ]
    ],
]  # fmt: skip
