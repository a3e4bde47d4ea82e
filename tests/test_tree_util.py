"""Pytrees: round trips of random trees, functions made for a structure, errors that name a path."""

import copy
import dataclasses
import functools
import gc
import inspect
import pickle
import threading
import weakref
from collections import OrderedDict, defaultdict, namedtuple
from enum import Enum

import pytest
from hypothesis import given, settings, strategies as st

from weft import tree_code, tree_flattening, tree_util, treedef
from weft.tree_paths import shown
from weft.tree_util import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Partial,
    PyTreeDef,
    SequenceKey,
    keystr,
    tree_leaves,
    tree_map,
    tree_structure,
)

Point = namedtuple("Point", "x y")
Empty = namedtuple("Empty", "")


class Leaf:
    """A leaf."""


class Foreign:
    """A leaf of another class."""


class Box:
    def __init__(self, children, data):
        self.children, self.data = children, data

    def __eq__(self, other):
        return type(other) is Box and (self.children, self.data) == (other.children, other.data)

    __hash__ = None


tree_util.register_pytree_node(
    Box, lambda b: (b.children, b.data), lambda data, children: Box(list(children), data)
)


@functools.partial(
    tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["name", "size"]
)
@dataclasses.dataclass
class Layer:
    name: str
    w: object
    size: int = 1
    b: object = None


@tree_util.register_pytree_with_keys_class
class Keyed:
    def __init__(self, *parts):
        self.parts = parts

    def tree_flatten_with_keys(self):
        return [(DictKey(f"part {i}"), part) for i, part in enumerate(self.parts)], len(self.parts)

    @classmethod
    def tree_unflatten(cls, count, children):
        assert len(children) == count
        return cls(*children)

    def __eq__(self, other):
        return type(other) is Keyed and self.parts == other.parts

    __hash__ = None


def nodes(children):
    names = st.text("abc", max_size=2)
    keys = names | st.integers(0, 3)
    return st.one_of(
        st.lists(children, max_size=4),
        st.lists(children, max_size=4).map(tuple),
        st.dictionaries(names, children, max_size=4),
        st.dictionaries(st.integers(0, 3), children, max_size=3),
        st.dictionaries(keys, children, max_size=3).map(OrderedDict),
        st.dictionaries(names, children, max_size=3).map(lambda d: defaultdict(list, d)),
        st.builds(Point, children, children),
        st.just(Empty()),
        st.none(),
        st.builds(Box, st.lists(children, max_size=3), st.sampled_from([None, 1, 1.0, "a", [2]])),
        st.builds(Layer, st.sampled_from("ab"), children, st.integers(0, 1), children),
        st.lists(children, max_size=3).map(lambda parts: Keyed(*parts)),
        st.builds(lambda a, k: Partial(len, *a, **k), st.lists(children, max_size=2),
                  st.dictionaries(st.sampled_from("kq"), children, max_size=2)),
    )  # fmt: skip


def trees(leaves):
    return st.recursive(leaves, nodes, max_leaves=20)


known_leaves = st.integers() | st.floats(allow_nan=False) | st.builds(Leaf)
any_trees = trees(known_leaves | st.builds(Foreign) | st.text(max_size=1))


def reference(tree):
    """Leaves and a description of the structure, by plain recursion."""
    cls = type(tree)
    match tree:
        case None:
            return [], None
        case Partial():
            data, parts = tree.func, [tree.args, tree.keywords]
        case Box():
            data, parts = (type(tree.data), tree.data), tree.children
        case Keyed():
            data, parts = len(tree.parts), tree.parts
        case Layer():
            data, parts = (tree.name, tree.size), [tree.w, tree.b]
        case _ if cls in (tuple, list, Point, Empty):
            data, parts = None, tree
        case _ if cls is OrderedDict:
            data, parts = list(tree), tree.values()
        case _ if cls in (dict, defaultdict):
            data = sorted(tree)
            parts = [tree[key] for key in data]
            data = data, getattr(tree, "default_factory", None)
        case _:
            return [tree], "leaf"
    found = [reference(part) for part in parts]
    return [x for leaves, _ in found for x in leaves], (cls, data, [s for _, s in found])


def is_same(a, b):
    """Whether two lists hold the same objects."""
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


@given(any_trees)
def test_round_trip(tree):
    leaves, structure = tree_util.tree_flatten(tree)
    expected, description = reference(tree)
    assert is_same(leaves, expected)
    assert structure.num_leaves == len(leaves)
    for build in (structure.unflatten, structure.builder):
        again = build(leaves)
        assert reference(again)[1] == description
        assert is_same(tree_leaves(again), leaves)
        assert tree_structure(again) == structure
    assert hash(tree_structure(tree)) == hash(structure)


@given(any_trees, any_trees)
def test_structures_are_equal_exactly_if_the_trees_are_alike(a, b):
    alike = reference(a)[1] == reference(b)[1]
    assert (tree_structure(a) == tree_structure(b)) == alike
    assert tree_structure(a) == tree_structure(a)
    if alike:
        assert hash(tree_structure(a)) == hash(tree_structure(b))


def check_matcher(structure, tree):
    """A matcher gives the leaves of trees of its structure, and `None` for others."""
    leaves, other = tree_util.tree_flatten(tree)
    found = structure.matcher(tree)
    if structure == other:
        assert found is not None
        assert is_same(found, leaves)
    else:
        assert found is None


@settings(max_examples=300)
@given(any_trees, any_trees)
def test_matcher_agrees_with_flatten(a, b):
    check_matcher(tree_structure(a), a)
    check_matcher(tree_structure(a), b)


@given(trees(known_leaves), st.data())
def test_matcher_agrees_with_flatten_on_near_misses(tree, data):
    structure = tree_structure(tree)
    size = structure.num_leaves
    if size:
        leaves = tree_leaves(tree)
        replaced = st.sampled_from([None, (), [1], {"a": 1}, Foreign(), Leaf(), 3])
        leaves[data.draw(st.integers(0, size - 1))] = data.draw(replaced)
        check_matcher(structure, structure.unflatten(leaves))


NEAR_MISSES = [
    ((1, 2), [(1,), (1, 2, 3), [1, 2], (1, None), Point(1, 2), 1, None]),
    ([1], [[], [1, 2], (1,), [[1]]]),
    ((), [[], (1,), None, {}]),
    (
        {"a": 1, "b": 2},
        [{"a": 1}, {"a": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}, OrderedDict(a=1, b=2)],
    ),
    ({}, [{"a": 1}, (), OrderedDict()]),
    ({1: 2}, [{2: 2}, {"1": 2}, {1: 2, 3: 4}]),
    (OrderedDict(a=1, b=2), [OrderedDict(b=1, a=2), OrderedDict(a=1), {"a": 1, "b": 2}]),
    (
        defaultdict(list, a=1),
        [defaultdict(dict, a=1), defaultdict(list, b=1), defaultdict(list, a=1, b=2), {"a": 1}],
    ),
    (Point(1, 2), [(1, 2), Point(1, None), Point((), 2)]),
    (None, [1, (), [None]]),
    (1, [None, (1,)]),
    (Box([1, 2], "d"), [Box([1], "d"), Box([1, 2, 3], "d"), Box([1, 2], "e"), Box([1, 2], None)]),
    (Box([1], [2]), [Box([1], [3]), Box([1], (2,))]),
    (Layer("n", 1, 2, 3), [Layer("m", 1, 2, 3), Layer("n", 1, 3, 3), Layer("n", 1, 2, None)]),
    (Keyed(1, 2), [Keyed(1), Keyed(1, (2,))]),
    (Partial(max, 1, k=2), [Partial(min, 1, k=2), Partial(max, k=2), Partial(max, 1, j=2)]),
]


@pytest.mark.parametrize(("tree", "others"), NEAR_MISSES)
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: {"in": [0, x]}])
def test_near_misses_have_other_structures(tree, others, wrap):
    structure = tree_structure(wrap(tree))
    assert structure == tree_structure(structure.unflatten(tree_leaves(wrap(tree))))
    for other in others:
        assert tree_structure(wrap(other)) != structure, other
        check_matcher(structure, wrap(other))


def test_matching_a_defaultdict_adds_no_key():
    structure = tree_structure(defaultdict(list, a=1))
    other = defaultdict(list, b=1)
    assert structure.matcher(other) is None
    assert list(other) == ["b"]


def test_a_matcher_leaves_classes_that_it_has_not_met_to_flatten():
    class Later:
        pass

    leaf = Later()
    assert tree_structure([1]).matcher([leaf]) is None
    structure = tree_structure([leaf])  # it is met, as a leaf
    assert structure.matcher([leaf]) == [leaf]
    tree_util.register_pytree_node(Later, lambda x: ((), None), lambda data, children: Later())
    assert structure.matcher([leaf]) is None


def test_long_sequences_of_one_length_are_told_apart():
    for make in (list, tuple):
        one = make([{"a": i} for i in range(20)])
        two = make([*one[:-1], {"b": 1}])
        leaf = make([*one[:-1], 1])
        for _ in range(2):  # the second time from what is remembered
            found = [tree_structure(tree) for tree in (one, two, leaf, one)]
            assert len(set(found)) == 3
            assert found[0] is found[3]
            for tree, structure in zip((one, two, leaf), found, strict=False):
                assert structure.unflatten(tree_leaves(tree)) == tree


@given(any_trees)
def test_flattening_with_is_leaf_and_with_paths_agrees(tree):
    leaves, structure = tree_util.tree_flatten(tree)
    again, same = tree_util.tree_flatten(tree, is_leaf=lambda x: False)
    assert is_same(leaves, again)
    assert same == structure
    pairs, same = tree_util.tree_flatten_with_path(tree)
    assert is_same(leaves, [leaf for _, leaf in pairs])
    assert same == structure
    paths = [path for path, _ in pairs]
    assert len(set(paths)) == len(paths)
    assert tree_util.tree_flatten(tree, is_leaf=lambda x: True)[0] == [tree]


@given(trees(known_leaves), st.data())
def test_flatten_up_to_and_prefixes_agree_with_flatten(tree, data):
    structure = tree_structure(tree)
    bigger = tree_map(lambda x: data.draw(st.sampled_from([x, (x, x), [], None, {"k": x}])), tree)
    parts = structure.flatten_up_to(bigger)
    assert reference(structure.unflatten(["x"] * len(parts)))[1] == reference(tree)[1]
    assert [x for part in parts for x in tree_leaves(part)] == tree_leaves(bigger)
    numbered = structure.unflatten(range(structure.num_leaves))
    expected = [i for i, part in enumerate(parts) for _ in tree_leaves(part)]
    assert tree_util.broadcast_prefix(numbered, bigger) == expected
    assert tree_util.flatten_axes("axes", tree_structure(bigger), numbered) == expected
    assert tree_leaves(tree_util.tree_broadcast(numbered, bigger)) == expected


@given(any_trees)
def test_structures_survive_pickle_and_copy(tree):
    structure = tree_structure(tree)
    structure.builder  # noqa: B018 (compiles it)
    assert pickle.loads(pickle.dumps(structure)) == structure
    assert copy.deepcopy(structure) is structure


def test_large_and_deep_trees_work_without_generated_code():
    deep = functools.reduce(lambda tree, _: [tree], range(tree_code.MAX_COMPILED_DEPTH * 2), 1)
    large = [(i, {"a": i}) for i in range(tree_code.MAX_COMPILED_LEAVES)]
    for tree in (deep, large):
        leaves, structure = tree_util.tree_flatten(tree)
        assert structure.builder(leaves) == tree
        assert structure.builder == structure.unflatten
        assert structure.matcher(tree) is None  # flatten and see


def test_the_deepest_tree_compiles():
    tree = functools.reduce(
        lambda tree, _: ({"k": tree},), range(tree_code.MAX_COMPILED_DEPTH // 2 - 1), 1
    )
    structure = tree_structure(tree)
    assert structure.builder([1]) == tree
    assert structure.builder.__name__ == "build"


def test_plain_structures_are_interned():
    for make in (
        lambda: (1, 2), lambda: [1, (2,)], lambda: {"b": 1, "a": [2]}, lambda: Point(1, None),
        lambda: [{"w": i, "b": i} for i in range(20)], lambda: OrderedDict(b=1, a=2),
    ):  # fmt: skip
        assert tree_structure(make()) is tree_structure(make())
    assert tree_structure({"a": 1, "b": 2}) is tree_structure({"b": 1, "a": 2})
    by_way_of_is_leaf = tree_structure({"a": 1}, is_leaf=lambda x: False)
    assert by_way_of_is_leaf is tree_structure({"a": 1})


def test_interning_is_bounded_and_equality_does_not_need_it(monkeypatch):
    monkeypatch.setattr(treedef, "MAX_INTERNED", 4)
    monkeypatch.setattr(tree_flattening, "MAX_INTERNED", 4)
    made = {i: tree_structure(([1], *[{f"bounded {i}": i}] * i)) for i in range(50)}
    for i, old in made.items():
        new = tree_structure(([1], *[{f"bounded {i}": i}] * i))
        assert new == old
        assert hash(new) == hash(old)
    assert len(tree_flattening._PLANS) <= 8


def test_custom_data_are_not_kept_alive():
    import gc
    import weakref

    class Big:
        pass

    big = Big()
    watch = weakref.ref(big)
    tree_structure([Box([1], big)])
    del big
    gc.collect()
    assert watch() is None


def test_data_of_other_types_differ_though_equal():
    assert tree_structure(Box([1], 1)) != tree_structure(Box([1], 1.0))
    assert tree_structure(Box([1], True)) != tree_structure(Box([1], 1))
    assert tree_structure(Box([1], (0.0,))) != tree_structure(Box([1], (-0.0,)))
    assert tree_structure(Layer("a", 1, 1)) != tree_structure(Layer("a", 1, True))
    assert next(iter(tree_map(str, {True: 1}))) is True
    assert type(next(iter(tree_map(str, {1: 1})))) is int


def test_dict_keys():
    assert tree_leaves({"b": 1, "a": 2}) == [2, 1]
    assert tree_leaves(OrderedDict(b=1, a=2)) == [1, 2]
    assert tree_leaves({2: "two", 1: "one"}) == ["one", "two"]
    assert tree_leaves({}) == tree_leaves(()) == tree_leaves(None) == []
    assert tree_map(str, {(1, 2): 3, (0, 5): 4}) == {(0, 5): "4", (1, 2): "3"}
    with pytest.raises(ValueError, match=r"must be sortable.* 1, 'a' .*\n.*OrderedDict"):
        tree_leaves([{1: 2, "a": 3}])

    class Color(Enum):
        RED = 1

    assert tree_map(str, {Color.RED: 1}) == {Color.RED: "1"}
    quotes = {"it's": 1, 'a "b"\n\\': 2}
    structure = tree_structure(quotes)
    assert structure.builder(tree_leaves(quotes)) == quotes


def test_subclasses_are_leaves_until_registered():
    class Special(dict):
        pass

    class Later:
        pass

    special, later = Special(a=1), Later()
    assert tree_leaves([special, later]) == [special, later]
    tree_util.register_pytree_node(Later, lambda x: ((1, 2), None), lambda _, parts: Later())
    assert tree_leaves([special, later]) == [special, 1, 2]
    with pytest.raises(ValueError, match=r"Later is registered .* already"):
        tree_util.register_pytree_node(Later, lambda x: ((), None), lambda _, parts: Later())


def test_registration_errors():
    class Bad:
        pass

    with pytest.raises(TypeError, match="must be a class"):
        tree_util.register_pytree_node(3, None, None)
    tree_util.register_pytree_node(Bad, lambda x: [1], lambda data, parts: Bad())
    with pytest.raises(TypeError, match=r"Bad must return a pair \(children, data\); got list"):
        tree_leaves(Bad())
    with pytest.raises(ValueError, match=r"missing: \['b'\], unknown: \['c'\]"):
        tree_util.register_dataclass(dataclasses.make_dataclass("D", "ab"), ["a"], ["c"])
    with pytest.raises(ValueError, match="named twice"):
        tree_util.register_dataclass(dataclasses.make_dataclass("D", "ab"), ["a", "b"], ["a"])
    with pytest.raises(ValueError, match="can't be the name of a field"):
        tree_util.register_dataclass(type("Plain", (), {}), ["a, b"], [])
    with pytest.raises(TypeError, match="not a dataclass"):
        tree_util.register_dataclass(type("Plain", (), {}))
    with pytest.raises(TypeError, match="both"):
        tree_util.register_dataclass(Bad, ["a"])


def test_errors_of_flatten_functions_pass_through():
    class Angry:
        error = None

    def flatten(x):
        raise x.error

    tree_util.register_pytree_node(Angry, flatten, lambda data, parts: Angry())
    for error in (KeyError("k"), KeyError(), KeyError(Foreign), KeyError(int), ValueError("v")):
        Angry.error = error
        with pytest.raises(type(error)) as caught:
            tree_leaves([1, Angry()])
        assert caught.value is error


def test_data_that_cannot_be_compared():
    class Vector:
        __hash__ = None

        def __eq__(self, other):
            raise ValueError("truth value of an array is ambiguous")

    a, b = tree_structure(Box([1], Vector())), tree_structure(Box([1], Vector()))
    with pytest.raises(ValueError, match="Arrays belong among the children"):
        assert a == b


def test_wrong_number_of_leaves():
    structure = tree_structure((1, {"a": 2}))
    for build in (structure.unflatten, structure.builder):
        for wrong in ([], [1], [1, 2, 3], (1, 2, 3)):
            with pytest.raises(ValueError, match=f"expected 2 leaves .* got {len(wrong)}"):
                build(wrong)
        assert build(iter([1, 2])) == (1, {"a": 2})


def test_tree_map():
    assert tree_map(lambda x: x + 1, {"a": (1, None), "b": [2]}) == {"a": (2, None), "b": [3]}
    assert tree_map(lambda x, y, z: (x, y, z), [1, 2], [3, 4], [5, (6, 7)]) == [
        (1, 3, 5),
        (2, 4, (6, 7)),
    ]
    assert tree_map(lambda x: 0, [None, 1], is_leaf=lambda x: x is None) == [0, 0]
    assert tree_map(lambda x, y: y, [None, 1], [5, 6], is_leaf=lambda x: x is None) == [5, 6]
    assert tree_map(lambda x, y: (x, y), 1, [2]) == (1, [2])


@pytest.mark.parametrize(
    ("tree", "other", "message"),
    [
        ((1, 2), [1, 2], "at the root: expected a tuple of 2; got a list of 2 (tuples and lists"),
        ({"a": (1, 2)}, {"a": (1, 2, 3)}, "at ['a']: expected a tuple of 2; got a tuple of 3"),
        ({"a": [{"w": 1}]}, {"a": [{"b": 1}]}, "at ['a'][0]: expected a dict with key 'w'; got a"),
        ([None], [1], "at [0]: expected None; got a leaf"),
        (Point(1, (2,)), Point(1, 2), "at .y: expected a tuple of 1; got a leaf"),
        (Layer("n", [1]), Layer("n", 1), "at .w: expected a list of 1; got a leaf"),
        (Layer("n", 1), Layer("m", 1), "expected a Layer; got a Layer with other data: ('n', 1) a"),
        (Keyed(1, (2,)), Keyed(1, 2), "at [<flat index 1>]: expected a tuple of 1; got a leaf"),
        (dict.fromkeys("abcde", 1), dict.fromkeys("abcdf", 1), "without key 'e' and with key 'f'"),
        (dict.fromkeys("abcde", 1), dict.fromkeys("abcd", 1), "that is without key 'e'\n"),
    ],
)
def test_tree_map_mismatch_names_the_path_and_both_structures(tree, other, message):
    with pytest.raises(
        ValueError, match=r"tree_map: argument 3 differs from argument 2 "
    ) as caught:
        tree_map(lambda x, y: x, tree, other)
    text = str(caught.value)
    assert message in text
    assert repr(tree_structure(tree)) in text
    assert repr(tree_structure(other)) in text
    with pytest.raises(ValueError, match="what: at ") as caught:
        tree_structure(tree).flatten_up_to(other, "what")
    assert message.strip() in str(caught.value)


def test_prefix_errors_name_the_path_and_both_sides():
    full = ("x", {"w": 1, "b": 2})
    assert tree_util.flatten_axes("in_axes", tree_structure(full), (None, 0)) == [None, 0, 0]
    with pytest.raises(ValueError, match="vmap in_axes: not a prefix") as caught:
        tree_util.flatten_axes("vmap in_axes", tree_structure(full), (0, {"w": 1}))
    assert "at [1] it has a dict with key 'w', where the tree has a dict with keys 'b', 'w'" in str(
        caught.value
    )
    with pytest.raises(ValueError, match="at the root it has a list of 2, where the tree has a tu"):
        tree_util.broadcast_prefix([0, 1], full)
    with pytest.raises(ValueError, match=r"at \[0\] it has None, where the tree has a leaf"):
        tree_util.broadcast_prefix((None, 1), full)
    assert tree_util.broadcast_prefix((None, 1), full, is_leaf=lambda x: x is None) == [None, 1, 1]


def test_other_functions_of_trees():
    assert tree_util.tree_all([True, {"a": 1}])
    assert not tree_util.tree_all([True, {"a": 0}])
    assert tree_util.tree_reduce(lambda a, b: a + b, {"b": "y", "a": "x"}) == "xy"
    assert tree_util.tree_reduce(lambda a, b: a + b, [], "start") == "start"
    assert tree_util.all_leaves([1, "a"])
    assert not tree_util.all_leaves([1, None])
    assert tree_util.all_leaves([1, None], is_leaf=lambda x: x is None)
    assert tree_util.build_tree(tree_structure([(0, 0), {"a": 0}]), [[1, 2], [3]]) == [
        (1, 2),
        {"a": 3},
    ]
    with pytest.raises(ValueError, match="has 2 children; got 1"):
        tree_util.build_tree(tree_structure([0, 0]), [1])


def test_tree_transpose():
    tree = {"a": [1, 2, 3], "b": [4, 5, 6]}
    outer, inner = tree_structure({"a": 0, "b": 0}), tree_structure([0, 0, 0])
    expected = [{"a": 1, "b": 4}, {"a": 2, "b": 5}, {"a": 3, "b": 6}]
    assert tree_util.tree_transpose(outer, inner, tree) == expected
    assert tree_util.tree_transpose(outer, None, tree) == expected
    with pytest.raises(ValueError, match=r"tree differs at \['a'\]: expected a list of 2"):
        tree_util.tree_transpose(outer, tree_structure([0, 0]), tree)
    with pytest.raises(ValueError, match="tree_transpose: expected PyTreeDef"):
        tree_util.tree_transpose(outer, tree_structure(0), tree)


def test_tree_transpose_asks_nothing_of_the_data_of_registered_classes():
    class Holder:  # as some containers do, it keeps the structure of what it holds
        def __init__(self, parts, structure):
            self.parts, self.structure = parts, structure

    tree_util.register_pytree_node(
        Holder,
        lambda h: (h.parts, tree_structure(h.parts)),
        lambda data, parts: Holder(parts, data),
    )
    tree = Holder((1, 2), None)
    outer, inner = tree_structure(tree), tree_structure([0, 0])
    swapped = tree_util.tree_transpose(outer, inner, tree_map(lambda x: [x, -x], tree))
    assert [[*h.parts] for h in swapped] == [[1, 2], [-1, -2]]
    with pytest.raises(ValueError, match="tree_transpose: the tree differs"):
        tree_util.tree_transpose(outer, inner, tree_map(lambda x: (x, -x), tree))


def test_tree_transpose_of_a_class_that_flattens_what_is_in_it():
    class Flat:  # its children are all leaves, whatever it holds
        def __init__(self, leaves, structure):
            self.leaves, self.structure = leaves, structure

    tree_util.register_pytree_node(
        Flat, lambda f: (f.leaves, f.structure), lambda data, leaves: Flat(leaves, data)
    )
    flat = lambda tree: Flat(*tree_util.tree_flatten(tree))  # noqa: E731
    outer, inner = tree_structure(flat({"a": 1, "b": 2})), tree_structure([0, 0])
    swapped = tree_util.tree_transpose(outer, inner, flat({"a": [3, 4], "b": [5, 6]}))
    assert [list(f.leaves) for f in swapped] == [[3, 5], [4, 6]]
    assert all(f.structure == tree_structure({"a": 1, "b": 2}) for f in swapped)
    with pytest.raises(ValueError, match="tree_transpose"):
        tree_util.tree_transpose(outer, inner, flat({"a": [3, 4], "b": [5]}))


def test_structures():
    structure = tree_structure({"b": (1, None), "a": [2]})
    assert repr(structure) == "PyTreeDef({'a': [*], 'b': (*, None)})"
    assert structure.num_leaves == 2
    assert structure.num_nodes == 6
    assert structure.node_data() == (dict, ("a", "b"))
    assert tree_structure(1).node_data() is None
    assert structure.children() == [tree_structure([0]), tree_structure((0, None))]
    assert structure.compose(tree_structure((0, 0))) == tree_structure(
        {"b": ((1, 1), None), "a": [(2, 2)]}
    )
    assert tree_util.treedef_tuple([structure]) == tree_structure(({"b": (1, None), "a": [2]},))
    assert structure != "PyTreeDef"
    assert tree_structure((1,)) != tree_structure([1])
    assert (
        repr(tree_structure(Point(1, (2,))))
        == "PyTreeDef(CustomNode(namedtuple[Point], [*, (*,)]))"
    )
    assert shown(tree_structure(Box([1], "d"))) == "CustomNode(Box[d], [*])"
    assert isinstance(structure, PyTreeDef)


def test_paths():
    tree = {"a": [1, Point(2, 3)], "b": Box([4], None), "k": Keyed(5), "l": Layer("n", 6)}
    found = tree_util.tree_leaves_with_path(tree)
    assert [keystr(path) for path, _ in found] == [
        "['a'][0]",
        "['a'][1].x",
        "['a'][1].y",
        "['b'][<flat index 0>]",
        "['k']['part 0']",
        "['l'].w",
    ]
    assert found[1][0] == (DictKey("a"), SequenceKey(1), GetAttrKey("x"))
    assert found[3][0] == (DictKey("b"), FlattenedIndexKey(0))
    assert keystr(found[1][0], simple=True, separator="/") == "a/1/x"
    assert tree_util.tree_map_with_path(lambda p, x, y: (keystr(p), x, y), [1], [2]) == [
        ("[0]", 1, 2)
    ]


def test_leaves_that_their_path_tells():
    tree = {"a": [1, (2, None)], "b": {"a": (3, 4)}, "c": None}
    two_steps = lambda path, x: len(path) == 2  # noqa: E731
    pairs, structure = tree_util.tree_flatten_with_path(tree, two_steps, is_leaf_takes_path=True)
    texts = [(keystr(path), x) for path, x in pairs]
    assert texts == [("['a'][0]", 1), ("['a'][1]", (2, None)), ("['b']['a']", (3, 4))]
    assert structure.unflatten([x for _, x in pairs]) == tree
    assert tree_util.tree_leaves_with_path(tree, two_steps, True) == pairs
    found = tree_util.tree_map_with_path(
        lambda path, x: len(path), tree, is_leaf=two_steps, is_leaf_takes_path=True
    )
    assert found == {"a": [2, 2], "b": {"a": 2}, "c": None}
    with pytest.raises(TypeError):
        tree_util.tree_flatten_with_path(tree, two_steps)


def test_partial():
    inner = functools.partial(max, 3)
    call = Partial(inner, 5)
    assert call(4) == 5
    assert tree_leaves(call) == [5]
    assert tree_map(lambda x: x + 1, call)(4) == 6
    assert tree_structure(call) == tree_structure(Partial(inner, 7))
    assert tree_structure(call) != tree_structure(Partial(min, 7))
    assert call.func == inner
    assert inner == call.func
    assert hash(call.func) == hash(inner)
    assert str(inspect.signature(Partial(functools.partial(lambda x, y, z: 0, 1), 2))) == "(z)"
    nested = Partial(Partial(max, 1), 2)
    assert tree_leaves(nested) == [1, 2]
    assert tree_leaves(Partial(max, 1, key=2)) == [1, 2]


def test_dataclasses_with_static_fields():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Config:
        x: int
        mode: str = dataclasses.field(default="m", metadata={"static": True})
        cache: int = dataclasses.field(default=0, init=False)

    assert tree_leaves(Config(1)) == [1]
    assert tree_map(str, Config(1, "q")) == Config("1", "q")

    @tree_util.register_static
    class Mode(str):
        pass

    assert tree_leaves([Mode("x"), 1]) == [1]
    assert tree_structure(Mode("x")) != tree_structure(Mode("y"))


def test_flattening_in_many_threads_gives_equal_structures():
    found = []

    def work():
        found.extend(tree_structure({f"thread {i}": [(i, {"z": i})]}) for i in range(300))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert len(found) == 1200
    assert len(set(found)) == 300


def _new_leaf_class(number):
    return type(f"Leaf{number}", (), {})


def _new_namedtuple(number):
    return namedtuple(f"Pair{number}", "a b")


def _new_dataclass(number):
    return tree_util.register_dataclass(dataclasses.make_dataclass(f"Record{number}", "ab"))


def _new_node_class(number):
    cls = type(f"Node{number}", (), {"__init__": lambda self, *ab: setattr(self, "ab", ab)})
    tree_util.register_pytree_node(cls, lambda x: (x.ab, None), lambda _, ab: cls(*ab))
    return cls


NEW_CLASSES = {
    "leaf": _new_leaf_class,
    "namedtuple": _new_namedtuple,
    "dataclass": _new_dataclass,
    "node": _new_node_class,
}


def _used(cls):
    """Trees of a new class go every way; only the class is kept."""
    x = cls() if cls.__name__.startswith("Leaf") else cls(1, (2, 3))
    tree = [x, {"k": x, "l": (x,) * 9}]
    leaves, treedef = tree_util.tree_flatten(tree)
    assert len(leaves) == treedef.num_leaves
    assert type(treedef.unflatten(leaves)[0]) is cls
    return weakref.ref(cls)


@pytest.mark.parametrize("make", [_new_leaf_class, _new_namedtuple], ids=["leaf", "namedtuple"])
def test_classes_that_nobody_has_any_more_die(make):
    references = [_used(make(i)) for i in range(1000)]
    gc.collect()
    alive = sum(r() is not None for r in references)
    assert alive <= treedef.MAX_UNREGISTERED_CLASSES
    assert references[0]() is None


@pytest.mark.parametrize("name", ["namedtuple", "dataclass", "node"])
def test_a_class_in_use_stays_registered_when_a_thousand_others_have_come(name):
    cls = NEW_CLASSES[name]("_that_stays")
    tree = [cls(1, (2, 3))]
    treedef = tree_util.tree_structure(tree)
    for i in range(1000):
        _used(_new_leaf_class(i))
    assert tree_util.tree_leaves(tree) == [1, 2, 3]
    assert tree_util.tree_structure(tree) == treedef
    assert tree_util.tree_leaves(treedef.unflatten([4, 5, 6])) == [4, 5, 6]
    assert treedef.flatten_up_to(tree) == [1, 2, 3]
    if name != "namedtuple":
        with pytest.raises(ValueError, match="is registered as a pytree node already"):
            tree_util.register_pytree_node(cls, None, None)


@pytest.mark.parametrize("name", NEW_CLASSES)
def test_nothing_is_written_on_a_class(name):
    make = NEW_CLASSES[name]
    cls = make("_left_alone")
    before = {*vars(cls)}
    _used(cls)
    assert {*vars(cls)} == before
    assert not any("weft" in key or "pytree" in key for key in before)


def test_a_subclass_and_a_copy_of_a_node_class_are_no_nodes():
    cls = _new_node_class("_with_a_copy")
    copy = type(cls.__name__, (), {k: v for k, v in vars(cls).items() if k != "__dict__"})
    for other in (type("Subclass", (cls,), {}), copy):
        x = other(1, 2)
        assert tree_util.tree_leaves([x]) == [x]
    assert tree_util.tree_leaves([cls(1, 2)]) == [1, 2]


def test_below_the_leaves_of_the_first_tree_may_be_what_is_no_tree():
    unsortable = {1: 2, "a": 3}
    assert tree_map(lambda x, y: y, [0, (1,)], [unsortable, (2,)]) == [unsortable, (2,)]
    endless = []
    endless.append(endless)
    assert tree_map(lambda x, y: y is endless, (1,), (endless,)) == (True,)
    with pytest.raises(ValueError, match="sortable"):
        tree_map(lambda x, y: y, {"a": 0, "b": 1}, unsortable)
