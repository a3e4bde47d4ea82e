"""check_close compares trees, with tolerances that may depend on the dtype."""

import numpy as onp
import pytest

import weft.numpy as np
from weft.compat.comparisons import check_close, tolerance

BY_DTYPE = {"float32": 1e-2, np.float64: 1e-9}


@pytest.mark.parametrize(
    ("dtype", "stated", "expected"),
    [
        ("float32", 0.5, 0.5),
        ("float32", BY_DTYPE, 1e-2),
        ("float64", BY_DTYPE, 1e-9),
        ("float16", BY_DTYPE, 1e-2),
        ("int32", BY_DTYPE, 0.0),
        ("bfloat16", None, 1e-2),
        ("complex64", None, 1e-6),
    ],
)
def test_tolerances_by_dtype(dtype, stated, expected):
    assert tolerance(np.dtype(dtype), stated) == expected


def test_trees_that_are_close_pass_and_others_do_not():
    tree = {"a": np.ones(3), "b": [np.arange(2), np.zeros((), "bfloat16")]}
    check_close(tree, tree)
    near = {**tree, "a": np.ones(3) * 1.001}
    check_close(near, tree, rtol=BY_DTYPE)
    for options in ({}, {"rtol": {"float64": 1.0}}):
        with pytest.raises(AssertionError, match="Mismatched elements: 3 / 3"):
            check_close(near, tree, **options)
    with pytest.raises(AssertionError, match="so it is"):
        check_close({**tree, "b": [np.arange(1, 3), onp.zeros(())]}, tree, err_msg="so it is")
