"""Tree nodes, classes registered for vmap, and XLA's clients by platform."""

from typing import NamedTuple

import pytest

import weft
from weft.compat import registry
from weft.compat.names import names_of
from weft.compat.registry import (
    ENTRIES,
    DefaultRegistry,
    flatten_one_level,
    flatten_one_level_with_keys,
)
from weft.tree_util import DictKey, SequenceKey


class Point(NamedTuple):
    x: int
    y: int


def test_one_level_of_a_tree():
    registry = DefaultRegistry()
    assert registry.flatten_one_level([1, [2]]) == ([1, [2]], None)
    assert registry.flatten_one_level(Point(1, 2))[0] == [1, 2]
    assert registry.flatten_one_level(3) is None
    assert registry.is_node({})
    assert not registry.is_node("a")
    pairs, _ = registry.flatten_one_level_with_keys({"b": 1, "a": 2})
    assert pairs == [(DictKey("a"), 2), (DictKey("b"), 1)]
    assert registry.flatten_one_level_with_keys((5,))[0] == [(SequenceKey(0), 5)]


def test_whole_trees():
    leaves, structure = DefaultRegistry().flatten({"a": [1, 2]})
    assert leaves == [1, 2]
    assert structure.unflatten(leaves) == {"a": [1, 2]}


def test_the_functions_refuse_leaves():
    assert flatten_one_level([1, 2]) == ([1, 2], None)
    assert flatten_one_level_with_keys((5,))[0] == [(SequenceKey(0), 5)]
    for function in (flatten_one_level, flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="expected a node of a tree; got a int"):
            function(3)


def test_entries_by_class():
    for node in ({"b": 1, "a": [2]}, [1, 2], (3,), None):
        to_iter, from_iter = ENTRIES[type(node)]
        children, data = to_iter(node)
        assert from_iter(data, children) == node
        assert {data: 1}  # libraries compare data in sets
    assert list in ENTRIES
    assert int not in ENTRIES
    assert len(ENTRIES) == len([*ENTRIES])
    with pytest.raises(KeyError):
        ENTRIES[int]


def test_classes_are_registered_until_they_are_not():
    class Data:
        pass

    batching = names_of("0.10.2")["jax.interpreters.batching"]
    assert not batching["is_vmappable"](Data())
    batching["register_vmappable"](Data, int, int, None, None, None)
    assert batching["is_vmappable"](Data())
    batching["unregister_vmappable"](Data)
    assert not batching["is_vmappable"](Data())


def test_clients_by_platform():
    found = registry.backends()
    assert registry.get_backend("cpu") is found["cpu"] is weft.devices("cpu")[0].client
    assert registry.get_backend() is registry.get_backend(registry.get_backend())
    assert registry.get_backend() in found.values()


def test_the_default_device():
    assert registry.get_default_device() == weft.devices()[0]
    for device in (weft.devices("cpu")[0], "cpu"):
        with weft.default_device(device):
            assert registry.get_default_device() == weft.devices("cpu")[0]
