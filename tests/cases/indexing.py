"""Cases of gather and the scatters, held against a loop over StableHLO's definition."""

import itertools

import ml_dtypes
import numpy as np

from cases.case import ALL, Case, f32, kind_of
from weft.primitives import indexing as p
from weft.primitives.gather_dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)

CLIP, DROP, PROMISE = (
    GatherScatterMode.CLIP,
    GatherScatterMode.FILL_OR_DROP,
    GatherScatterMode.PROMISE_IN_BOUNDS,
)
EXACT = (*ALL, "int4", "float8_e4m3fn", "complex128")


def places(x, indices, dn, sizes, mode):
    """For each window: its place in the batch, where it begins, and whether it is inside."""
    index_map, batching, index_batching = dn[2:]
    for at in itertools.product(*map(range, indices.shape[:-1])):
        start = [0] * x.ndim
        inside = True
        for k, d in enumerate(index_map):
            i, bound = int(indices[(*at, k)]), x.shape[d] - sizes[d]
            inside = inside and 0 <= i <= bound
            start[d] = min(max(i, 0), bound)
        for d, b in zip(batching, index_batching, strict=True):
            start[d] = at[b]
        yield at, start, inside or mode is not DROP


def target(at, offset, window_axes, rank):
    """The place in the output (or the updates) for a place in the batch and one in the window."""
    batch, window = iter(at), dict(zip(window_axes, offset, strict=True))
    return tuple(window[i] if i in window else next(batch) for i in range(rank))


def gathered(x, indices, *, dimension_numbers, slice_sizes, mode, fill_value, **_):
    dn = dimension_numbers
    dropped = (*dn.collapsed_slice_dims, *dn.operand_batching_dims)
    kept = [d for d in range(x.ndim) if d not in dropped]
    rank = indices.ndim - 1 + len(kept)
    shape = [0] * rank
    batch = iter(indices.shape[:-1])
    for i in range(rank):
        if i in dn.offset_dims:
            shape[i] = slice_sizes[kept[dn.offset_dims.index(i)]]
        else:
            shape[i] = next(batch)
    out = np.zeros(shape, x.dtype)
    fill = fill_value
    if fill is None:
        fill = True if x.dtype == bool else np.nan
        if kind_of(x.dtype) in "iu":
            info = ml_dtypes.iinfo(x.dtype)
            fill = info.min if info.min else info.max
    for at, start, inside in places(x, indices, dn, slice_sizes, mode):
        for offset in itertools.product(*(range(slice_sizes[d]) for d in kept)):
            where = list(start)
            for d, o in zip(kept, offset, strict=True):
                where[d] += o
            out[target(at, offset, dn.offset_dims, rank)] = x[tuple(where)] if inside else fill
    return out


def scattered(combine):
    def oracle(x, indices, updates, *, dimension_numbers, mode, **_):
        dn = dimension_numbers
        x = x.copy()
        dropped = (*dn.inserted_window_dims, *dn.operand_batching_dims)
        kept = [d for d in range(x.ndim) if d not in dropped]
        sizes = [1] * x.ndim
        for d, at in zip(kept, dn.update_window_dims, strict=True):
            sizes[d] = updates.shape[at]
        clip = CLIP if mode is CLIP else DROP  # promised: there are none outside
        for at, start, inside in places(x, indices, dn, sizes, clip):
            if not inside:
                continue
            for offset in itertools.product(*(range(sizes[d]) for d in kept)):
                where = list(start)
                for d, o in zip(kept, offset, strict=True):
                    where[d] += o
                u = updates[target(at, offset, dn.update_window_dims, updates.ndim)]
                x[tuple(where)] = combine(x[tuple(where)], u)
        return x

    return oracle


def array(rows, dtype=np.int32):
    return np.array(rows, dtype)


def other_indices(x, place, k):
    """Other places for each of a batch, the same kind."""
    if x.dtype.kind in "iu" and place == 1:
        return np.roll(x, k, 0)
    return x if k % 2 == 0 else x.reshape(-1)[::-1].reshape(x.shape)


# operand, indices, dimension numbers, slice sizes
READS = {
    "rows": (f32(5, 3), array([[4], [0], [4]]), ((1,), (0,), (0,)), (1, 3)),
    "columns": (f32(3, 5), array([[4], [0]]), ((0,), (1,), (1,)), (3, 1)),
    "columns_last": (f32(3, 5), array([[1], [2]]), ((1,), (1,), (1,)), (3, 1)),
    "pairs": (f32(4, 5), array([[0, 1], [3, 4], [2, 2]]), ((), (0, 1), (0, 1)), (1, 1)),
    "swapped": (f32(4, 5), array([[4, 1], [0, 3]]), ((), (0, 1), (1, 0)), (1, 1)),
    "windows": (f32(6), array([[0], [3], [5], [-1]]), ((1,), (), (0,)), (3,)),
    "outside": (f32(5), array([[9], [-2], [4], [0]]), ((), (0,), (0,)), (1,)),
    "blocks": (f32(4, 5, 3), array([[[0, 1], [2, 9]]]), ((1, 3), (1,), (0, 1)), (2, 1, 3)),
    "one": (f32(4, 5), array([2]), ((0,), (0,), (0,)), (1, 5)),
    "part": (f32(4, 5), array([[2], [1]]), ((1,), (0,), (0,)), (1, 2)),
    "batched": (f32(3, 5), array([[4], [0], [7]]), ((), (1,), (1,), (0,), (0,)), (1, 1)),
    "batched_second": (
        f32(2, 6, 3), array([[[0], [3], [1]], [[5], [2], [2]]]),
        ((1,), (), (1,), (0, 2), (0, 1)), (1, 2, 1),
    ),
    "no_index": (f32(2, 3), np.zeros((4, 0), np.int32), ((1,), (0,), ()), (1, 3)),
    "none": (f32(3, 2), np.zeros((0, 1), np.int32), ((1,), (0,), (0,)), (1, 2)),
    "empty": (f32(0, 3), array([[0], [1]]), ((1, 2), (), (1,)), (0, 2)),
    "length_one": (f32(1, 3), array([[0], [1]]), ((1,), (0,), (0,)), (1, 3)),
    "far": (f32(300), array([[250], [5]], np.uint8), ((), (0,), (0,)), (1,)),
    "huge": (f32(4), array([[2**32 - 1], [1]], np.uint32), ((), (0,), (0,)), (1,)),
    "narrow": (f32(300), array([[100], [-5]], np.int8), ((1,), (), (0,)), (200,)),
}  # fmt: skip


def read(name, mode, fill_value=None, **options):
    x, indices, numbers, sizes = READS[name]
    params = {
        "dimension_numbers": GatherDimensionNumbers(*numbers),
        "slice_sizes": sizes,
        "indices_are_sorted": False,
        "unique_indices": False,
        "mode": mode,
        "fill_value": fill_value,
    }
    label = f"gather({name},{mode.name},fill={fill_value})"
    return Case(
        p.gather, [x, indices], params, name=label, oracle=gathered, vary=other_indices, **options
    )


# operand, indices, updates, dimension numbers
WRITES = {
    "rows": (f32(5, 3), array([[4], [0], [2]]), f32(3, 3), ((1,), (0,), (0,))),
    "columns": (f32(3, 5), array([[4], [0]]), f32(3, 2), ((0,), (1,), (1,))),
    "pairs": (f32(4, 5), array([[0, 1], [3, 4], [2, 2]]), f32(3), ((), (0, 1), (0, 1))),
    "outside": (f32(5), array([[9], [-2], [1], [0]]), f32(4), ((), (0,), (0,))),
    "windows": (f32(9), array([[0], [3], [8]]), f32(3, 3), ((1,), (), (0,))),
    "blocks": (f32(4, 5, 3), array([[[0, 1], [2, 9]]]), f32(1, 2, 2, 3), ((1, 3), (1,), (0, 1))),
    "one": (f32(4, 5), array([2]), f32(5), ((0,), (0,), (0,))),
    "batched": (f32(3, 5), array([[4], [0], [7]]), f32(3), ((), (1,), (1,), (0,), (0,))),
    "none": (f32(3, 2), np.zeros((0, 1), np.int32), f32(0, 2), ((1,), (0,), (0,))),
    "all": (f32(2, 3), np.zeros((0,), np.int32), f32(2, 3), ((0, 1), (), ())),
    "huge": (f32(4), array([[2**32 - 1], [1]], np.uint32), f32(2), ((), (0,), (0,))),
}
REPEATS = {
    "twice": (f32(5), array([[1], [1], [4], [1]]), f32(4), ((), (0,), (0,))),
    "rows_twice": (f32(3, 2), array([[1], [1], [0]]), f32(3, 2), ((1,), (0,), (0,))),
    "overlapping": (f32(6), array([[0], [2], [5]]), f32(3, 3), ((1,), (), (0,))),
    "overlapping_batch": (f32(2, 4), array([[[0], [1]], [[1], [3]]]), f32(2, 2, 3),
                          ((2,), (), (1,), (0,), (0,))),
    "same_place": (f32(2, 3), np.zeros((4, 0), np.int32), f32(4, 2, 3), ((1, 2), (), ())),
    "blocks_twice": (f32(4, 5), array([[0, 1], [1, 2], [1, 2]]), f32(3, 2, 2),
                     ((1, 2), (), (0, 1))),
}  # fmt: skip
COMBINE = {
    p.scatter: lambda old, new: new,
    p.scatter_add: np.add,
    p.scatter_mul: np.multiply,
    p.scatter_min: np.minimum,
    p.scatter_max: np.maximum,
}


def write(primitive, name, mode, unique=False, **options):
    x, indices, updates, numbers = {**WRITES, **REPEATS}[name]
    params = {
        "dimension_numbers": ScatterDimensionNumbers(*numbers),
        "indices_are_sorted": False,
        "unique_indices": unique,
        "mode": mode,
    }
    return Case(
        primitive,
        [x, indices, updates],
        params,
        name=f"{primitive.name}({name},{mode.name}{',unique' * unique})",
        oracle=scattered(COMBINE[primitive]),
        vary=other_indices,
        **options,
    )


# Products of repeated updates are not differentiated in the updates.
OF_OPERAND = {p.scatter_mul: {"differentiable": (0,)}}
SUMS = (*ALL, "float64")

CASES = [
    *[read(name, CLIP) for name in READS],
    *[read(name, DROP, 7) for name in READS],
    read("rows", PROMISE, dtypes=EXACT),
    read("outside", DROP, dtypes=EXACT[:-3], without={"jvp": "NaN is read"}),
    read("outside", DROP, 1, dtypes=EXACT),
    read("batched", CLIP, dtypes=("bool", "complex64", "bfloat16")),
    *[write(p.scatter, name, DROP, True) for name in WRITES],
    *[write(p.scatter, name, mode) for name in REPEATS for mode in (DROP, CLIP)],
    write(p.scatter, "pairs", PROMISE, dtypes=EXACT),
    write(p.scatter, "outside", CLIP),
    *[
        write(f, name, DROP, f is p.scatter_mul)
        for f in list(COMBINE)[1:]
        for name in WRITES
    ],
    *[
        write(f, name, mode, atol={"float32": 1e-6}, lower_atol=1e-6, **OF_OPERAND.get(f, {}))
        for f in list(COMBINE)[1:]
        for name in REPEATS
        for mode in (DROP, CLIP)
    ],
    *[
        write(f, "outside", DROP, True, dtypes=SUMS if f is not p.scatter_add else (*SUMS, "int4"))
        for f in list(COMBINE)[1:]
    ],
    *[write(f, "twice", DROP, dtypes=ALL, atol={"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-6,
            "complex64": 1e-6}, **OF_OPERAND.get(f, {})) for f in list(COMBINE)[1:]],
]  # fmt: skip
