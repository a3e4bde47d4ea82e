"""The nodes of tree.json: what they say of a tree, and which lists of nodes are none."""

import json

import checkpoint_trees as trees
import pytest

from weft.checkpoints.structure import Malformed, leaf_paths, nodes_of, plain_tree


def test_nodes_come_before_their_children_in_the_order_of_the_tree():
    tree = {"b": [1, (2, None)], "a": trees.Point(3, {}), (0, "x"): 4}
    tree = {"outer": tree["b"], "point": tree["a"], "tuples": {(0, "x"): 4}}
    nodes, leaves = nodes_of(tree)
    assert nodes == [
        {"name": "", "dict": ["outer", "point", "tuples"]},
        {"name": "outer", "list": 2},
        {"name": "outer/0"},
        {"name": "outer/1", "tuple": 2},
        {"name": "outer/1/0"},
        {"name": "outer/1/1", "none": True},
        {"name": "point", "class": "Point", "dict": ["x", "y"]},
        {"name": "point/x"},
        {"name": "point/y", "dict": []},
        {"name": "tuples", "dict": [[0, "x"]]},
        {"name": "tuples/(0, 'x')"},
    ]
    assert [value for _, _, value in leaves] == [1, 2, 3, 4]
    assert [nodes[index]["name"] for index, _, _ in leaves] == [
        "outer/0", "outer/1/0", "point/x", "tuples/(0, 'x')",
    ]  # fmt: skip
    read = json.loads(json.dumps(nodes))
    assert [path for path, _ in leaf_paths(read)] == [
        ("outer", 0), ("outer", 1, 0), ("point", "x"), ("tuples", (0, "x")),
    ]  # fmt: skip
    assert plain_tree(read, [1, 2, 3, 4]) == {
        "outer": [1, (2, None)],
        "point": {"x": 3, "y": {}},
        "tuples": {(0, "x"): 4},
    }


def test_names_differ_and_every_file_can_have_them():
    tree = {"a": {"b": 1, "\ud800": 2}, "a/b": 3, "a/b#2": 4, "a/?": 5, "": 6, "array": 7}
    nodes, leaves = nodes_of(tree)
    names = [nodes[index]["name"] for index, _, _ in leaves]
    assert sorted(names) == sorted(["a/b", "a/?", "a/b#2", "a/b#2#2", "a/?#2", "array", "array#2"])
    assert "".join(names).encode()


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([{}, {}], "there are 1 nodes beside the tree"),
        ([{"list": 1}], "a length is not a number, or more than there are nodes"),
        ([{"list": 2}, {"tuple": 1}, {}], "more than there are nodes"),
        ([{"list": 1}, {"list": 1}, {"list": 1}], "more than there are nodes"),
        ([{"dict": ["a", "b"]}, {}], "more than there are nodes"),
        ([{"dict": ["a", "a"]}, {}, {}], "a dict has a key twice"),
        ([{"dict": [[1, {}]]}, {}], "a key of a dict is an object"),
        ([{"none": True, "list": 0}], "a node is of two kinds"),
        ([7], "a node is not an object"),
        ([{"list": 1}] * 402 + [{}], "nested more than 400 levels deep"),
        ([], "1 nodes of the tree are missing"),
    ],
)
def test_lists_that_are_no_tree(nodes, text):
    with pytest.raises(Malformed, match=text):
        list(leaf_paths(nodes))
