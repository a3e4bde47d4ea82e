"""ravel_pytree: there and back, dtypes, derivatives."""

import numpy as np
import pytest

import weft
from weft.flatten_util import ravel_pytree

TREE = {"w": np.arange(6.0, dtype=np.float32).reshape(2, 3), "b": [np.float32(7), (8.0, None)]}


def test_there_and_back():
    vector, unravel = ravel_pytree(TREE)
    assert vector.tolist() == [7, 8, 0, 1, 2, 3, 4, 5]
    back = unravel(vector * 2)
    assert back["b"][1][1] is None
    assert back["w"].tolist() == [[0, 2, 4], [6, 8, 10]]
    assert back["b"][0].shape == ()


def test_each_leaf_gets_its_dtype_back():
    vector, unravel = ravel_pytree((np.int32([1, 2]), np.float16([0.5]), True))
    assert vector.dtype == np.float16
    assert [x.dtype.name for x in unravel(vector)] == ["int32", "float16", "bool"]


def test_empty_trees():
    vector, unravel = ravel_pytree([])
    assert vector.shape == (0,)
    assert unravel(vector) == []


def test_derivatives_and_tracing():
    def loss(vector):
        tree = unravel(vector)
        return (tree["w"] * tree["w"]).sum() + tree["b"][0]

    vector, unravel = ravel_pytree(TREE)
    expected = [1, 0, 0, 2, 4, 6, 8, 10]
    assert weft.grad(loss)(vector).tolist() == expected
    assert weft.jit(weft.grad(loss))(vector).tolist() == expected
    assert weft.hessian(loss)(vector).shape == (8, 8)
    assert weft.jit(lambda t: ravel_pytree(t)[0])(TREE).tolist() == vector.tolist()


def test_leaves_of_one_dtype_take_a_vector_of_any():
    vector, unravel = ravel_pytree({"a": np.arange(3.0), "b": np.float64(1)})
    back = unravel(vector < 1)
    assert back["a"].tolist() == [True, False, False]
    assert [back["a"].dtype.name, back["b"].dtype.name] == ["bool", "bool"]
    assert unravel(vector.astype(np.float16))["b"].dtype.name == "float16"


def test_other_vectors_are_refused():
    _, unravel = ravel_pytree(TREE)
    with pytest.raises(ValueError, match="length 8"):
        unravel(np.zeros(7, np.float32))
    with pytest.raises(TypeError, match="dtype float32"):
        ravel_pytree({**TREE, "n": np.int32(1)})[1](np.zeros(9, bool))
    with pytest.raises(TypeError, match=r"scalar for pytree\[0\]; got a str"):
        ravel_pytree(["text"])
    with pytest.raises(TypeError, match="leaf 1"):
        ravel_pytree({"a": 1, "b": [["text"]]})
