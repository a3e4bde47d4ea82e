"""Cases of sliding windows."""

import itertools

import numpy as np

from cases.case import NUMBERS, REAL, Case, f32, i32
from weft.lax import windows as lax
from weft.primitives import arithmetic, structural, windows as p
from weft.primitives.monoids import highest, lowest
from weft.primitives.windows import Geometry

NARROW = ("int4", "float8_e5m2", "float64")


def by_definition(reduce, identity):
    """Each window gathered, one output element at a time."""

    def oracle(x, geometry):
        window, strides, padding, base, gaps = geometry
        lengths = [(n - 1) * d + 1 if n else 0 for n, d in zip(x.shape, base, strict=True)]
        shape = []
        for n, w, s, q, e in zip(lengths, window, strides, padding, gaps, strict=True):
            room = n + sum(q) - ((w - 1) * e + 1)
            shape.append(room // s + 1 if room >= 0 else 0)
        wide = np.dtype(np.float64) if x.dtype.kind not in "fciub" else x.dtype
        out = np.zeros(shape, wide)
        for place in np.ndindex(*shape):
            seen = [identity(wide)]
            for tap in itertools.product(*map(range, window)):
                at = [
                    o * s + t * e - q[0]
                    for o, s, t, e, q in zip(place, strides, tap, gaps, padding, strict=True)
                ]
                if all(
                    0 <= i < n and i % d == 0 for i, n, d in zip(at, lengths, base, strict=True)
                ):
                    seen.append(wide.type(x[tuple(i // d for i, d in zip(at, base, strict=True))]))
            out[place] = reduce(np.array(seen, wide))
        return out.astype(x.dtype)

    return oracle


def geometry(window, strides=None, padding=None, base=None, gaps=None):
    ones = (1,) * len(window)
    return Geometry(
        window, strides or ones, padding or ((0, 0),) * len(window), base or ones, gaps or ones
    )


PLACES = [
    (f32(6), geometry((2,))),
    (f32(5), geometry((3,), (2,), ((1, 1),))),
    (f32(7), geometry((2,), (3,), ((-1, 2),))),
    (f32(4), geometry((3,), (1,), ((1, 2),), (2,))),
    (f32(7), geometry((3,), (2,), ((0, 1),), None, (2,))),
    (f32(5), geometry((2,), (2,), ((3, 2),), (3,), (2,))),
    (f32(12), geometry((11,), None, ((5, 5),))),
    (f32(20), geometry((13,), (2,))),
    (f32(3), geometry((5,))),
    (f32(2), geometry((1,), (1,), ((2, 2),))),
    (f32(1, 4, 5, 2), geometry((1, 2, 3, 1), (1, 2, 1, 1), ((0, 0), (0, 1), (1, 1), (0, 0)))),
    (f32(1, 4, 4, 2), geometry((1, 2, 2, 1), (1, 2, 2, 1))),
    (f32(0, 3), geometry((1, 2))),
    (f32(), geometry(())),
]
special = np.float32([1.0, 1.0, np.nan, 0.0, -0.0, np.nan, -np.inf, -np.inf, np.inf, np.inf, 2.0])

CASES = [
    *[
        Case(
            f,
            [x],
            {"geometry": g},
            oracle=by_definition(r, identity),
            dtypes=d if i == 1 else (),
            lower_atol=1e-6,
            atol={"float16": 4e-3, "bfloat16": 4e-2},
            differentiable=None
            if f is p.reduce_window_sum or all(map(p.reaches_all, x.shape, *g))
            else (),
        )
        for f, r, identity, d in [
            (p.reduce_window_sum, np.sum, lambda d: d.type(0), (*NUMBERS, *NARROW)),
            (p.reduce_window_max, np.max, lowest, ("bool", *REAL, *NARROW)),
            (p.reduce_window_min, np.min, highest, ("bool", *REAL, *NARROW)),
        ]
        for i, (x, g) in enumerate(PLACES)
    ],
    *[
        Case(f, [special], {"geometry": g}, differentiable=())
        for f in (p.reduce_window_sum, p.reduce_window_max, p.reduce_window_min)
        for g in (geometry((2,)), geometry((3,), (2,), ((1, 1),)))
    ],
    *[
        Case(
            lax.reduce_window,
            [x],
            {
                "init_value": init,
                "computation": by,
                "window_dimensions": g.window,
                "window_strides": g.strides,
                "padding": g.padding,
                "base_dilation": g.base_dilation,
                "window_dilation": g.window_dilation,
            },
            name=f"reduce_window_{by.name}_{init}_{i}",
        )
        for by, init in [(arithmetic.max_, -0.5), (arithmetic.min_, 0.5), (structural.add, 0.0)]
        for i, (x, g) in enumerate(PLACES[2:10])
    ],
    *[
        Case(
            p.window_place,
            [x],
            {"geometry": g, "largest": largest, "batch_dims": 0},
            dtypes=("int32", "bfloat16", "bool"),
        )
        for largest in (True, False)
        for x, g in [
            *PLACES,
            (special, geometry((2,))),
            (special, geometry((3,), (2,), ((2, 1),), (2,))),
            (f32(80), geometry((70,), (1,), ((3, 0),))),
            (i32(2, 100), geometry((1, 66), (1, 3))),
        ]
    ],
]
