"""Public names of weft.numpy that are aliases, or thin over others, against NumPy's of that name.

Where NumPy has the name no more, or never had it, the table says what it should come to.
"""

import io

import numpy as np
import pytest

import weft.numpy as wnp

X = np.float32([[-2.5, 0.0, 1.5], [0.5, -0.5, 3.5]])
UNIT = np.float32([-0.9, -0.3, 0.0, 0.2, 0.7])
LARGE = np.float32([1.0, 1.5, 7.0])
WHOLE = np.int32([[5, -3, 0], [2, 2, 9]])
OTHER = np.int32([[1, 2, 3], [2, 1, 0]])
FLAGS = np.array([[True, False], [True, True]])
COMPLEX = np.complex64([1 + 2j, -3 - 0.5j])
LINE = np.int32([3, 1, 2, 1, 3, 3])

# name: operands, of which the function is compared with NumPy's of the same name
SAME = {
    "acos": [UNIT],
    "acosh": [LARGE],
    "allclose": [X, X + 1e-9],
    "amax": [X, 1],
    "amin": [X, 0],
    "around": [X, 0],
    "array_equal": [X, X + (X == 3.5)],
    "array_equiv": [X[0], np.stack([X[0], X[0]])],
    "asanyarray": [X],
    "ascontiguousarray": [X.T],
    "asin": [UNIT],
    "asinh": [X],
    "astype": [X, np.int32],
    "atan": [X],
    "atan2": [X, X[::-1]],
    "atanh": [UNIT],
    "bitwise_invert": [WHOLE],
    "bitwise_left_shift": [WHOLE, OTHER],
    "bitwise_not": [WHOLE],
    "bitwise_right_shift": [WHOLE, OTHER],
    "broadcast_shapes": [(2, 1), (1, 3)],
    "can_cast": ["f4", "f8"],
    "concat": [(X, X)],
    "conjugate": [COMPLEX],
    "copy": [X],
    "degrees": [X],
    "diag_indices_from": [X[:2, :2]],
    "iscomplexobj": [COMPLEX],
    "isdtype": [np.dtype("f4"), "real floating"],
    "isrealobj": [COMPLEX],
    "isscalar": [3.0],
    "iterable": [X],
    "matrix_transpose": [np.stack([X, X])],
    "mod": [WHOLE, OTHER + 1],
    "modf": [X],
    "ndim": [X],
    "ones_like": [X],
    "permute_dims": [np.stack([X, X]), (2, 0, 1)],
    "pow": [LARGE, LARGE],
    "promote_types": ["i2", "u1"],
    "radians": [X],
    "result_type": [X, COMPLEX],
    "round": [X, 0],
    "size": [X, 1],
    "true_divide": [WHOLE, OTHER + 1],
    "unique_all": [LINE],
    "unique_counts": [LINE],
    "unique_inverse": [LINE],
    "unstack": [X],
    "zeros_like": [X],
}
# name: (operands, what it should come to)
OTHERS = {
    "alltrue": ([FLAGS, 1], FLAGS.all(1)),
    "cumproduct": ([X, 1], np.cumprod(X, 1)),
    "empty_like": ([X], 0 * X),
    "fix": ([X], np.trunc(X)),
    "in1d": ([LINE, [1, 7]], np.isin(LINE, [1, 7])),
    "issubsctype": ([np.float32, np.floating], True),
    "mask_indices": ([3, wnp.triu, 1], np.mask_indices(3, np.triu, 1)),
    "msort": ([X], np.sort(X, 0)),
    "product": ([X, 0], np.prod(X, 0)),
    "round_": ([X, 0], np.round(X)),
    "row_stack": ([(X[0], X[1], X[0])], np.vstack([X[0], X[1], X[0]])),
    "sometrue": ([FLAGS, 1], FLAGS.any(1)),
    "trapz": ([X], np.trapezoid(X)),
}


def check(got, expected):
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            check(g, e)
    elif isinstance(expected, np.dtype):
        assert got == expected
    else:
        assert np.shape(got) == np.shape(expected)
        np.testing.assert_allclose(np.asarray(got), expected, rtol=2e-6, atol=1e-7)


def as_weft(x):
    """The operand as an array of weft's, so that no NumPy function could take its place unseen."""
    if isinstance(x, tuple) and x and isinstance(x[0], np.ndarray):
        return tuple(map(wnp.asarray, x))
    return wnp.asarray(x) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize("name", SAME)
def test_is_what_numpy_has_by_that_name(name):
    check(getattr(wnp, name)(*map(as_weft, SAME[name])), getattr(np, name)(*SAME[name]))


@pytest.mark.parametrize("name", OTHERS)
def test_is_what_the_name_says(name):
    operands, expected = OTHERS[name]
    operands = [wnp.asarray(x) if isinstance(x, list) else as_weft(x) for x in operands]
    check(getattr(wnp, name)(*operands), expected)


@pytest.mark.parametrize("kth", [0, 2, 5])
def test_partitions(kth):
    line, order = np.sort(LINE), np.asarray(wnp.argpartition(wnp.asarray(LINE), kth))
    for got in (np.asarray(wnp.partition(wnp.asarray(LINE), kth)), LINE[order]):
        assert got[kth] == line[kth]
        assert max(got[:kth], default=0) <= got[kth] <= min(got[kth:])
        assert sorted(got) == line.tolist()
    assert sorted(order) == list(range(6))


def test_fill_diagonal():
    expected = WHOLE.copy()
    np.fill_diagonal(expected, 7)
    check(wnp.fill_diagonal(wnp.asarray(WHOLE), 7, inplace=False), expected)


def test_texts_of_arrays_and_how_they_are_printed():
    x = wnp.asarray(np.float32([1 / 3, 2e-9]))
    assert wnp.array_str(x, precision=3) == np.array_str(np.asarray(x), precision=3)
    assert wnp.array_repr(x).startswith("Array([")
    before = wnp.get_printoptions()
    with wnp.printoptions(precision=2):
        assert wnp.get_printoptions()["precision"] == 2
        assert wnp.array_str(x) == np.array_str(np.asarray(x), precision=2)
    wnp.set_printoptions(precision=3)
    try:
        assert wnp.array_str(x) == np.array_str(np.asarray(x), precision=3)
    finally:
        wnp.set_printoptions(**before)
    assert wnp.get_printoptions() == before


def test_files(tmp_path):
    raw = tmp_path / "raw"
    X.tofile(raw)
    check(wnp.fromfile(raw, np.float32), X.ravel())
    one, several = io.BytesIO(), io.BytesIO()
    wnp.save(one, wnp.asarray(X))
    wnp.savez(several, wnp.asarray(X), whole=wnp.asarray(WHOLE))
    one.seek(0)
    several.seek(0)
    check(np.load(one), X)
    found = np.load(several)
    check([found["arr_0"], found["whole"]], [X, WHOLE])


def test_numpys_scalars_are_instances_of_their_dtype():
    assert isinstance(np.int32(1), wnp.int32)
    assert isinstance(wnp.int32(1), wnp.int32)
    assert isinstance(np.float32(1), wnp.float32)
    assert isinstance(wnp.bfloat16(1), wnp.bfloat16)
    assert not isinstance(np.int64(1), wnp.int32)
    assert not isinstance(1, wnp.int32)
    assert not isinstance(wnp.zeros(2, "int32"), wnp.int32)
    assert wnp.bool is wnp.bool_


@pytest.mark.parametrize("compare", [wnp.array_equal, wnp.array_equiv])
def test_equality_of_lists(compare):
    assert bool(compare([1, 2], [1, 2]))
    assert bool(compare([1.0, 2.0], wnp.arange(1, 3)))
    assert not compare([1, 2], (1, 3))
    assert not compare([1, 2], [1, 2, 3])


def test_an_array_without_axes_is_a_length():
    for length in (np.array(4), wnp.array(4), np.int32(4), 4):
        assert wnp.zeros(length).shape == (4,)
