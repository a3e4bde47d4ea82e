"""Cases of slices, at places known beforehand and at run time."""

import numpy as np

from cases.case import ALL, Case, f32, i32
from weft.primitives.dynamic_slicing import dynamic_slice, dynamic_update_slice
from weft.primitives.slicing import slice_

EXACT = (*ALL, "int4", "float8_e4m3fn", "complex128", "int64")


def sliced(x, start, limit, strides):
    return x[tuple(map(slice, start, limit, strides))]


def cut(x, start, limit, strides, **options):
    params = {"start": start, "limit": limit, "strides": strides}
    return Case(slice_, [x], params, oracle=sliced, **options)


def moved_inside(shape, starts, sizes):
    places = [min(max(int(s), 0), n - m) for n, s, m in zip(shape, starts, sizes, strict=True)]
    return tuple(slice(p, p + m) for p, m in zip(places, sizes, strict=True))


def read(x, *starts, sizes):
    return x[moved_inside(x.shape, starts, sizes)]


def written(x, update, *starts):
    x = x.copy()
    x[moved_inside(x.shape, starts, update.shape)] = update
    return x


def other_place(x, place, k):
    """Another start index, or other elements, for each of a batch."""
    return np.asarray(x + k).astype(x.dtype) if x.ndim == 0 else np.roll(x, k)


CASES = [
    cut(f32(6), (1,), (5,), (1,), dtypes=EXACT),
    cut(f32(7, 5), (1, 0), (7, 5), (2, 3), dtypes=("bool", "int4")),
    cut(f32(7, 5), (2, 5), (2, 5), (1, 1)),
    cut(f32(3, 4), (0, 0), (3, 4), (1, 1)),
    cut(f32(), (), (), ()),
    cut(f32(9), (2,), (8,), (4,)),
    cut(f32(0, 3), (0, 1), (0, 2), (1, 1)),
    *[
        Case(
            dynamic_slice,
            [f32(5, 6), np.int32(a), kind(b)],
            {"sizes": sizes},
            oracle=read,
            dtypes=EXACT if b == 9 else (),
            vary=other_place,
        )
        for a, b, sizes, kind in [
            (1, 9, (2, 3), np.int32),
            (-7, 2, (5, 1), np.int32),
            (4, 0, (1, 6), np.int8),
            (2, 200, (0, 2), np.uint8),
        ]
    ],
    Case(dynamic_slice, [f32()], {"sizes": ()}, oracle=read),
    Case(dynamic_slice, [f32(300), np.int8(100)], {"sizes": (150,)}, oracle=read, vary=other_place),
    Case(dynamic_slice, [f32(4), np.uint32(2**32 - 3)], {"sizes": (2,)}, oracle=read),
    *[
        Case(
            dynamic_update_slice,
            [f32(5, 6), f32(*shape), np.int32(a), np.int32(b)],
            oracle=written,
            dtypes=EXACT if b == 9 else (),
            vary=other_place,
        )
        for a, b, shape in [(1, 9, (2, 3)), (-7, 2, (5, 1)), (0, 0, (5, 6)), (1, 1, (0, 2))]
    ],
    Case(dynamic_update_slice, [f32(), f32()], oracle=written),
    Case(dynamic_update_slice, [f32(4), f32(2), i32()], oracle=written, vary=other_place),
]
