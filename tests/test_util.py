"""What libraries take from JAX's `util`, `api_util` and `extend.linear_util`."""

import pytest

import weft
from weft import api_util, util
from weft.extend.linear_util import wrap_init


def test_lists_in_step():
    assert util.safe_map(lambda x, y: x - y, [3, 2], iter([1, 1])) == [2, 1]
    assert util.safe_zip([1, 2], "ab") == [(1, "a"), (2, "b")]
    assert util.safe_map(str, []) == []
    assert util.unzip2([]) == ((), ())
    assert util.unzip2(zip("ab", "cd", strict=True)) == (("a", "b"), ("c", "d"))
    assert util.split_list([1, 2, 3], [1, 0]) == [[1], [], [2, 3]]


WRONG = {
    "safe_map": lambda: util.safe_map(max, [1], [1, 2]),
    "safe_zip": lambda: util.safe_zip([1, 2], [1]),
    "split_list": lambda: util.split_list([1], [1, 1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_lengths_that_differ_are_refused(name):
    with pytest.raises(ValueError, match=f"{name}: "):
        WRONG[name]()


def test_functions_of_trees_as_functions_of_leaves():
    f = wrap_init(lambda d, *, k=0: {"sum": d["x"] + k, "x": d["x"]})
    leaves, tree = weft.tree.flatten((({"x": 1},), {"k": 5}))
    flat, out_tree = api_util.flatten_fun(f, tree)
    outs = flat.call_wrapped(*leaves)
    assert out_tree().unflatten(outs) == {"sum": 6, "x": 1}
    leaves, tree = weft.tree.flatten(({"x": 1},))
    flat, out_tree = api_util.flatten_fun_nokwargs(f, tree)
    with pytest.raises(ValueError, match="known after a call"):
        out_tree()
    assert flat.call_wrapped(*leaves) == [1, 1]
    assert out_tree() == weft.tree.structure({"sum": 0, "x": 0})
    assert wrap_init(max, {"key": abs}).call_wrapped(-3, 2) == -3
    assert "max" in repr(wrap_init(max))


def test_avals_of_what_has_a_shape():
    struct = weft.ShapeDtypeStruct((2, 3), "int32")
    assert str(api_util.shaped_abstractify(struct)) == "int32[2,3]"
    with pytest.raises(TypeError):
        api_util.shaped_abstractify("text")
