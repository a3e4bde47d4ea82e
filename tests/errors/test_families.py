"""Wrong programs of four families: pytrees, dtypes, random numbers, arrays.

Each error is raised at the user's line, names the operation and the argument, gives the facts (what
came, with shapes and dtypes) and a way out. A row states what the last three come to.
"""

import dataclasses
import enum
import inspect
from typing import Any, NamedTuple

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import errors, lax, random, tree_util
from weft.errors import AxisError, IndexingError, ShapeError


class Wrong(NamedTuple):
    program: Any
    error: type[Exception]
    names: str
    facts: tuple[str, ...]
    fix: str


def f32(*shape):
    return weft.device_put(onp.ones(shape, onp.float32))


def i32(*shape):
    return weft.device_put(onp.ones(shape, onp.int32))


@dataclasses.dataclass
class Unregistered:
    field: float = 1.0


class NoDataclass:
    pass


class Colour(enum.Enum):
    RED = 1


class WithMethod:
    def apply(self, x):
        return x


@tree_util.register_pytree_node_class
class WrongFlatten:
    def tree_flatten(self):
        return 1.0

    @classmethod
    def tree_unflatten(cls, data, children):
        return cls()


x, m, k = f32(3), f32(2, 3), random.PRNGKey(0)
mask = onp.array([True, False])
two, one = tree_util.tree_structure([1, 2]), tree_util.tree_structure({"a": 1})

PYTREES = [
    Wrong(
        lambda: tree_util.tree_map(max, {"a": 1}, {"b": 1}),
        ShapeError,
        "tree_map: argument 3",
        ("dict with key 'a'", "dict with key 'b'"),
        "one structure",
    ),
    Wrong(
        lambda: tree_util.tree_map(max, [1, 2], (1, 2)),
        ShapeError,
        "argument 3",
        ("a list of 2", "a tuple of 2"),
        "one structure",
    ),
    Wrong(
        lambda: tree_util.tree_map(max, {"a": [1]}, {"a": [1, 2]}),
        ShapeError,
        "at ['a']",
        ("a list of 1", "a list of 2"),
        "one structure",
    ),
    Wrong(
        lambda: tree_util.tree_map({"a": 1}, max),
        TypeError,
        "tree_map",
        ("a function", "a dict"),
        "tree_map(f, tree)",
    ),
    Wrong(
        lambda: tree_util.tree_unflatten([1], one),
        TypeError,
        "tree_unflatten",
        ("a treedef", "a list"),
        "tree_unflatten(treedef, leaves)",
    ),
    Wrong(
        lambda: tree_util.tree_unflatten(two, [1]),
        ShapeError,
        "unflatten",
        ("2 leaves", "got 1"),
        "tree_flatten",
    ),
    Wrong(
        lambda: tree_util.tree_leaves({1: 1, "a": 2}),
        ValueError,
        "keys of a dict",
        ("1, 'a'",),
        "OrderedDict",
    ),
    Wrong(
        lambda: weft.jit(lambda d: d)({1: 1.0, "a": 2.0}),
        ValueError,
        "keys of a dict",
        ("1, 'a'",),
        "keys of one kind",
    ),
    Wrong(
        lambda: tree_util.tree_leaves(WrongFlatten()),
        ShapeError,
        "WrongFlatten",
        ("a pair", "float"),
        "return (x.a, x.b), None",
    ),
    Wrong(
        lambda: tree_util.tree_transpose(two, one, [1, 2]),
        ShapeError,
        "tree_transpose",
        ("at [0]", "dict with key 'a'", "a leaf"),
        "at each leaf",
    ),
    Wrong(
        lambda: tree_util.register_pytree_node(dict, 1, 2), ValueError, "dict", ("already",), "once"
    ),
    Wrong(
        lambda: tree_util.register_pytree_node(3, 1, 2),
        TypeError,
        "pytree node type",
        ("a class", "got 3"),
        "type(x)",
    ),
    Wrong(
        lambda: tree_util.register_dataclass(NoDataclass),
        TypeError,
        "NoDataclass",
        ("not a dataclass",),
        "@dataclasses.dataclass",
    ),
    Wrong(
        lambda: tree_util.register_dataclass(Unregistered, ["other"], []),
        ValueError,
        "Unregistered",
        ("missing: ['field']", "unknown: ['other']"),
        "each field once",
    ),
    Wrong(
        lambda: tree_util.tree_reduce(max, []),
        TypeError,
        "tree_reduce",
        ("with leaves", "[]"),
        "initializer",
    ),
    Wrong(
        lambda: weft.jit(lambda d: d)(Unregistered()),
        TypeError,
        "argument d",
        ("got Unregistered",),
        "register_dataclass(Unregistered)",
    ),
    Wrong(
        lambda: weft.jit(lambda d: d)(Unregistered()),
        TypeError,
        "argument d",
        ("got Unregistered",),
        "static_argnums or static_argnames",
    ),
    Wrong(
        lambda: weft.jit(lambda c: 1.0)(Colour.RED),
        TypeError,
        "argument c",
        ("Colour.RED",),
        "static_argnums or static_argnames",
    ),
    Wrong(
        lambda: weft.jit(WithMethod.apply)(WithMethod(), 1.0),
        TypeError,
        "argument self of apply",
        ("got WithMethod",),
        "register_dataclass(WithMethod)",
    ),
    Wrong(
        lambda: weft.jit(lambda f: 1.0)(f32),
        TypeError,
        "argument f",
        ("function f32 (test_families.py:",),
        "static_argnums or static_argnames",
    ),
    Wrong(
        lambda: weft.grad(lambda d: 1.0)(Unregistered()),
        TypeError,
        "grad: argument d",
        ("got Unregistered",),
        "functools.partial",
    ),
]
DTYPES = [
    Wrong(
        lambda: np.ones(2, "floaty"), TypeError, "ones", ("'floaty' is not a dtype",), "'float32'"
    ),
    Wrong(
        lambda: np.ones(2, x),
        TypeError,
        "ones",
        ("an array is not a dtype", "float32[3]"),
        "x.dtype",
    ),
    Wrong(
        lambda: np.array(300, np.uint8),
        OverflowError,
        "array",
        ("300", "uint8", "0 to 255"),
        "int16",
    ),
    Wrong(
        lambda: np.array([1, -1], np.uint32),
        OverflowError,
        "array",
        ("-1", "uint32"),
        "wider dtype",
    ),
    Wrong(
        lambda: np.array(2**40), OverflowError, "array", ("1099511627776", "int32"), "enable_x64"
    ),
    Wrong(lambda: np.array(2**70), OverflowError, "array", (str(2**70), "int32"), "a float"),
    Wrong(lambda: np.ones(2, np.uint8) + 300, OverflowError, "array", ("300", "uint8"), "int16"),
    Wrong(lambda: np.array(["a", "b"]), TypeError, "array", ("str",), "numbers only"),
    Wrong(lambda: np.array([1, None]), TypeError, "array", ("None",), "numbers only"),
    Wrong(lambda: ~x, ShapeError, "invert", ("integer or bool", "float32[3]"), ".astype"),
    Wrong(lambda: x << 1, ShapeError, "shift_left", ("integer", "float32[3]"), ".astype"),
    Wrong(lambda: np.iinfo(np.float32), ValueError, "iinfo", ("float32",), "use finfo"),
    Wrong(lambda: np.finfo(np.int32), ValueError, "finfo", ("int32",), "use iinfo"),
    Wrong(
        lambda: np.array(1, np.int4) + np.array(1, np.uint8),
        ShapeError,
        "add",
        ("int4", "uint8"),
        "astype",
    ),
    Wrong(lambda: lax.add(x, i32(3)), ShapeError, "add", ("float32[3]", "int32[3]"), "weft.numpy"),
]
RANDOM = [
    Wrong(lambda: random.normal(0, (3,)), TypeError, "normal", ("a key", "got int"), "PRNGKey(0)"),
    Wrong(
        lambda: random.normal(random.split(k), (3,)),
        TypeError,
        "normal",
        ("one key", "uint32[2,2]"),
        "vmap",
    ),
    Wrong(
        lambda: random.normal(k, 3.5),
        TypeError,
        "normal: shape",
        ("an int", "float 3.5"),
        "int(shape)",
    ),
    Wrong(
        lambda: random.normal(k, (-1,)), ShapeError, "normal", ("negative", "(-1,)"), "max(n, 0)"
    ),
    Wrong(
        lambda: random.normal(k, (3,), np.int32),
        ShapeError,
        "normal: dtype",
        ("float", "int32"),
        "randint",
    ),
    Wrong(
        lambda: random.bits(k, (3,), np.int32),
        ShapeError,
        "bits: dtype",
        ("unsigned", "int32"),
        "uint32",
    ),
    Wrong(
        lambda: random.split(k, 2.5), TypeError, "split: num", ("an int", "float 2.5"), "int(num)"
    ),
    Wrong(
        lambda: random.PRNGKey(1.5),
        ShapeError,
        "PRNGKey: seed",
        ("integer scalar", "float32[]"),
        "PRNGKey(0)",
    ),
    Wrong(
        lambda: random.PRNGKey(x),
        ShapeError,
        "PRNGKey: seed",
        ("integer scalar", "float32[3]"),
        "vmap",
    ),
    Wrong(
        lambda: random.fold_in(k, 1.5),
        ShapeError,
        "fold_in: data",
        ("integer scalar", "float32[]"),
        "a number",
    ),
    Wrong(
        lambda: random.uniform(k, (2,), minval=x),
        ValueError,
        "uniform",
        ("(2,)", "minval float32[3]"),
        "`shape` is the shape of the result",
    ),
    Wrong(
        lambda: random.randint(k, (3,), 0, 5.5),
        ShapeError,
        "randint: maxval",
        ("integer", "float32[]"),
        "int(maxval)",
    ),
    Wrong(
        lambda: random.randint(k, (3,), 0, 9, np.float32),
        ShapeError,
        "randint: dtype",
        ("integer", "float32"),
        "uniform",
    ),
    Wrong(
        lambda: random.choice(k, 5, (6,), False),
        ShapeError,
        "choice",
        ("6", "5 elements"),
        "replace=True",
    ),
    Wrong(
        lambda: random.choice(k, 5, (2,), p=x),
        ShapeError,
        "choice: p",
        ("5 slices", "float32[3]"),
        "(5,)",
    ),
    Wrong(
        lambda: random.choice(k, f32(0)),
        ShapeError,
        "choice",
        ("one element", "float32[0]"),
        "shape=(0,)",
    ),
    Wrong(
        lambda: random.permutation(k, -1),
        ValueError,
        "permutation: x",
        ("negative", "-1"),
        "0 or more",
    ),
    Wrong(
        lambda: random.permutation(k, 2.5),
        TypeError,
        "permutation: x",
        ("an int", "float32[]"),
        "int(x)",
    ),
    Wrong(
        lambda: random.categorical(k, x, axis=1),
        AxisError,
        "categorical: axis",
        ("axis 1", "float32[3]"),
        "an axis from -1 to 0",
    ),
    Wrong(
        lambda: weft.jit(random.permutation)(k, 10),
        errors.ConcretizationTypeError,
        "permutation: x",
        ("decides shapes", "int32[]"),
        "static_argnums",
    ),
]
ARRAYS = [
    Wrong(
        lambda: bool(x > 0), ShapeError, "bool", ("one element", "bool[3]"), "x.any() or x.all()"
    ),
    Wrong(lambda: x and x, ShapeError, "bool", ("one element", "float32[3]"), "& and |"),
    Wrong(lambda: float(x), ShapeError, "float", ("one element", "float32[3]"), "x[i]"),
    Wrong(lambda: len(f32()), TypeError, "len", ("one axis", "float32[]"), "x.size"),
    Wrong(lambda: list(f32()), TypeError, "iteration", ("one axis", "float32[]"), "x.reshape(-1)"),
    Wrong(lambda: x[1.5], TypeError, "index", ("float 1.5",), "int(i)"),
    Wrong(lambda: x[f32(2)], TypeError, "index", ("float32[2]",), "i.astype(int)"),
    Wrong(lambda: x["a"], TypeError, "index", ("str 'a'",), "dict of arrays"),
    Wrong(
        lambda: x[0, 0],
        IndexingError,
        "too many indices",
        ("float32[3]", "2 were indexed"),
        "at most 1",
    ),
    Wrong(lambda: x[mask], IndexingError, "mask", ("bool[2]", "float32[3]"), "x > 0"),
    Wrong(lambda: m.transpose(0), ShapeError, "transpose: axes", ("2 axes", "(0,)"), "each"),
    Wrong(
        lambda: m @ m,
        ShapeError,
        "matmul",
        ("axis 1 of float32[2,3]", "axis 0 of float32[2,3]"),
        "matmul(a, b.T)",
    ),
    Wrong(
        lambda: np.dot(m, f32(2)), ShapeError, "dot", ("float32[2,3]", "float32[2]"), "dot(b, a)"
    ),
    Wrong(
        lambda: np.matmul(m, f32(2, 5)),
        ShapeError,
        "matmul",
        ("float32[2,3]", "float32[2,5]"),
        "matmul(a.T, b)",
    ),
    Wrong(
        lambda: np.einsum("ij,jk->ik", m, m),
        ShapeError,
        "einsum: axis 'j'",
        ("length 3", "length 2", "(2, 3)"),
        "another letter",
    ),
    Wrong(
        lambda: np.einsum("ij->ik", m),
        ShapeError,
        "einsum: the output 'ik'",
        ("once each",),
        "'ij'",
    ),
    Wrong(
        lambda: np.einsum("ijk", m),
        ShapeError,
        "einsum: subscripts 'ijk'",
        ("3 axes", "operand 0 has 2"),
        "a letter for each axis",
    ),
    Wrong(
        lambda: np.einsum("ij,jk", m),
        ShapeError,
        "einsum: subscripts 'ij,jk'",
        ("2 operands", "got 1"),
        "commas",
    ),
    Wrong(lambda: np.concatenate([]), ValueError, "concatenate", ("at least one", "none"), "zeros"),
    Wrong(
        lambda: np.concatenate([x, m]),
        ShapeError,
        "concatenate",
        ("array 0 is float32[3]", "array 1 is float32[2,3]"),
        "x[None]",
    ),
    Wrong(
        lambda: np.stack([x, f32(4)]),
        ShapeError,
        "stack",
        ("float32[3]", "float32[4]"),
        "concatenate",
    ),
    Wrong(lambda: np.sin(None), TypeError, "sin", ("for x", "None"), "pass an array"),
    Wrong(lambda: np.zeros(2.5), TypeError, "zeros: shape", ("an int", "float 2.5"), "int(shape)"),
    Wrong(lambda: np.zeros(-1), ShapeError, "zeros", ("negative", "(-1,)"), "max(n, 0)"),
    Wrong(lambda: np.arange(0, 1, 0), ValueError, "arange: step", ("0",), "linspace"),
    Wrong(
        lambda: np.take(x, 0.5),
        ShapeError,
        "take: indices",
        ("integers", "float32[]"),
        "astype(int)",
    ),
    Wrong(
        lambda: np.sum(m, axis=2),
        AxisError,
        "sum: axis",
        ("axis 2", "float32[2,3]"),
        "from -2 to 1",
    ),
    Wrong(lambda: np.sum(m, axis="a"), TypeError, "sum: axis", ("an int", "str 'a'"), "int(axis)"),
]


ROWS = [
    pytest.param(row, id=f"{family}: {row.names}, {row.fix}")
    for family, rows in (
        ("pytrees", PYTREES),
        ("dtypes", DTYPES),
        ("random", RANDOM),
        ("arrays", ARRAYS),
    )
    for row in rows
]


@pytest.mark.parametrize("row", ROWS)
def test_a_wrong_program_is_told(row):
    with pytest.raises(row.error) as caught:
        row.program()
    text, notes = str(caught.value), getattr(caught.value, "__notes__", [])
    line = row.program.__code__.co_firstlineno
    at = [note for note in notes if note.startswith("  at ")]
    assert at == [f"  at test_families.py:{line}, in <lambda>"], text
    told, _, fix = text.partition("\n  fix: ")
    assert row.names in told
    for fact in row.facts:
        assert fact in text
    assert row.fix in fix, text
    assert " at 0x" not in text


def test_lines_of_generated_functions_are_not_the_users():
    treedef = tree_util.tree_structure((1, {"a": 2}))
    build = treedef.builder
    for wrong in (lambda: build([1]), lambda: tree_util.tree_unflatten(treedef, [1])):
        with pytest.raises(ShapeError, match="expected 2 leaves") as caught:
            wrong()
        (at,) = [note for note in caught.value.__notes__ if note.startswith("  at ")]
        assert at == f"  at test_families.py:{wrong.__code__.co_firstlineno}, in <lambda>"


def test_more_than_the_memory_is_refused_at_the_users_line():
    vector = np.ones(2_000_000)
    line = inspect.currentframe().f_lineno + 2
    with pytest.raises(errors.ExecutionError) as caught:
        vector[:, None] * vector
    text = str(caught.value)
    assert "mul: out of memory: the results, float32[2000000,2000000], take 14.6 TiB" in text
    assert "  fix: " in text
    assert caught.value.__notes__ == [
        f"  at test_families.py:{line}, in test_more_than_the_memory_is_refused_at_the_users_line"
    ]


def test_a_width_that_is_not_there_is_told_in_the_words_that_programs_filter():
    for program in (
        lambda: np.ones(2, "float64"),
        lambda: x.astype("float64"),
        lambda: np.array([1], "int64"),
    ):
        with pytest.warns(UserWarning, match=r"^Explicitly requested dtype (float|int)64 .*enable"):
            program()
