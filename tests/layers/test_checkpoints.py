"""Checkpoints: what is written, what is read, what is refused, and what a killed process leaves."""

import collections
import contextlib
import gzip
import os
import pickle
import signal
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as onp
import pytest
from row_names import row_name

from weft import fastmath, layers as tl, shapes
from weft.layers.pickled_arrays import RefusedPickle, read

SIG = shapes.ShapeDtype((2, 3))


def model():
    return tl.Serial(tl.Dense(4), tl.BatchNorm(axis=(0,)), tl.Dense(2, use_bfloat16=True))


def made(seed):
    """A model with weights and a state of its own."""
    layer = model()
    layer.init(SIG, rng=fastmath.random.get_prng(seed))
    layer(onp.ones((2, 3), onp.float32) * seed)
    return layer


def same(a, b):
    """Whether two layers have equal weights and states, dtypes included."""
    pairs = [tl.flatten_weights_and_state(layer.weights, layer.state) for layer in (a, b)]
    flat = [[onp.asarray(leaf) for part in pair for leaf in part] for pair in pairs]
    return all(x.dtype == y.dtype and onp.array_equal(x, y) for x, y in zip(*flat, strict=True))


def written(path, value, protocol=4):
    """Writes what another program might."""
    with gzip.open(path, "wb") as file:
        pickle.dump(value, file, protocol=protocol)


def test_what_is_written_is_read(tmp_path):
    path, first, second = tmp_path / "a.pkl.gz", made(1), made(2)
    first.save_to_file(path, input_signature=SIG)
    assert not same(first, second)
    assert second.init_from_file(path) is not None
    assert same(first, second)
    assert os.listdir(tmp_path) == ["a.pkl.gz"]


def test_the_file_is_the_documented_dictionary_of_plain_arrays(tmp_path):
    path, layer = tmp_path / "a.pkl.gz", made(1)
    layer.save_to_file(path, input_signature=onp.zeros((2, 3), onp.float32))
    with gzip.open(path) as file:
        found = pickle.load(file)
    assert list(found) == ["flat_weights", "flat_state", "input_signature"]
    assert {type(array) for array in found["flat_weights"] + found["flat_state"]} == {onp.ndarray}
    assert found["input_signature"] == SIG
    assert found["flat_weights"][-1].dtype == ml_dtypes.bfloat16
    layer.save_to_file(path, weights_only=True)
    with gzip.open(path) as file:
        assert list(pickle.load(file)) == ["flat_weights"]


def test_weights_only(tmp_path):
    path, first, second = tmp_path / "a.pkl.gz", made(1), made(2)
    first.save_to_file(path, weights_only=True)
    with pytest.raises(ValueError, match="has no input_signature"):
        second.init_from_file(path, weights_only=True)
    with pytest.raises(ValueError, match="saved without state"):
        second.init_from_file(path, input_signature=SIG)
    second.init_from_file(path, weights_only=True, input_signature=SIG)
    fresh = model()
    fresh.init(SIG)
    assert onp.array_equal(second.weights[0][0], first.weights[0][0])
    assert [float(s.sum()) for s in second.state[1][:2]] == [
        float(s.sum()) for s in fresh.state[1][:2]
    ]


def test_shared_weights_are_stored_once_and_dicts_keep_their_order(tmp_path):
    class Affine(tl.Layer):
        def init_weights_and_state(self, input_signature):
            self.weights = {"w": onp.ones(3, onp.float32), "b": onp.zeros(3, onp.float32)}

        def forward(self, x):
            return x * self.weights["w"] + self.weights["b"]

    path, affine = tmp_path / "a.pkl.gz", Affine()
    layer = tl.Serial(affine, affine)
    layer.init(SIG)
    layer.save_to_file(path, input_signature=SIG)
    with gzip.open(path) as file:
        assert len(pickle.load(file)["flat_weights"]) == 2
    x = onp.ones((2, 3), onp.float32)
    wanted = layer(x)
    affine.weights = {"w": 5 * x[0], "b": x[0]}
    layer.init_from_file(path)
    assert onp.array_equal(layer(x), wanted)


# ---- files of others ----

TRAX_SHAPES = """
import sys, types
module = types.ModuleType("trax.shapes")
class ShapeDtype:
    __slots__ = ("shape", "dtype")
    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype
ShapeDtype.__module__, ShapeDtype.__qualname__ = "trax.shapes", "ShapeDtype"
module.ShapeDtype = ShapeDtype
sys.modules["trax"], sys.modules["trax.shapes"] = types.ModuleType("trax"), module
import gzip, pickle
import numpy as np
value = {"flat_weights": [np.arange(6.0, dtype="f4").reshape(2, 3).T, np.ones(2, "f4")],
         "flat_state": [], "input_signature": ShapeDtype((2, 3), np.float32)}
with gzip.open(sys.argv[1], "wb", compresslevel=2) as file:
    pickle.dump(value, file, protocol=int(sys.argv[2]))
"""


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_files_with_the_names_of_trax_are_read(tmp_path, protocol):
    path = tmp_path / "a.pkl.gz"
    subprocess.run([sys.executable, "-c", TRAX_SHAPES, path, str(protocol)], check=True)
    layer = tl.Dense(2)
    w, b = layer.init_from_file(path)[0]
    assert onp.array_equal(w, [[0, 3], [1, 4], [2, 5]])
    assert onp.array_equal(b, [1, 1])


def test_arrays_of_jax_are_read():
    data = b"".join(
        [
            b"\x80\x04\x8c\x0ejax._src.array\x8c\x12_reconstruct_array\x93(",
            b"\x8c\x16numpy._core.multiarray\x8c\x0c_reconstruct\x93",
            b"\x8c\x05numpy\x8c\x07ndarray\x93K\x00\x85C\x01b\x87",
            b"(K\x01K\x02\x85\x8c\x05numpy\x8c\x05dtype\x93\x8c\x02f4\x89\x88\x87R",
            b"(K\x03\x8c\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89C\x08",
            onp.array([1, 2], "<f4").tobytes(),
            b"t}\x8c\tweak_type\x89stR.",
        ]
    )
    assert onp.array_equal(read(data), [1, 2])


VALUES = [
    {"a": [1, -2, 2**70, 1.5, None, True, "x", b"y"], "b": (), "c": ((1,), (1, 2), (1, 2, 3))},
    *(onp.arange(6).reshape(2, 3).astype(d) for d in ("f4", ">f8", "i1", "?", "c8", "u4", "f2")),
    onp.asfortranarray(onp.arange(4.0).reshape(2, 2)),
    onp.arange(8.0).reshape(2, 2, 2).transpose(0, 2, 1),
    onp.ones((3, 3))[:, 1:],
    onp.zeros((0, 3)),
    onp.float32(3),
    onp.bool_(True),
    ml_dtypes.bfloat16(2),
    onp.ones(3, ml_dtypes.float8_e5m2),
    onp.dtype("f4"),
    onp.float32,
    shapes.ShapeDtype((2, 3), onp.int32),
    [onp.ones(2)] * 2,
]


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("case", VALUES, ids=row_name)
def test_the_reader_gives_what_pickle_gives(case, protocol):
    data = pickle.dumps(case, protocol)
    got, wanted = read(data), pickle.loads(data)
    assert type(got) is type(wanted)
    if isinstance(wanted, onp.ndarray):
        assert got.dtype == wanted.dtype.newbyteorder("=")
    assert onp.array_equal(got, wanted) if isinstance(wanted, onp.ndarray | list) else got == wanted


# ---- hostile files ----


class Calls:
    """Has a function called when it is unpickled."""

    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


class Sets(onp.ndarray):
    """A class of arrays of a stranger's."""


def hostile(sign):
    """Things that do something, or may, when they are unpickled."""
    make = f"open({sign!r}, 'w').close()"
    return {
        "eval": Calls(eval, make),
        "exec": Calls(exec, make),
        "os.system": Calls(os.system, f"touch {sign}"),
        "subprocess": Calls(subprocess.call, ["touch", sign]),
        "open": Calls(open, sign, "w"),
        "getattr": Calls(getattr, "x", "upper"),
        "a class": collections.OrderedDict(a=1),
        "a function": len,
        "an exception": ValueError("x"),
        "a set": {1, 2},
        "objects in an array": onp.array([Calls(eval, make)], dtype=object),
        "text in an array": onp.array(["x"]),
        "records": onp.zeros(2, [("a", "f4")]),
        "a subclass of arrays": onp.zeros(2).view(Sets),
        "a numpy function": Calls(onp.load, sign),
        "a dtype of objects": onp.dtype("O"),
        "a random generator": onp.random.RandomState(0),
        "a slice": slice(1, 2),
        "complex": 1j,
    }


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("kind", hostile("x"))
def test_a_hostile_file_is_refused_and_nothing_runs(tmp_path, kind, protocol):
    sign, path = tmp_path / "sign", tmp_path / "a.pkl.gz"
    for place in ("flat_weights", "input_signature"):
        value = {"flat_weights": [onp.ones(2)], "flat_state": [], "input_signature": SIG}
        written(path, value | {place: [hostile(str(sign))[kind]]}, protocol)
        with pytest.raises(ValueError, match=r"a\.pkl\.gz: refused, since the pickle"):
            tl.Dense(2).init_from_file(path)
    assert not sign.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'touch x'\ntR.",
        b"(ios\nsystem\n.",
        b"(cos\nsystem\no.",
        b"\x80\x02cnumpy\nndarray\n.",
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n}b.",
        b"\x80\x04\x8c\x05numpy\x8c\x05dtype\x93)\x81.",
        b"\x80\x02}\x94h\x00h\x00s.",
        b"\x80\x02]\x94h\x00a.",
        b"\x80\x02P1\n.",
        b"\x80\x05\x97.",
        b"\x80\x02K\x01\x80\x02" + b"\x85" * 2000 + b".",
        b"\x80\x02\x82\x01.",
    ],
)
def test_programs_that_pickle_never_writes_are_refused(data):
    with pytest.raises(ValueError):  # noqa: PT011
        read(data)


def test_bytes_that_are_no_pickle():
    for data in (b"", b".", b"\x80\x04", b"nonsense", pickle.dumps([1, 2])[:-3]):
        with pytest.raises(ValueError, match="not a complete pickle"):
            read(data)
    assert issubclass(RefusedPickle, ValueError)


# ---- damaged files ----


def test_every_truncation_is_reported(tmp_path):
    path, layer = tmp_path / "a.pkl.gz", made(1)
    layer.save_to_file(path, input_signature=SIG)
    whole = path.read_bytes()
    before = made(2)
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"a\.pkl\.gz: "):
            before.init_from_file(path)
    assert same(before, made(2))


def test_every_flip_of_a_bit_is_reported_or_changes_nothing(tmp_path):
    path, layer = tmp_path / "a.pkl.gz", made(1)
    layer.save_to_file(path, input_signature=SIG)
    whole, harmless = path.read_bytes(), 0
    for at in range(0, 8 * len(whole), 61):
        changed = bytearray(whole)
        changed[at // 8] ^= 1 << at % 8
        path.write_bytes(changed)
        other = made(2)
        try:
            other.init_from_file(path)
        except ValueError:
            assert same(other, made(2))
        else:  # a bit of gzip's header, such as the time
            harmless += 1
            assert same(other, layer)
    assert harmless < 5


def test_arrays_of_another_layer_are_reported(tmp_path):
    path = tmp_path / "a.pkl.gz"
    made(1).save_to_file(path, input_signature=SIG)
    with pytest.raises(ValueError, match=r"has 6 arrays of weights, and the layer has 2: Dense_4"):
        tl.Dense(4).init_from_file(path)
    layer = tl.Serial(tl.Dense(5), tl.BatchNorm(axis=(0,)), tl.Dense(2))
    with pytest.raises(ValueError, match=r"array 0 of weights .* has shape \(3, 4\)"):
        layer.init_from_file(path)
    for value in ([1], {"weights": []}, {"flat_weights": "x"}):
        written(path, value)
        with pytest.raises(ValueError, match="not a checkpoint of a layer"):
            tl.Dense(4).init_from_file(path)
    with pytest.raises(FileNotFoundError):
        tl.Dense(4).init_from_file(tmp_path / "nowhere")


def test_what_cannot_be_written_leaves_the_old_file(tmp_path):
    path, layer = tmp_path / "a.pkl.gz", made(1)
    layer.save_to_file(path, input_signature=SIG)
    before = path.read_bytes()
    bad = tl.Dense(2)
    bad.weights = (onp.array([object()]), onp.ones(2))
    with pytest.raises(TypeError, match="holds arrays of numbers; got ndarray of dtype object"):
        bad.save_to_file(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.pkl.gz"]


WRITER = """
import sys
import numpy as np
from weft import layers as tl
layer = tl.Dense(2)
n = 0
print("ready", flush=True)
while True:
    n += 1
    layer.weights = (np.random.RandomState(n).normal(size=(300, 300)), np.full(300, float(n)))
    layer.save_to_file(sys.argv[1], input_signature=np.ones((1, 300)))
"""


def test_a_killed_process_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a.pkl.gz"
    layer = tl.Dense(2)
    layer.weights = (onp.random.RandomState(0).normal(size=(300, 300)), onp.zeros(300))
    layer.save_to_file(path, input_signature=onp.ones((1, 300)))
    for wait in (0.0, 0.013, 0.05):
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), path], stdout=subprocess.PIPE
        )
        child.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(wait)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        w, b = tl.Dense(300).init_from_file(path)[0]
        assert onp.array_equal(w, onp.random.RandomState(int(b[0])).normal(size=(300, 300)))


# ---- files of arrays ----


def test_arrays_in_a_file(tmp_path):
    path = tmp_path / "a.npy.gz"
    arrays = [onp.arange(6.0).reshape(2, 3), onp.array(3, onp.int8), onp.zeros((0, 2))]
    tl.np_to_file(arrays, path, 1)
    found = tl.np_from_file(path, 1)
    assert all(
        a.dtype == b.dtype and onp.array_equal(a, b) for a, b in zip(arrays, found, strict=True)
    )
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"a\.npy\.gz: "):
            tl.np_from_file(path, 1)
    with gzip.open(path, "wb") as file:
        onp.save(file, onp.ones(3))
        file.write(b"\x93NUMPY")
    with pytest.raises(ValueError, match="array 1 can't be read"):
        tl.np_from_file(path, 1)
    with gzip.open(path, "wb") as file:
        onp.save(file, onp.array([object()]), allow_pickle=True)
    with pytest.raises(ValueError, match="array 0 can't be read"):
        tl.np_from_file(path, 1)
    with pytest.raises(FileNotFoundError):
        tl.np_from_file(tmp_path / "nowhere", 1)
    with pytest.raises(ValueError, match="Object arrays"):
        tl.np_to_file([onp.array([object()])], path, 1)


@pytest.mark.parametrize("name", ["model.weights.npy.gz", "model.pkl.gz.npy"])
def test_weights_in_a_file_of_their_own(tmp_path, name):
    weights = [onp.ones((3, 2), onp.float32), onp.zeros(2, onp.float32)]
    tl.np_to_file(weights, tmp_path / name, 2)
    value = {"flat_weights": 2, "flat_state": [], "input_signature": SIG}
    written(tmp_path / "model.pkl.gz", value)
    found, _ = tl.Dense(2).init_from_file(tmp_path / "model.pkl.gz")
    assert onp.array_equal(found[0], weights[0])
