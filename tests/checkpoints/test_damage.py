"""Cut off, flipped, foreign and hostile checkpoints: one clear error, or the right content.

Nothing is run, and no more memory is taken than the files are long.
"""

import contextlib
import hashlib
import json
import os
import pickle
import random
import sys
import tracemalloc

import checkpoint_trees as trees
import numpy as np
import pytest

import weft.numpy as wnp
from weft import random as keys
from weft.checkpoints import read_metadata, restore, save
from weft.errors import CheckpointError

MEMORY = 30
"""The bytes of memory that reading may take for each byte of tree.json, whatever it claims."""


def tree():
    return {
        "params": {"kernel": wnp.arange(12.0).reshape(3, 4), "bias": wnp.ones(3, "bfloat16")},
        "moments": trees.Point(np.arange(5), np.float32(3)),
        "key": keys.key(3),
        "flags": [np.array([True, False]), wnp.asarray([1, -2], "int4"), None, (1.5, "text", 2j)],
        "step": 7,
    }


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "c"
    save(path, tree(), metadata={"loss": 0.5, "steps": [1, 2]})
    return {name: (path / name).read_bytes() for name in ("tree.json", "arrays.safetensors")}


@pytest.fixture(scope="module")
def content(original, tmp_path_factory):
    path = put(tmp_path_factory.mktemp("content"), original)
    return restore(path), read_metadata(path)


def put(folder, files):
    """A checkpoint of these files."""
    (folder / "c").mkdir()
    for name, data in files.items():
        (folder / "c" / name).write_bytes(data)
    return folder / "c"


def signed(rest):
    """A tree.json whose checksum fits."""
    return b'{"sha256": "%s",\n' % hashlib.sha256(rest).hexdigest().encode() + rest


def edited(files, edit):
    """The same files with a change in tree.json, and the checksum that fits."""
    document = json.loads(files["tree.json"])
    del document["sha256"]
    changed = edit(document) or document
    return files | {"tree.json": signed(json.dumps(changed).encode()[1:])}


RUNS = {"exec", "compile", "import", "os.system", "subprocess.Popen", "os.exec", "os.fork",
        "pickle.find_class", "marshal.loads", "ctypes.dlopen", "socket.connect"}  # fmt: skip
watched = {"on": False, "seen": []}


def audit(event, args):
    if watched["on"] and event in RUNS:
        watched["seen"].append((event, args))


sys.addaudithook(audit)  # there is no way to take it away: it does nothing outside the block below


@contextlib.contextmanager
def harmless(path):
    """Nothing runs in the block, and it takes little memory."""
    size = os.path.getsize(path / "tree.json") if (path / "tree.json").exists() else 0
    watched.update(on=True, seen=[])
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        watched["on"] = False
    assert watched["seen"] == []
    assert peak < (1 << 20) + MEMORY * size


def outcome(path, operation=restore):
    """The result of reading, or None after the one error that there may be."""
    with harmless(path):
        try:
            return operation(path)
        except CheckpointError as error:
            text, notes = str(error), error.__notes__
    assert text.startswith(f"{operation.__name__}: {path}{os.sep}")
    assert "\n  fix: " in text
    assert len(text) < 1000
    assert len(notes) == 1
    assert notes[0].startswith("  at test_damage.py:")
    return None


@pytest.fixture(scope="module", autouse=True)
def loaded_modules(original, tmp_path_factory):
    """Reading has loaded its modules before the first test counts."""
    restore(put(tmp_path_factory.mktemp("first"), original))


def folders(tmp_path, checkpoints):
    """(name, files, path) of checkpoints, each in a folder of its own."""
    for i, (name, files) in enumerate(checkpoints):
        (tmp_path / str(i)).mkdir()
        yield name, files, put(tmp_path / str(i), files)


# --- accidents ---


def accidents(files):
    """(name, files) of damaged checkpoints."""
    rng = random.Random(0)
    for name, data in files.items():
        places = [0, 1, 7, 8, 9, len(data) // 2, len(data) - 1]
        for i in [*places, *(rng.randrange(len(data)) for _ in range(15))]:
            yield f"{name} cut off at {i}", files | {name: data[:i]}
        for _ in range(40):
            i = rng.randrange(8 * len(data))
            flipped = bytearray(data)
            flipped[i // 8] ^= 1 << i % 8
            yield f"{name} with bit {i} flipped", files | {name: bytes(flipped)}
        for _ in range(5):
            i, n = rng.randrange(len(data)), rng.randrange(1, 64)
            yield f"{name} with zeros at {i}", files | {name: data[:i] + bytes(n) + data[i + n :]}
        yield f"{name} twice", files | {name: data + data}
        yield f"{name} with a byte more", files | {name: data + b"\0"}
        yield f"{name} empty", files | {name: b""}
        yield f"{name} of zeros", files | {name: bytes(len(data))}
        yield f"without {name}", {other: d for other, d in files.items() if other != name}
        yield f"{name} of the other", files | {name: files[min(files.keys() - {name})]}


def test_accidents_give_an_error_or_the_right_content(original, content, tmp_path):
    count = errors = 0
    for _, files, path in folders(tmp_path, accidents(original)):
        count += 1
        restored = outcome(path)
        if restored is None:
            errors += 1
        else:
            trees.same(restored, content[0])
            assert files["tree.json"] == original["tree.json"]  # there, every bit counts
        metadata = outcome(path, read_metadata)
        assert metadata is None or metadata == content[1]
    assert count >= 130
    assert errors >= count - 5


def test_the_error_names_the_file_and_the_array(original, tmp_path):
    data = bytearray(original["arrays.safetensors"])
    data[-1] ^= 1  # of the last array
    path = put(tmp_path, original | {"arrays.safetensors": bytes(data)})
    with pytest.raises(CheckpointError) as raised:
        restore(path)
    assert str(raised.value) == (
        f"restore: {path / 'arrays.safetensors'} is damaged, or not a checkpoint: the bytes of its "
        "array 'flags/0' were changed\n"
        "  fix: restore another checkpoint, or take another copy of this one"
    )


# --- malice ---


def node(name):
    """Gives a function of (document, changes) that changes one of the nodes."""

    def change(document, **entries):
        (found,) = [n for n in document["tree"] if n["name"] == name]
        for key, value in entries.items():
            if value is GONE:
                found.pop(key, None)
            else:
                found[key] = value

    return change


GONE = object()
KERNEL, STEP, FLAGS, ROOT = map(node, ("params/kernel", "step", "flags", ""))
BOMB = "[" * 50_000 + "]" * 50_000
PART = {"file": 0, "start": [0, 0], "shape": [3, 4], "sha256": "0" * 64}

EDITS = {
    "another format": lambda d: d.update(format="pickle"),
    "a later version": lambda d: d.update(version=2),
    "no version": lambda d: d.pop("version") and None,
    "a tree that is no list": lambda d: d.update(tree={}),
    "a tree without nodes": lambda d: d.update(tree=[]),
    "nodes that are no objects": lambda d: d.update(tree=[[], 1, None]),
    "metadata that are no object": lambda d: d.update(metadata=[]),
    "a node less": lambda d: d["tree"].pop() and None,
    "a node more": lambda d: d["tree"].append({"name": "x", "value": 1}),
    "nodes in another order": lambda d: d["tree"].reverse(),
    "a list of a million": lambda d: FLAGS(d, list=10**6),
    "a list of 10^18": lambda d: FLAGS(d, list=10**18),
    "a list of -1": lambda d: FLAGS(d, list=-1),
    "a list of true": lambda d: FLAGS(d, list=True),
    "a list of 1.5": lambda d: FLAGS(d, list=1.5),
    "a list and a tuple": lambda d: FLAGS(d, tuple=4),
    "a key twice": lambda d: ROOT(d, dict=["flags", "key", "moments", "params", "params"]),
    "a key that is an object": lambda d: ROOT(d, dict=["flags", "key", "moments", "params", {}]),
    "keys that are a string": lambda d: ROOT(d, dict="abcde"),
    "a million keys": lambda d: ROOT(d, dict=list(range(10**5))),
    "a number that is none": lambda d: STEP(d, value=None),
    "a number that is a list": lambda d: STEP(d, value=[1]),
    "no number": lambda d: STEP(d, value=GONE),
    "half a complex number": lambda d: STEP(d, value=GONE, complex=[1.0]),
    "a dtype that weft does not have": lambda d: KERNEL(d, array="object"),
    "a dtype that is a list": lambda d: KERNEL(d, array=["float32"]),
    "a dtype of another size": lambda d: KERNEL(d, array="float64"),
    "a dtype of the same size": lambda d: KERNEL(d, array="int32"),
    "an array of another library": lambda d: KERNEL(d, of="os.system"),
    "an array of no library": lambda d: KERNEL(d, of=GONE),
    "a scalar with axes": lambda d: KERNEL(d, of="scalar"),
    "a shape of another size": lambda d: KERNEL(d, shape=[3, 5]),
    "a shape that is reversed": lambda d: KERNEL(d, shape=[4, 3]),
    "a shape of terabytes": lambda d: KERNEL(d, shape=[1 << 20, 1 << 20]),
    "a shape beyond 64 bits": lambda d: KERNEL(d, shape=[1 << 40, 1 << 40]),
    "a shape that overflows to the right size": lambda d: KERNEL(d, shape=[1 << 63, 1 << 1, 12]),
    "a shape with -1": lambda d: KERNEL(d, shape=[-1, -12]),
    "a shape with floats": lambda d: KERNEL(d, shape=[3.0, 4.0]),
    "a shape with infinity": lambda d: KERNEL(d, shape=[3, float("inf")]),
    "a shape with true": lambda d: KERNEL(d, shape=[True, 12]),
    "a shape of 100 axes": lambda d: KERNEL(d, shape=[1] * 98 + [3, 4]),
    "a shape that is a number": lambda d: KERNEL(d, shape=12),
    "no shape": lambda d: KERNEL(d, shape=GONE),
    "another name": lambda d: KERNEL(d, name="params/bias2"),
    "the name of another array": lambda d: KERNEL(d, name="params/bias"),
    "a name that leaves the directory": lambda d: KERNEL(d, name="../../secret"),
    "a name of 100,000 letters": lambda d: KERNEL(d, name="x" * 100_000),
    "a name that is no string": lambda d: KERNEL(d, name=3),
    "another checksum": lambda d: KERNEL(d, sha256="0" * 64),
    "a short checksum": lambda d: KERNEL(d, sha256="0"),
    "no checksum": lambda d: KERNEL(d, sha256=GONE),
    "parts that are no list": lambda d: KERNEL(d, parts=3),
    "no parts": lambda d: KERNEL(d, parts=[]),
    "a part that is no object": lambda d: KERNEL(d, parts=[3]),
    "a part of a missing file": lambda d: KERNEL(d, parts=[PART | {"file": 7}]),
    "a part of file -1": lambda d: KERNEL(d, parts=[PART | {"file": -1}]),
    "a part of a file with a path": lambda d: KERNEL(d, parts=[PART | {"file": "../x"}]),
    "a part that is elsewhere": lambda d: KERNEL(d, parts=[PART | {"start": [3, 0]}]),
    "a part without a length": lambda d: KERNEL(d, parts=[PART | {"shape": [0, 4]}]),
    "a part twice": lambda d: KERNEL(d, parts=[PART | {"shape": [3, 2]}] * 2),
    "a part too few": lambda d: KERNEL(d, parts=[PART | {"shape": [1, 4]}]),
    "a part of more axes": lambda d: KERNEL(d, parts=[PART | {"shape": [3, 4, 1]}]),
    "deep metadata": lambda d: d["metadata"].update(x=json.loads("[" * 300 + "]" * 300)),
}


def headers(files):
    """(name, files) with another header in the file of arrays, or something else in its place."""
    data = files["arrays.safetensors"]
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    name = "params/kernel"

    def with_header(new, more=b""):
        text = json.dumps(new).encode()
        return len(text).to_bytes(8, "little") + text + body + more

    first, last = header[name]["data_offsets"]
    rest = {k: v for k, v in header.items() if k != name}
    for what, entry in {
        "offsets that overlap": header[name] | {"data_offsets": [first - 4, last - 4]},
        "offsets beyond the end": header[name] | {"data_offsets": [first, last + (1 << 40)]},
        "offsets below zero": header[name] | {"data_offsets": [-8, last]},
        "offsets that are swapped": header[name] | {"data_offsets": [last, first]},
        "offsets that are floats": header[name] | {"data_offsets": [0.5, last]},
        "a shape beyond 64 bits": header[name] | {"shape": [1 << 63, 2]},
        "a negative shape": header[name] | {"shape": [-3, -4]},
        "another shape": header[name] | {"shape": [12]},
        "another dtype": header[name] | {"dtype": "I32"},
        "an unknown dtype": header[name] | {"dtype": "PICKLE"},
        "no entry": {},
    }.items():
        yield what, files | {"arrays.safetensors": with_header(rest | {name: entry})}
    yield "an array less", files | {"arrays.safetensors": with_header(rest)}
    more = header | {"x": {"dtype": "U8", "shape": [1], "data_offsets": [len(body), len(body) + 1]}}
    yield "an array more", files | {"arrays.safetensors": with_header(more, b"x")}
    renamed = rest | {"../x": header[name]}
    yield "another name", files | {"arrays.safetensors": with_header(renamed)}
    for offsets in ([first - 4, last - 4], [1 << 62, (1 << 62) + last - first], [-1, last]):
        entry = json.dumps({name: header[name] | {"data_offsets": offsets}})
        twice = f"{json.dumps(header)[:-1]}, {entry[1:]}"
        yield (
            f"an entry twice, the second at {offsets}",
            files
            | {"arrays.safetensors": len(twice).to_bytes(8, "little") + twice.encode() + body},
        )
    padded = json.dumps(header) + " " * (1 << 20)
    yield (
        "a header with a megabyte of spaces",
        files | {"arrays.safetensors": len(padded).to_bytes(8, "little") + padded.encode() + body},
    )
    yield "text in the header", files | {"arrays.safetensors": with_header({"x" * 10**5: {}})}
    for n in (0, 1, 1 << 20, 1 << 40, 1 << 63, (1 << 64) - 1):
        lengths = n.to_bytes(8, "little") + data[8:]
        yield f"a header of {n} bytes", files | {"arrays.safetensors": lengths}
    deep = len(BOMB).to_bytes(8, "little") + BOMB.encode()
    yield "a nested header", files | {"arrays.safetensors": deep}
    for file in files:
        yield f"a pickle for {file}", files | {file: pickle.dumps(Trap())}
        yield f"NumPy's format for {file}", files | {file: b"\x93NUMPY\x01\x00" + bytes(118)}


class Trap:
    """An object whose pickle runs a command when it is read."""

    def __reduce__(self):
        return os.system, ("exit 1",)


def texts(files):
    """(name, files) with a tree.json that has a fitting checksum, but is none."""
    whole = files["tree.json"].partition(b"\n")[2]
    for name, rest in {
        "nothing": b"",
        "no JSON": b"import os; os.system('exit 1')",
        "JSON that is cut off": whole[:-20],
        "a hundred thousand brackets": b'"tree": ' + BOMB.encode() + b"}",
        "brackets in strings": b'"tree": "' + b'\\"[' * 1000 + b'"}',
        "open brackets": b'"tree": ' + b"[" * 100_000,
        "a number of 100,000 digits": whole.replace(b'"value": 7', b'"value": ' + b"7" * 100_000),
        "no UTF-8": whole.replace(b"params", b"par\xff\xfes"),
        "a key twice": b'"format": 1, ' + whole[:-2] + b', "tree": 3}',
    }.items():
        yield name, files | {"tree.json": signed(rest)}
    yield "a checksum in capitals", files | {"tree.json": files["tree.json"].upper()}


def hostile(files):
    """(name, files) of checkpoints that somebody made with malice."""
    for name, edit in EDITS.items():
        yield name, edited(files, edit)
    yield from headers(files)
    yield from texts(files)


def test_malice_gives_one_clear_error(original, tmp_path):
    accepted = [
        name for name, _, path in folders(tmp_path, hostile(original)) if outcome(path) is not None
    ]
    assert accepted == []


def test_there_are_two_hundred_of_them(original):
    assert len([*accidents(original), *hostile(original)]) >= 200


WEIRD = [None, True, -1, 0, 2, 1 << 70, 1e308, float("nan"), "", "x", [], [[]], {}, {"a": 1}]


def test_random_edits_give_a_tree_or_one_clear_error(original, tmp_path):
    def edit(document, rng):
        at = rng.choice(document["tree"])
        if rng.random() < 0.7:
            at[rng.choice([*at, "list", "parts"])] = rng.choice(WEIRD)
        else:
            del at[rng.choice([*at])]

    kinds = set()
    for seed in range(60):
        rng = random.Random(seed)
        (tmp_path / str(seed)).mkdir()
        path = put(tmp_path / str(seed), edited(original, lambda d: edit(d, rng)))  # noqa: B023
        kinds.add(type(outcome(path)))
    assert kinds == {dict, type(None)}


@pytest.mark.parametrize(
    "shape", [[0, 1 << 58], [0, 1 << 62], [0, 1 << 31, 1 << 31], [1] * 70 + [0], [0, 1 << 80]]
)
def test_shapes_that_no_array_has_on_which_both_files_agree(shape, tmp_path):
    save(tmp_path / "c", {"x": np.zeros((0, 3))})
    files = {"tree.json": (tmp_path / "c" / "tree.json").read_bytes()}
    changed = edited(files, lambda d: node("x")(d, shape=shape))
    (tmp_path / "c" / "tree.json").write_bytes(changed["tree.json"])
    entry = {"x": {"dtype": "F64", "shape": shape, "data_offsets": [0, 0]}}
    header = json.dumps(entry).encode()
    file = tmp_path / "c" / "arrays.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(CheckpointError, match="the array 'x' has an impossible shape"):
        restore(tmp_path / "c")


def test_many_arrays_that_claim_the_same_bytes(tmp_path):
    """Otherwise a small file could fill the memory."""
    save(tmp_path / "one", {"a": np.ones(3)})
    save(tmp_path / "two", {"a": np.ones(3), "b": np.ones(3)})
    files = {"tree.json": (tmp_path / "two" / "tree.json").read_bytes()}
    changed = edited(files, lambda d: node("b")(d, name="a"))
    (tmp_path / "one" / "tree.json").write_bytes(changed["tree.json"])
    with pytest.raises(CheckpointError, match="two arrays have the name 'a'"):
        restore(tmp_path / "one")


def test_bytes_that_stand_for_no_element(original, tmp_path):
    for dtype, byte in [("bool", 2), ("int4", 100), ("uint2", 4), ("float4_e2m1fn", 16)]:
        path = tmp_path / dtype
        save(path, {"x": trees.host(dtype, (3,))})
        arrays = (path / "arrays.safetensors").read_bytes()[:-1] + bytes([byte])
        (path / "arrays.safetensors").write_bytes(arrays)
        digest = hashlib.sha256(arrays[-3:]).hexdigest()
        files = {"tree.json": (path / "tree.json").read_bytes()}
        changed = edited(files, lambda d: node("x")(d, sha256=digest))  # noqa: B023
        (path / "tree.json").write_bytes(changed["tree.json"])
        with pytest.raises(CheckpointError, match=f"'x' has a byte that is not a {dtype}"):
            restore(path)


# --- what is no file ---


def test_a_pipe_does_not_hang(original, tmp_path):
    for name in original:
        (tmp_path / name).mkdir()
        path = put(tmp_path / name, original)
        (path / name).unlink()
        os.mkfifo(path / name)
        with pytest.raises(
            CheckpointError, match=f"{name} is damaged, .* it is not a regular file"
        ):
            restore(path)


def test_a_file_that_may_not_be_read(original, tmp_path, monkeypatch):
    path = put(tmp_path, original)

    def denied(*args):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("weft.checkpoints.manifest.stat.S_ISREG", denied)
        with pytest.raises(PermissionError, match=r"not be read: Permission denied\n  fix: "):
            restore(path)


def test_links_and_directories_in_the_place_of_a_file(original, tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(original["arrays.safetensors"])
    for kind, make in {
        "link": lambda p: p.symlink_to(outside),
        "folder": lambda p: p.mkdir(),
    }.items():
        (tmp_path / kind).mkdir()
        path = put(tmp_path / kind, {"tree.json": original["tree.json"]})
        make(path / "arrays.safetensors")
        with pytest.raises(CheckpointError, match="it is not a regular file"):
            restore(path)


def test_no_checkpoint(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"(?s)restore: there is no checkpoint .*/c\n  fix: "
    ):
        restore(tmp_path / "c")
    (tmp_path / "c").mkdir()
    with pytest.raises(CheckpointError, match=r"c/tree.json is damaged, .* the file is missing"):
        read_metadata(tmp_path / "c")
    (tmp_path / "file").write_text("x")
    with pytest.raises(CheckpointError, match="the file is missing"):
        restore(tmp_path / "file")


def test_a_later_version_asks_for_a_newer_weft(original, tmp_path):
    path = put(tmp_path, edited(original, lambda d: d.update(version=9)))
    with pytest.raises(
        CheckpointError, match=r"(?s)has version 9 of the format.*fix: a newer weft"
    ):
        restore(path)


def test_a_tree_json_that_is_too_long_is_not_read(original, tmp_path, monkeypatch):
    path = put(tmp_path, original)
    monkeypatch.setattr("weft.checkpoints.manifest.MAX_BYTES", 1000)
    with pytest.raises(CheckpointError, match="bytes, more than 1,000"):
        restore(path)


def test_a_sparse_file_of_terabytes_takes_no_memory(original, tmp_path):
    path = put(tmp_path, original)
    with (path / "arrays.safetensors").open("rb+") as file:
        file.truncate(1 << 40)
    assert outcome(path) is None


def test_an_array_for_which_there_is_no_memory(original, tmp_path, monkeypatch):
    def none(shape, dtype):
        raise MemoryError

    monkeypatch.setattr("weft.checkpoints.tensor_files.aligned_empty", none)
    with pytest.raises(CheckpointError, match=r"takes .* bytes: there is no such memory"):
        restore(put(tmp_path, original))
