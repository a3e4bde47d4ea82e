"""Nested structures: tuples, lists, dicts and namedtuples."""

from collections import namedtuple

import numpy as onp
import pytest

from weft import fastmath
from weft.fastmath import numpy as np

Pair = namedtuple("Pair", "a b")


def test_maps_keep_kinds_and_order():
    tree = {"b": (1, [2, None]), "a": Pair(3, 4)}
    found = fastmath.nested_map(lambda x: x * 10, tree)
    assert found == {"b": (10, [20, None]), "a": Pair(30, 40)}
    assert list(found) == ["b", "a"]
    assert type(found["a"]) is Pair


def test_levels():
    assert fastmath.nested_map(len, [(1, 2), ((3,), (4, 5))], level=1) == [2, (1, 2)]
    assert fastmath.nested_map(len, [[(1, 2)], [(3,)]], level=2) == [1, 1]
    with pytest.raises(ValueError, match="Non-exhaustive"):
        fastmath.nested_map(len, [1, (2,)], level=1)


def test_nones_are_passed_over_or_mapped_at_every_depth():
    assert fastmath.nested_map(str, [None, (None, 1)], ignore_nones=False) == [
        "None", ("None", "1")
    ]  # fmt: skip
    assert fastmath.nested_map_multiarg(lambda *x: len(x), (None, [1]), (None, [2])) == (None, [2])


def test_structures_that_differ_are_refused():
    for other in ([1], [1, 2, 3], [1, (2,)], {"a": 1, "b": 2}, 5):
        with pytest.raises(ValueError, match="structures differ"):
            fastmath.nested_map_multiarg(lambda x, y: x, (1, (2, 3)), other)


def test_zip_and_stack():
    assert fastmath.nested_zip([(1, {"a": 2}), (3, {"a": 4})]) == ((1, 3), {"a": (2, 4)})
    stacked = fastmath.nested_stack([(onp.ones(2), None), (onp.zeros(2), None)], axis=1)
    assert stacked[0].tolist() == [[1, 0], [1, 0]]
    assert stacked[1] is None
    for wrong in ([], 5):
        with pytest.raises(AssertionError):
            fastmath.nested_zip(wrong)
        with pytest.raises(AssertionError):
            fastmath.nested_stack(wrong)


def test_stacks_on_a_backend(backend):
    stacked = fastmath.nested_stack([{"x": np.ones(2)}, {"x": np.zeros(2)}], np_module=np)
    assert onp.asarray(stacked["x"]).tolist() == [[1, 1], [0, 0]]


def test_flat_and_back():
    tree = {"b": 1, "a": [None, Pair(2, 3)]}
    flat = fastmath.tree_flatten(tree)
    assert flat == [1, None, 2, 3]
    assert fastmath.tree_leaves(tree) == [1, 2, 3]
    assert fastmath.tree_leaves(tree, ignore_nones=False) == flat
    assert fastmath.tree_unflatten([*flat, "rest"], tree) == (
        {"b": 1, "a": [None, (2, 3)]}, ["rest"]
    )  # fmt: skip
    with pytest.raises(ValueError, match="fewer leaves"):
        fastmath.tree_unflatten([1], tree)


def test_subtrees_are_copied_and_arrays_are_leaves():
    marker = {"__marker__": ()}
    tree = (onp.ones(2), marker, [()])
    new, rest = fastmath.tree_unflatten([7], tree, copy_from_tree=[marker, ()])
    assert (new, rest) == ((7, marker, [()]), [])
