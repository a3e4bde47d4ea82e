"""`weft.tree`, and the functions of trees at the top: other names of those of `tree_util`."""

import pytest

import weft

TREE = {"b": [1, (2, None)], "a": 3}
TOP = ("all", "flatten", "leaves", "map", "reduce", "structure", "transpose", "unflatten")


@pytest.mark.parametrize("name", weft.tree.__all__)
def test_short_names(name):
    assert getattr(weft.tree, name) is getattr(weft.tree_util, f"tree_{name}")


@pytest.mark.parametrize("name", TOP)
def test_names_at_the_top(name):
    assert getattr(weft, f"tree_{name}") is getattr(weft.tree_util, f"tree_{name}")


@pytest.mark.parametrize("count", range(6))
def test_an_associative_reduction_keeps_the_order_and_is_shallow(count):
    depths = []

    def join(x, y):
        depths.append(max(x[1], y[1]) + 1)
        return x[0] + y[0], depths[-1]

    text = "abcdef"[:count]
    leaf = lambda x: isinstance(x, tuple)  # noqa: E731
    found = weft.tree.reduce_associative(
        join, [[(c, 0)] for c in text], identity=("", 0), is_leaf=leaf
    )
    assert found[0] == text
    assert max(depths, default=0) == max(count - 1, 0).bit_length()


def test_an_associative_reduction_of_nothing_needs_an_identity():
    with pytest.raises(TypeError, match="tree_reduce_associative: a tree without leaves"):
        weft.tree.reduce_associative(max, [])
