"""Functions that JAX defined otherwise in 2024."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.compat import of_2024
from weft.custom_derivatives import SymbolicZero
from weft.errors import ShapeError
from weft.tree_util import tree_map


def test_none_stands_for_any_tree():
    def pair(*xs):
        return xs

    assert of_2024.tree_map(pair, (1, None), (2, (3, 4))) == ((1, 2), None)
    assert of_2024.tree_map(pair, {"a": None, "b": [1]}, {"a": 5, "b": [2]}) == {
        "a": None,
        "b": [(1, 2)],
    }
    assert of_2024.tree_map(pair, (1, None), (2, 3), is_leaf=lambda x: x is None) == (
        (1, 2),
        (None, 3),
    )
    assert of_2024.tree_map(lambda x: x + 1, [1, None]) == [2, None]
    with pytest.raises(ShapeError, match="expected None"):
        tree_map(pair, (1, None), (2, 3))  # today's does not


@pytest.mark.parametrize("zero", [lambda x: onp.int32(0), lambda x: SymbolicZero(x.aval)])
def test_a_tangent_of_integers_means_nothing(zero):
    @of_2024.custom_jvp
    def with_count(x):
        return x * x, np.int32(3)

    @with_count.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        out = with_count(x)
        return out, (2 * x * t, zero(out[1]))

    assert float(weft.grad(lambda x: with_count(x)[0])(3.0)) == 6
    out, tangent = weft.jit(lambda x: weft.jvp(with_count, (x,), (1.0,)))(2.0)
    assert float(out[0]) == float(tangent[0]) == 4
