"""Shapes, joining, repeating and padding against NumPy."""

from collections import deque

import numpy as onp
import pytest
from agreement import agree, assert_close, assert_gradient

import weft
import weft.numpy as np

X = onp.arange(24, dtype=onp.float32).reshape(2, 3, 4)
M = X[0]
V = onp.arange(5, dtype=onp.float32)
INTS = onp.arange(6, dtype=onp.int32).reshape(2, 3)


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("reshape", (X, (4, -1)), {}),
        ("reshape", (X, (6, 4)), {"order": "F"}),
        ("reshape", (X, 24), {}),
        ("ravel", (M,), {}),
        ("ravel", (M,), {"order": "F"}),
        ("transpose", (X,), {}),
        ("transpose", (X, (1, 0, 2)), {}),
        ("transpose", (X, (-1, 0, 1)), {}),
        ("swapaxes", (X, 0, -1), {}),
        ("moveaxis", (X, 0, -1), {}),
        ("moveaxis", (X, (0, 1), (-1, 0)), {}),
        ("rollaxis", (X, 2), {}),
        ("rollaxis", (X, 0, 3), {}),
        ("squeeze", (X[:1, :, :1],), {}),
        ("squeeze", (X[:1, :, :1],), {"axis": 0}),
        ("expand_dims", (M, (0, 3)), {}),
        ("broadcast_to", (V, (2, 5)), {}),
        ("broadcast_arrays", (M, M[0], 2.0), {}),
        ("atleast_1d", (3.0,), {}),
        ("atleast_2d", (V, 2.0), {}),
        ("atleast_3d", (V, M), {}),
        ("flip", (X,), {}),
        ("flip", (X, (0, 2)), {}),
        ("fliplr", (M,), {}),
        ("flipud", (M,), {}),
        *[("rot90", (X, k, axes), {}) for k in (-1, 0, 1, 2) for axes in ((0, 1), (2, 0))],
        ("resize", (M, (5, 3)), {}),
        ("resize", (M, (2, 2)), {}),
        ("tile", (M, 2), {}),
        ("tile", (M, (2, 1, 3)), {}),
        ("repeat", (M, 2), {}),
        ("repeat", (M, 3), {"axis": 1}),
        ("repeat", (M, onp.array([0, 2, 1])), {"axis": 0}),
        ("roll", (M, 2), {}),
        ("roll", (M, -1), {"axis": 1}),
        ("roll", (X, (1, 5)), {"axis": (0, 2)}),
        ("concatenate", ([M, INTS.reshape(3, 2)],), {"axis": 1}),
        ("concatenate", ([M, V],), {"axis": None}),
        ("stack", ([V, V],), {"axis": 1}),
        ("vstack", ([V, V],), {}),
        ("hstack", ([V, V],), {}),
        ("hstack", ([M, M],), {}),
        ("dstack", ([M, M],), {}),
        ("column_stack", ([V, V],), {}),
        ("split", (X, 2), {"axis": 2}),
        ("split", (V, [1, 3, 9]), {}),
        ("split", (V, [-2]), {}),
        ("array_split", (V, 3), {}),
        ("vsplit", (X, 2), {}),
        ("hsplit", (V, [2]), {}),
        ("dsplit", (X, 2), {}),
        ("append", (M, M), {"axis": 0}),
        ("append", (M, 7.0), {}),
        ("block", ([[M, M], [M, M]],), {}),
        ("block", ([V, 1.0],), {}),
        ("insert", (V, 2, 9.0), {}),
        ("insert", (M, onp.array([0, 2]), 9.0), {"axis": 1}),
        ("insert", (M, 1, M[0]), {"axis": 0}),
        ("insert", (M, 1, M[:, 0]), {"axis": 1}),
        ("insert", (V, slice(1, 4, 2), onp.float32([7, 8])), {}),
        ("insert", (V, [3, 1], onp.float32([7, 8])), {}),
        ("delete", (V, 2), {}),
        ("delete", (M, onp.array([0, -1])), {"axis": 1}),
        ("delete", (M, slice(None, None, 2)), {"axis": 0}),
        ("delete", (V, onp.array([True, False, False, True, False])), {}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_shapes_agree_with_numpy(name, args, options):
    agree(name, *args, compiled=name not in ("insert", "delete", "repeat"), **options)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint32", "uint64", "int64"])
def test_repeats_are_of_any_integer_dtype(dtype):
    """NumPy refuses uint64, the array API standard doesn't."""
    with weft.enable_x64(True):
        found = np.repeat(M, np.asarray([0, 2, 1], dtype), axis=0)
    onp.testing.assert_array_equal(found, onp.repeat(M, [0, 2, 1], axis=0))


@pytest.mark.parametrize("name", ["insert", "delete", "repeat"])
def test_places_known_at_tracing_time(name):
    rest = {"insert": (1, 9.0), "delete": ([1, 3],), "repeat": (2,)}[name]
    assert_close(weft.jit(lambda x: getattr(np, name)(x, *rest))(V), getattr(onp, name)(V, *rest))


MODES = [
    "constant",
    "edge",
    "reflect",
    "symmetric",
    "wrap",
    "linear_ramp",
    "maximum",
    "minimum",
    "mean",
    "median",
    "empty",
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("widths", [2, (1, 3), ((0, 1), (2, 0)), ((7, 9), (5, 6))])
@pytest.mark.parametrize("x", [M, INTS], ids=["float32", "int32"])
def test_pad_agrees_with_numpy(mode, widths, x):
    oracle = (lambda v, w, mode: onp.pad(v, w)) if mode == "empty" else None
    agree("pad", x, widths, mode=mode, oracle=oracle, compiled=widths == (1, 3))


@pytest.mark.parametrize(
    "options",
    [
        {"constant_values": 7},
        {"constant_values": (1, 2)},
        {"constant_values": ((1, 2), (3, 4))},
        {"mode": "linear_ramp", "end_values": (5, -5)},
        {"mode": "mean", "stat_length": 2},
        {"mode": "maximum", "stat_length": ((1, 2), (3, 1))},
        {"mode": "reflect", "reflect_type": "odd"},
        {"mode": "symmetric", "reflect_type": "odd"},
    ],
    ids=str,
)
def test_options_of_pad(options):
    agree("pad", M, ((2, 3), (1, 4)), **options)


def test_pad_by_a_function():
    def fill(row, widths, axis, options):
        return np.where((np.arange(row.size) < widths[0]), options["with_"], row)

    def numpy_fill(row, widths, axis, options):
        row[: widths[0]] = options["with_"]

    assert_close(np.pad(M, 2, fill, with_=5.0), onp.pad(M, 2, numpy_fill, with_=5.0))


def test_pad_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="mode must be one of"):
        np.pad(np.ones(2), 1, mode="nonsense")
    with pytest.raises(ValueError, match="takes no end_values"):
        np.pad(np.ones(2), 1, end_values=3)
    with pytest.raises(ValueError, match="must not be negative"):
        np.pad(np.ones(2), -1)


def test_repeat_with_traced_counts_needs_a_length():
    counts = onp.array([1, 0, 3], onp.int32)
    x = np.asarray(M)

    def run(counts):
        return np.repeat(x, counts, axis=0, total_repeat_length=5)

    wanted = onp.concatenate([onp.repeat(M, counts, 0), M[-1:]])
    assert_close(weft.jit(run)(counts), wanted)
    assert_close(run(counts), wanted)
    with pytest.raises(weft.errors.ConcretizationTypeError, match="total_repeat_length"):
        weft.jit(lambda c: np.repeat(x, c, axis=0))(counts)


def test_roll_by_a_traced_shift():
    for shift in (0, 2, -7):
        assert_close(weft.jit(lambda s: np.roll(M, s, axis=1))(shift), onp.roll(M, shift, 1))


def test_parts_of_several_dtypes_are_promoted():
    assert np.concatenate([INTS, M.reshape(4, 3)]).dtype == onp.float32
    assert np.stack([np.ones(2, "float16"), np.ones(2, int)]).dtype == onp.float16
    assert np.concatenate([M, M], dtype=int).dtype == onp.int32


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.concatenate([x, 2 * x], 1),
        lambda x: np.tile(x, (2, 2)),
        lambda x: np.repeat(x, 3, axis=0),
        lambda x: np.roll(x, 1, 1),
        lambda x: np.pad(x, 2, mode="reflect"),
        lambda x: np.pad(x, 1, mode="linear_ramp"),
        lambda x: np.rot90(x),
        lambda x: np.stack(np.split(x, 2, axis=1)),
        lambda x: np.insert(x, 1, 0.0, axis=1),
        lambda x: np.delete(x, 0, axis=0),
    ],
)
def test_gradients(function):
    assert_gradient(function, M)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: np.reshape(np.ones(6), (4, 2)), TypeError, "reshape: float32.6. has 6 elements"),
        (lambda: np.reshape(np.ones(6), (-1, -1)), TypeError, "one length may be -1"),
        (lambda: np.transpose(np.ones((2, 3)), (0, 0)), ValueError, "each of the 2 axes once"),
        (lambda: np.squeeze(np.ones((2, 1)), 0), ValueError, "not of length 1"),
        (lambda: np.broadcast_to(np.ones(3), (2,)), ValueError, "does not broadcast to shape"),
        (lambda: np.concatenate([]), ValueError, "at least one array"),
        (lambda: np.concatenate([np.ones((2, 2)), np.ones((3, 3))]), TypeError, "array 1 is"),
        (lambda: np.concatenate(3), TypeError, "expected a sequence of arrays"),
        (lambda: np.stack({"a": 1}), TypeError, "expected a sequence of arrays; got dict"),
        (lambda: np.hstack("ab"), TypeError, "expected a sequence of arrays; got str"),
        (lambda: np.vstack({1, 2}), TypeError, "expected a sequence of arrays; got set"),
        (lambda: np.concatenate(map(np.sin, [X])), TypeError, "expected a sequence of arrays"),
        (lambda: np.stack([np.ones(2), np.ones(3)]), ValueError, "must have one shape"),
        (lambda: np.split(np.ones(5), 2), ValueError, "equal sections"),
        (lambda: np.moveaxis(np.ones((2, 2)), 0, (0, 1)), ValueError, "equal lengths"),
        (lambda: np.delete(np.ones(2), 5), IndexError, "out of range"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


class Rows:
    """A library's own sequence: it has a length and elements, and no other methods."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


@pytest.mark.parametrize("make", [Rows, deque, lambda xs: dict(enumerate(xs)).values()])
@pytest.mark.parametrize(
    "function", [np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack]
)
def test_arrays_are_joined_from_any_sequence(function, make):
    rows = [np.ones((2, 2)), np.zeros((2, 2))]
    assert onp.array_equal(function(make(rows)), function(rows))
    assert onp.array_equal(np.linalg.multi_dot(make(rows)), np.linalg.multi_dot(rows))
