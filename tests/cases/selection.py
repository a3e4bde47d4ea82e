"""Cases of choosing between arrays, and of identities."""

import numpy as np

from cases.case import ALL, NUMBERS, REAL, Case, boolean, f32, i32
from weft.primitives import selection as p


def choose(which, *cases):
    return np.choose(np.clip(which, 0, len(cases) - 1), cases)


CASES = [
    Case(p.select_n, [boolean(3, 4), np.ones((3, 4), np.float32)], oracle=lambda which, x: x),
    Case(
        lambda x, y, which: p.select_n(which, x, y),
        [f32(3, 4), f32(3, 4), boolean(3, 4)],
        name="select_n(bool)",
        oracle=lambda x, y, which: np.where(which, y, x),
        dtypes=ALL,
        elementwise=True,
    ),
    Case(p.select_n, [boolean(), f32(3, 4), f32(3, 4)], oracle=choose),
    Case(
        p.select_n,
        [boolean(64, 65), f32(64, 65), f32()],
        name="select_n of many",
        oracle=choose,
        dtypes=("int32",),
    ),
    Case(p.select_n, [i32(3, 4, low=-1, high=5), f32(3, 4), f32(3, 4), f32(3, 4)], oracle=choose),
    Case(p.select_n, [i32(low=0, high=3), f32(3, 4), f32(3, 4), f32(3, 4)], oracle=choose),
    Case(p.select_n, [boolean(3, 1), f32(4), f32()], oracle=choose),
    Case(
        p.clamp,
        [np.float32(-0.5), f32(3, 4), np.float32(0.5)],
        oracle=lambda a, x, b: np.clip(x, a, b),
    ),
    Case(
        p.clamp,
        [f32(3, 4, low=-1, high=0), f32(3, 4), f32(3, 4, low=0, high=1)],
        oracle=lambda a, x, b: np.clip(x, a, b),
        dtypes=REAL,
        elementwise=True,
        edges_without={"signed zero": "see max and min in arithmetic"},
    ),
    Case(
        p.stop_gradient,
        [f32(3, 4)],
        oracle=lambda x: x,
        dtypes=ALL,
        elementwise=True,
        without={"jvp": "its derivative is zero by decree"},
    ),
    Case(
        lambda x, counts: p.guard(counts, x),
        [f32(3, 4), boolean(3, 4)],
        name="guard",
        oracle=lambda x, counts: x,
        dtypes=ALL,
        without={"jvp": "its derivative is zero by decree where it doesn't count"},
    ),
    Case(p.copy, [f32(3, 4)], oracle=lambda x: x, dtypes=ALL, elementwise=True),
    Case(p.name, [f32(3, 4)], {"name": "hidden"}, oracle=lambda x, name: x, dtypes=ALL),
    Case(p.optimization_barrier, [f32(3, 4), i32(2)], oracle=lambda *xs: xs, dtypes=NUMBERS),
]
