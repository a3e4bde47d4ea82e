"""save and restore are inverse to each other, for every tree and dtype."""

import collections
import errno
import hashlib
import os
import stat

import checkpoint_trees as trees
import numpy as np
import pytest
import safetensors.numpy

import weft
import weft.numpy as wnp
from weft import random
from weft.checkpoints import places, read_metadata, restore, save, saving, tensor_files
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P


def nested(value, depth):
    """A list in a list in a list."""
    for _ in range(depth):
        value = [value]
    return value


TREES = {
    "an array alone": lambda: wnp.arange(3),
    "a number alone": lambda: 5,
    "nothing": lambda: None,
    "an empty dict": dict,
    "empty containers": lambda: {"a": {}, "b": [], "c": (), "d": [None, ()]},
    "nested": lambda: {"layers": [{"w": wnp.ones((2, 3))}, (wnp.zeros(2), None)], "step": 3},
    "numbers": lambda: [0, -7, 1 << 200, True, False, 0.1, -0.0, 1e-320, 3 + 4j, complex(-0.0, 1)],
    "no numbers": lambda: [float("nan"), float("inf"), -float("inf")],
    "strings": lambda: ["", "straße", "日本", "\x00\n\"\\", "\ud800", "a/b", "x" * 10_000],
    "keys of dicts": lambda: [{3: 1, -1: 2}, {"a/b": 1, "": 2}, {(0, "x"): 1, (1, "y"): 2}],
    "names that collide": lambda: {
        "a": {"b": wnp.ones(1)}, "a/b": wnp.zeros(2), "a/b#2": wnp.ones(3),
        "__metadata__": wnp.ones(4), "é": wnp.ones(5), "": wnp.ones(6),
    },
    "NumPy's": lambda: [np.arange(6).reshape(2, 3).T, np.float32(2.5), np.bool_(True)],
    "views": lambda: [np.arange(12.0).reshape(3, 4)[::2, ::-1], np.broadcast_to(1.5, (2, 3))],
    "empty arrays": lambda: [wnp.zeros((0, 3)), np.zeros((2, 0)), wnp.zeros(0, "bfloat16")],
    "huge empty arrays": lambda: [np.zeros((0, 1 << 40), np.int8)],
    "weak types": lambda: [wnp.asarray(1.5), wnp.full(2, 3)],
    "random keys": lambda: [
        random.key(1), random.split(random.key(2), 3), random.key(3, impl="rbg"),
        random.split(random.key(4, impl="unsafe_rbg"), (2, 2)), random.PRNGKey(5),
    ],
    "one array twice": lambda: (lambda x: [x, x])(wnp.ones(3)),
    "many arrays": lambda: {f"w{i}": wnp.full((2,), i) for i in range(300)},
    "deep": lambda: nested(wnp.ones(1), 150),
}  # fmt: skip


@pytest.mark.parametrize("name", TREES)
def test_a_tree_comes_back_to_the_bit(name, tmp_path):
    tree = TREES[name]()
    save(tmp_path / "c", tree)
    trees.same(restore(tmp_path / "c"), tree)
    trees.same(restore(tmp_path / "c", tree), tree)
    assert read_metadata(tmp_path / "c") == {}


@pytest.mark.parametrize("dtype", trees.DTYPES)
def test_every_dtype_comes_back_to_the_bit(dtype, tmp_path):
    shapes = [(), (1,), (3, 5), (2, 0, 3), (7, 1, 2)]
    tree = {
        "weft": [trees.array(dtype, shape, i) for i, shape in enumerate(shapes)],
        "numpy": [trees.host(dtype, shape, i) for i, shape in enumerate(shapes)],
        "scalar": trees.host(dtype, (), 9)[()],
    }
    save(tmp_path / "c", tree)
    trees.same(restore(tmp_path / "c"), tree)
    trees.same(restore(tmp_path / "c", tree), tree)


def test_every_dtype_is_in_the_table():
    assert {"bfloat16", "float8_e4m3fn", "int4", "bool", "complex128"} < set(trees.DTYPES)


def test_nodes_of_classes_come_back_with_a_tree_like_them(tmp_path):
    tree = {
        "point": trees.Point(wnp.ones(2), 3),
        "moments": trees.Moments(wnp.zeros(2), [np.ones(1)]),
        "pair": trees.Pair(1.0, {"a": wnp.ones(1)}),
        "ordered": collections.OrderedDict(b=1, a=2),
        "default": collections.defaultdict(list, x=4),
    }
    save(tmp_path / "c", tree)
    trees.same(restore(tmp_path / "c", tree), tree)
    plain = restore(tmp_path / "c")
    trees.same(
        plain,
        {
            "point": {"x": wnp.ones(2), "y": 3},
            "moments": {"mean": wnp.zeros(2), "variance": [np.ones(1)]},
            "pair": [1.0, {"a": wnp.ones(1)}],
            "ordered": {"b": 1, "a": 2},
            "default": {"x": 4},
        },
    )
    assert list(plain["ordered"]) == ["b", "a"]


def test_big_endian_arrays_keep_their_values(tmp_path):
    save(tmp_path / "c", np.arange(5, dtype=">i4"))
    restored = restore(tmp_path / "c")
    assert restored.dtype == np.int32
    np.testing.assert_array_equal(restored, np.arange(5))


def test_another_library_reads_the_arrays_under_the_names_of_their_paths(tmp_path):
    tree = {
        "params": {"dense": {"kernel": wnp.ones((2, 3)), "bias": wnp.zeros(3, "bfloat16")}},
        "opt": [trees.Point(wnp.arange(2), np.arange(2.0))],
        "c": wnp.asarray([1 + 2j]),
    }
    save(tmp_path / "c", tree)
    arrays = safetensors.numpy.load_file(tmp_path / "c" / "arrays.safetensors")
    assert sorted(arrays) == ["c", "opt/0/x", "opt/0/y", "params/dense/bias", "params/dense/kernel"]
    np.testing.assert_array_equal(arrays["params/dense/kernel"], np.ones((2, 3), np.float32))
    assert arrays["params/dense/bias"].dtype.name == "bfloat16"
    np.testing.assert_array_equal(arrays["c"], [[1, 2]])


def test_the_same_tree_gives_the_same_bytes(tmp_path):
    for name, tree in [("a", {"x": wnp.ones(3), "y": 1}), ("b", {"y": 1, "x": wnp.ones(3)})]:
        save(tmp_path / name, tree, metadata={"loss": 0.1})
    for file in ("tree.json", "arrays.safetensors"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert sorted(os.listdir(tmp_path / "a")) == ["arrays.safetensors", "tree.json"]


def test_the_first_line_is_the_checksum_of_the_rest(tmp_path):
    save(tmp_path / "c", {"x": wnp.ones(3)})
    first, rest = (tmp_path / "c" / "tree.json").read_bytes().split(b"\n", 1)
    assert first == b'{"sha256": "%s",' % hashlib.sha256(rest).hexdigest().encode()


def test_files_can_be_read_by_whom_the_directory_can_be(tmp_path):
    save(tmp_path / "c", {"x": wnp.ones(3)})
    modes = {stat.S_IMODE(os.stat(tmp_path / "c" / f).st_mode) for f in os.listdir(tmp_path / "c")}
    assert modes == {stat.S_IMODE(os.stat(tmp_path / "c").st_mode) & 0o666}


def test_metadata_come_back(tmp_path):
    metadata = {
        "loss": float("nan"),
        "step": np.int64(3),
        "when": (1, 2.5),
        "x": {"y": [None, True]},
    }
    save(tmp_path / "c", {}, metadata=metadata | {"scalar": wnp.asarray(2.0)})
    restored = read_metadata(str(tmp_path / "c"))
    assert np.isnan(restored.pop("loss"))
    assert restored == {"step": 3, "when": [1, 2.5], "x": {"y": [None, True]}, "scalar": 2.0}
    assert type(restored["step"]) is int


# --- placement ---


def mesh():
    return Mesh(np.array(weft.devices()[:8]).reshape(4, 2), ("a", "b"))


@pytest.mark.devices(8)
@pytest.mark.parametrize("spec", [P("a"), P(None, "b"), P("b", "a"), P(("a", "b")), P()])
@pytest.mark.parametrize("dtype", ["float32", "int4", "complex64"])
def test_divided_arrays_are_saved_whole_and_restored_as_those_of_like(spec, dtype, tmp_path):
    whole = trees.array(dtype, (8, 8))
    divided = weft.device_put(whole, NamedSharding(mesh(), spec))
    save(tmp_path / "c", {"x": divided})
    trees.same(restore(tmp_path / "c"), {"x": whole})
    restored = restore(tmp_path / "c", {"x": divided})["x"]
    assert restored.sharding == divided.sharding
    trees.same(restored, divided)
    described = weft.ShapeDtypeStruct((8, 8), dtype, sharding=divided.sharding)
    assert restore(tmp_path / "c", {"x": described})["x"].sharding == divided.sharding


@pytest.mark.devices(8)
def test_divided_keys(tmp_path):
    keys = weft.device_put(random.split(random.key(0), 8), NamedSharding(mesh(), P("a")))
    save(tmp_path / "c", keys)
    restored = restore(tmp_path / "c", keys)
    assert restored.sharding == keys.sharding
    trees.same(restored, keys)


@pytest.mark.devices(2)
def test_an_array_comes_back_to_its_device(tmp_path):
    device = weft.devices()[1]
    x = weft.device_put(wnp.arange(3), device)
    save(tmp_path / "c", x)
    assert restore(tmp_path / "c", x).device == device
    assert not restore(tmp_path / "c").committed


def test_the_kind_of_like_decides_between_weft_and_numpy(tmp_path):
    save(tmp_path / "c", {"a": wnp.arange(3), "b": np.arange(3, dtype=np.int32)})
    restored = restore(tmp_path / "c", {"a": np.zeros(3, np.int32), "b": wnp.zeros(3, "int32")})
    trees.same(restored, {"a": np.arange(3, dtype=np.int32), "b": wnp.arange(3)})
    restored["a"][0] = 7  # NumPy's arrays can be written to


def test_doubles_come_back_where_floats_are_the_default(tmp_path):
    with weft.enable_x64(True):
        save(tmp_path / "c", wnp.arange(3.0))
    assert restore(tmp_path / "c").dtype == np.float64


# --- refusals ---


@pytest.mark.parametrize(
    ("tree", "error", "text"),
    [
        ({"f": [print]}, TypeError, "got a builtin_function_or_method at tree['f'][0]"),
        ({"b": b"xy"}, TypeError, "got a bytes at tree['b']"),
        ({"o": np.array([None])}, TypeError, "got an array of dtype object at tree['o']"),
        ({"s": np.array(["x"])}, TypeError, "got an array of dtype <U1"),
        ({"d": np.datetime64("2020")}, TypeError, "got an array of dtype datetime64"),
        ({"v": np.zeros(2, [("a", int)])}, TypeError, "got an array of dtype [('a'"),
        ({b"x": 1}, TypeError, "keys of dicts must be strings, numbers"),
        ({float("nan"): 1}, TypeError, "keys of dicts must be"),
        ({"i": 1 << 9000}, ValueError, "at most 8192 bits; got one of 9001 for tree['i']"),
        (nested(1, 500), ValueError, "at most 400 levels; got a deeper one"),
        (nested(1, 9000), ValueError, "at most 400 levels; got a deeper one"),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_is_named_and_nothing_is_written(tree, error, text, tmp_path):
    with pytest.raises(error) as raised:
        save(tmp_path / "c", tree)
    assert text in str(raised.value)
    assert "fix:" in str(raised.value)
    assert raised.value.__notes__[0].startswith("  at test_saving.py:")
    assert os.listdir(tmp_path) == []


def test_traced_and_deleted_arrays_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"got a traced value, float32\[2\] at tree\['x'\]"):
        weft.jit(lambda x: save(tmp_path / "c", {"x": x}))(wnp.ones(2))
    x = wnp.ones(2) + 1
    x.delete()
    with pytest.raises(weft.errors.DeletedArrayError, match=r"tree\['x'\] was donated"):
        save(tmp_path / "c", {"x": x})


@pytest.mark.parametrize(
    ("metadata", "error", "text"),
    [
        ([1], TypeError, "metadata must be a dict; got a list"),
        ({"x": wnp.ones(2)}, TypeError, "got a Array for metadata['x']"),
        ({"x": [{"y": {1}}]}, TypeError, "got a set for metadata['x'][0]['y']"),
        ({"x": {1: 2}}, TypeError, "keys of metadata must be strings; got 1 in metadata['x']"),
        ({"x": 1 << 9000}, ValueError, "8192 bits"),
        ({"x": nested(1, 200)}, ValueError, "metadata must not be nested so deep"),
    ],
)  # fmt: skip
def test_metadata_that_json_does_not_have(metadata, error, text, tmp_path):
    with pytest.raises(error) as raised:
        save(tmp_path / "c", {}, metadata=metadata)
    assert text in str(raised.value)


def test_metadata_that_would_be_too_long_to_read(tmp_path, monkeypatch):
    monkeypatch.setattr("weft.checkpoints.manifest.MAX_BYTES", 10_000)
    with pytest.raises(ValueError, match="at most 10,000 bytes; got"):
        save(tmp_path / "c", {}, metadata={"x": "y" * 10_000})
    assert os.listdir(tmp_path) == []


def test_the_deepest_metadata_that_can_be_saved_can_be_read(tmp_path):
    deepest = None
    for depth in range(80, 120):
        value = nested(0, depth)
        try:
            save(tmp_path / f"{depth}", {}, metadata={"x": value})
        except ValueError:
            break
        deepest = read_metadata(tmp_path / f"{depth}") == {"x": value}
    assert deepest


@pytest.mark.parametrize("path", ["", None, 3, b"x"])
def test_paths(path):
    with pytest.raises(TypeError, match="path must be a string or a path; got"):
        save(path, {})


def test_a_checkpoint_that_is_there_is_kept_or_replaced_as_one_says(tmp_path):
    save(tmp_path / "c", {"x": 1})
    with pytest.raises(FileExistsError, match=r"(?s)c exists\n  fix: overwrite=True"):
        save(tmp_path / "c", {"x": 2})
    assert restore(tmp_path / "c") == {"x": 1}
    save(tmp_path / "c", {"x": 2}, overwrite=True)
    assert restore(tmp_path / "c") == {"x": 2}
    assert os.listdir(tmp_path) == ["c"]


def test_a_file_is_never_replaced(tmp_path):
    (tmp_path / "c").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="c exists"):
            save(tmp_path / "c", {}, overwrite=overwrite)
    assert (tmp_path / "c").read_text() == "mine"
    assert os.listdir(tmp_path) == ["c"]


# --- disks ---


def full(number):
    def fail(*args, **options):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(
    ("module", "function"),
    [(saving, "write_tensors"), (os, "fsync"), (os, "rename"), (os, "makedirs"), (os, "mkdir")],
)
def test_a_full_disk_leaves_what_was_there(module, function, there, tmp_path, monkeypatch):
    if there:
        save(tmp_path / "c", trees.small(1))
    before = os.listdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(module, function, full(errno.ENOSPC))
        with pytest.raises(OSError, match="No space left") as raised:
            save(tmp_path / "c", trees.small(2), overwrite=True)
    assert raised.value.errno == errno.ENOSPC
    state = "the checkpoint that was there is as it was" if there else "nothing was written"
    assert str(raised.value) == (
        f"save: {tmp_path / 'c'} could not be written: No space left on device; {state}\n"
        "  fix: free some space, or another directory"
    )
    assert raised.value.__notes__[0].startswith("  at test_saving.py:")
    assert os.listdir(tmp_path) == before
    if there:
        trees.same(restore(tmp_path / "c"), trees.small(1))
    save(tmp_path / "c", trees.small(2), overwrite=True)
    trees.same(restore(tmp_path / "c"), trees.small(2))


def test_the_disk_is_full_in_the_library(tmp_path, monkeypatch):
    library = tensor_files.require_library("save")

    def fail(tensors, path):
        raise library.SafetensorError("Error: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.numpy, "save_file", fail)
    with pytest.raises(OSError, match="No space left on device; nothing was written") as raised:
        save(tmp_path / "c", trees.small())
    assert raised.value.errno == errno.ENOSPC
    monkeypatch.setattr(safetensors.numpy, "save_file", lambda *_: full_stop(library))
    with pytest.raises(OSError, match="could not be written: out of luck; nothing"):
        save(tmp_path / "c", trees.small())


def full_stop(library):
    raise library.SafetensorError("out of luck")


def test_permission_denied(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "makedirs", full(errno.EACCES))
    with pytest.raises(PermissionError, match="a directory that you may write to"):
        save(tmp_path / "c", {})


def test_a_directory_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match=r"could not be written: .*; nothing was written\n  fix"):
        save(tmp_path / "file" / "c", {})


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(OSError, match=r"could not be written: File name too long; nothing"):
        save(tmp_path / ("x" * 250), {})


def test_an_interrupt_leaves_no_trace(tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(saving, "text_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "c", trees.small())
    assert os.listdir(tmp_path) == []


def test_without_the_library_the_error_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(ImportError, match="save needs the package safetensors\n  fix: pip install"):
        save(tmp_path / "c", {})
    assert os.listdir(tmp_path) == []


def test_directories_above_are_made(tmp_path):
    save(tmp_path / "a" / "b" / "c", {"x": 1})
    assert restore(tmp_path / "a" / "b" / "c") == {"x": 1}


def test_relative_paths_are_of_the_directory_at_the_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save("c", {"x": 1})
    assert restore("./c") == {"x": 1}
    assert places.place_of(str(tmp_path / "c")) == str(tmp_path / "c")
