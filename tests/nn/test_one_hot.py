"""one_hot: places, dtypes, axes, numbers that aren't classes, named axes."""

import numpy as np
import pytest

from weft import jit, nn, vmap


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "int8"])
def test_ones_stand_at_the_classes(axis, dtype):
    x = np.array([[0, 2, 1], [3, 1, 0]], dtype)
    want = np.moveaxis(np.eye(4, dtype=np.float32)[x.astype(int)], -1, axis)
    for run in (lambda f: f, jit):
        got = run(lambda x: nn.one_hot(x, 4, axis=axis))(x)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, want)


def test_what_is_no_class_gives_zeros():
    assert nn.one_hot(np.array([-1, 3, 2]), 3).tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert nn.one_hot(np.array([0.5, np.nan]), 2).tolist() == [[0, 0], [0, 0]]
    assert nn.one_hot(np.uint8(1), 300).sum().item() == 1  # 257 isn't 1
    assert nn.one_hot(np.zeros((2, 0), np.int32), 3).shape == (2, 0, 3)
    assert nn.one_hot(1, 0).shape == (0,)
    assert nn.one_hot([0, 2], 3).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert nn.one_hot([[1], (0,)], 2).tolist() == [[[0, 1]], [[1, 0]]]


def test_dtypes_and_batches():
    assert nn.one_hot(1, 2, dtype=bool).tolist() == [False, True]
    assert nn.one_hot(1, 2, dtype="bfloat16").dtype.name == "bfloat16"
    assert vmap(lambda x: nn.one_hot(x, 3))(np.arange(2)).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_a_named_axis_stands_for_the_classes():
    got = vmap(lambda _: nn.one_hot(np.array([1, 2]), 3, axis="i"), axis_name="i")(np.arange(3))
    np.testing.assert_array_equal(got, np.eye(3)[[1, 2]].T)


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: nn.one_hot(1, -1), ValueError, "num_classes"),
        (lambda: nn.one_hot(1, 2.5), TypeError, "num_classes"),
        (lambda: nn.one_hot(1, 2, axis=2), ValueError, "axis 2"),
        (lambda: nn.one_hot(True, 2), TypeError, "integers"),
        (
            lambda: vmap(lambda _: nn.one_hot(1, 4, axis="i"), axis_name="i")(np.arange(3)),
            ValueError, "num_classes",
        ),
    ],
)  # fmt: skip
def test_refusals(call, error, part):
    with pytest.raises(error, match=part):
        call()
