"""restore with a tree like the one that was saved: what fits, what does not, and what it says."""

import os

import checkpoint_trees as trees
import numpy as np
import pytest

import weft
import weft.numpy as np_
from weft import random
from weft.checkpoints import read_metadata, restore, save
from weft.errors import ShapeError


@pytest.fixture
def path(tmp_path):
    save(
        tmp_path / "c",
        {"dense": {"kernel": np_.ones((2, 3)), "bias": np_.zeros(3)}, "step": 7, "rate": 0.5},
        metadata={"loss": 0.25},
    )
    return tmp_path / "c"


def like(**changes):
    dense = {"kernel": np_.zeros((2, 3)), "bias": np_.ones(3)}
    dense = {k: v for k, v in (dense | changes.pop("dense", {})).items() if v is not None}
    return {"dense": dense, "step": 0, "rate": 0.0} | changes


def test_values_come_from_the_checkpoint(path):
    restored = restore(path, like())
    assert (restored["step"], restored["rate"]) == (7, 0.5)
    np.testing.assert_array_equal(restored["dense"]["kernel"], np.ones((2, 3)))


def test_descriptions_of_arrays_are_enough(path):
    kernel, bias = weft.ShapeDtypeStruct((2, 3), "float32"), np.zeros(3, np.float32)
    restored = restore(path, like(dense={"kernel": kernel, "bias": bias}))
    np.testing.assert_array_equal(restored["dense"]["kernel"], np.ones((2, 3)))
    assert isinstance(restored["dense"]["kernel"], weft.Array)
    assert type(restored["dense"]["bias"]) is np.ndarray
    evaluated = weft.eval_shape(lambda: {"kernel": np_.ones((2, 3)), "bias": np_.ones(3)})
    trees.same(restore(path, like(dense=evaluated)), restore(path))


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            {"dense": {"kernel": np_.zeros((2, 4))}},
            "expected float32[2,4] at like['dense']['kernel']; the checkpoint has float32[2,3]",
        ),
        (
            {"dense": {"bias": np_.zeros(3, "bfloat16")}},
            "expected bfloat16[3] at like['dense']['bias']; the checkpoint has float32[3]",
        ),
        (
            {"dense": {"bias": random.key(0)}},
            "expected key<fry>[] at like['dense']['bias']; the checkpoint has float32[3]",
        ),
        (
            {"dense": {"bias": 3}},
            "expected a Python int at like['dense']['bias']; the checkpoint has float32[3]",
        ),
        (
            {"step": np_.zeros((), "int32")},
            "expected int32[] at like['step']; the checkpoint has a Python int",
        ),
    ],
)
def test_another_shape_or_dtype(path, changes, lines):
    for strict in (True, False):
        with pytest.raises(ShapeError) as raised:
            restore(path, like(**changes), strict=strict)
        assert str(raised.value) == (
            f"restore: {path}: {lines}\n  fix: a tree like the one that was saved"
        )


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({"dense": {"bias": None}}, "  only in the checkpoint: 'dense/bias'\n"),
        ({"dense": {"scale": np_.ones(3)}}, "  only in like: ['dense']['scale']\n"),
        (
            {"dense": {"bias": None, "scale": np_.ones(3)}},
            "  only in like: ['dense']['scale']\n  only in the checkpoint: 'dense/bias'\n",
        ),
        (
            {f"x{i}": i for i in range(9)},
            "  only in like: ['x0'], ['x1'], ['x2'], ['x3'], ['x4'], … (9 in all)\n",
        ),
    ],
)
def test_other_leaves(path, changes, lines):
    with pytest.raises(ShapeError) as raised:
        restore(path, like(**changes))
    assert str(raised.value) == (
        f"restore: {path} has other leaves than `like`\n{lines}"
        "  fix: a tree like the one that was saved; strict=False takes what both have"
    )
    assert raised.value.__notes__[0].startswith("  at test_restoring.py:")


def test_a_tree_that_is_a_leaf(path):
    with pytest.raises(ShapeError, match="only in like: the tree itself\n"):
        restore(path, np_.ones(3))


def test_not_strict_takes_what_both_have(path):
    restored = restore(
        path, like(dense={"bias": None, "scale": np_.full(3, 9.0)}, more=[1]), strict=False
    )
    assert sorted(restored["dense"]) == ["kernel", "scale"]
    np.testing.assert_array_equal(restored["dense"]["kernel"], np.ones((2, 3)))
    np.testing.assert_array_equal(restored["dense"]["scale"], np.full(3, 9.0))
    assert (restored["step"], restored["more"]) == (7, [1])


def test_not_strict_reads_only_what_it_takes(path):
    file = path / "arrays.safetensors"
    kernel = np.ones((2, 3), np.float32).tobytes()
    assert kernel in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(kernel, bytes(len(kernel))))
    restored = restore(path, {"dense": {"bias": np_.ones(3)}}, strict=False)
    np.testing.assert_array_equal(restored["dense"]["bias"], np.zeros(3))
    with pytest.raises(weft.errors.CheckpointError, match="'dense/kernel' were changed"):
        restore(path)


def test_containers_may_be_of_another_class(tmp_path):
    save(tmp_path / "c", {"a": [np_.ones(2), 3], "p": {"x": 1, "y": 2}})
    restored = restore(tmp_path / "c", {"a": (np_.zeros(2), 0), "p": trees.Point(0, 0)})
    trees.same(restored, {"a": (np_.ones(2), 3), "p": trees.Point(1, 2)})


def test_a_donated_array_says_where_and_of_which_type(path):
    bias = np_.ones(3) + 1
    bias.delete()
    np.testing.assert_array_equal(
        restore(path, like(dense={"bias": bias}))["dense"]["bias"], np.zeros(3)
    )


def test_metadata_are_read_without_the_arrays(path):
    os.remove(path / "arrays.safetensors")
    assert read_metadata(path) == {"loss": 0.25}
    with pytest.raises(weft.errors.CheckpointError, match="the file is missing"):
        restore(path)


def test_restored_arrays_are_used_by_xla_where_they_are(path):
    kernel = restore(path)["dense"]["kernel"]
    assert kernel.unsafe_buffer_pointer() % 64 == 0
    assert not kernel.host().flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(kernel)[0, 0] = 2


def test_restored_arrays_can_be_donated(path):
    tree = restore(path)["dense"]
    doubled = weft.jit(lambda t: weft.tree_util.tree_map(lambda x: x * 2, t), donate_argnums=0)(
        tree
    )
    np.testing.assert_array_equal(doubled["kernel"], np.full((2, 3), 2.0))
    trees.same(restore(path)["dense"]["kernel"], np_.ones((2, 3)))
