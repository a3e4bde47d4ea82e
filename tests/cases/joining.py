"""Cases of concatenate, pad and rev."""

import itertools

import numpy as np

from cases.case import ALL, Case, f32
from weft.primitives.slicing import concatenate, pad, rev, split

EXACT = (*ALL, "int4", "float8_e5m2", "complex128")


def joined(*xs, dimension):
    return np.concatenate(xs, dimension)


def padded(x, value, *, padding):
    """Each element put in its place, one at a time."""
    shape = [
        n + before + after + between * max(n - 1, 0)
        for n, (before, after, between) in zip(x.shape, padding, strict=True)
    ]
    out = np.full(shape, value, x.dtype)
    for place in itertools.product(*map(range, x.shape)):
        to = tuple(p[0] + i * (p[2] + 1) for i, p in zip(place, padding, strict=True))
        if all(0 <= i < n for i, n in zip(to, shape, strict=True)):
            out[to] = x[place]
    return out


def taken_apart(x, *, sizes, axis):
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def flipped(x, *, dimensions):
    return np.flip(x, dimensions)


def padding_case(x, *padding, **options):
    return Case(pad, [x, f32()], {"padding": padding}, oracle=padded, **options)


CASES = [
    Case(concatenate, [f32(2, 3), f32(1, 3)], {"dimension": 0}, oracle=joined, dtypes=EXACT),
    Case(concatenate, [f32(2, 3), f32(2, 0), f32(2, 2)], {"dimension": 1}, oracle=joined),
    Case(concatenate, [f32(2, 3)], {"dimension": 1}, oracle=joined),
    Case(concatenate, [f32(2, 1, 2)] * 4, {"dimension": 1}, oracle=joined),
    Case(concatenate, [f32(12, 32, 1)] * 3, {"dimension": 2}, oracle=joined, dtypes=EXACT),
    padding_case(f32(3), (1, 2, 0), dtypes=EXACT),
    padding_case(f32(4), (0, 0, 2), dtypes=("bfloat16", "bool", "int4")),
    padding_case(f32(5), (-1, -2, 0)),
    padding_case(f32(5), (-1, 2, 2)),
    padding_case(f32(5), (-4, -3, 1)),
    padding_case(f32(3), (-5, 9, 1)),
    padding_case(f32(3), (9, -8, 1)),
    padding_case(f32(2, 3), (1, 0, 1), (-1, 1, 0)),
    padding_case(f32(2, 3), (0, 0, 0), (0, 0, 0)),
    padding_case(f32(2, 0), (1, 1, 1), (1, 0, 3)),
    padding_case(f32(1, 2), (-1, 0, 0), (0, 1, 0)),
    padding_case(f32()),
    # elements far apart
    padding_case(f32(2, 3), (0, 0, 0), (2, 9, 600), dtypes=EXACT),
    padding_case(f32(4, 3, 2), (3, 0, 60), (1, -1, 0), (0, 2, 0)),
    padding_case(f32(3, 5), (20, 30, 7), (0, 0, 7)),
    padding_case(f32(3), (-1, 2, 700)),
    padding_case(f32(3), (2, -1, 700)),
    padding_case(f32(1), (800, 400, 9)),
    padding_case(f32(0), (800, 400, 9)),
    *[
        Case(split, [x], {"sizes": sizes, "axis": axis}, oracle=taken_apart, dtypes=dtypes)
        for x, sizes, axis, dtypes in [
            (f32(5, 2), (2, 0, 3), 0, EXACT),
            (f32(2, 4), (1, 3), 1, ()),
            (f32(3), (1, 1, 1), 0, ()),
            (f32(3), (3,), 0, ()),
            (f32(0, 2), (0,), 0, ()),
        ]
    ],
    *[
        Case(rev, [f32(2, 3)], {"dimensions": d}, oracle=flipped, dtypes=dtypes)
        for d, dtypes in [((), ()), ((0,), EXACT), ((1,), EXACT), ((0, 1), ())]
    ],
]  # fmt: skip
