"""Several processes save one checkpoint together, which any number of them can restore."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from several_processes import members, processes

import weft
from weft.checkpoints import Checkpoints, restore
from weft.errors import CheckpointError
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P

SCRIPT = Path(__file__).with_name("two_processes.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    with processes(folder) as start:
        both = members(start, str(SCRIPT), 2, folder, WEFT_CPU_DEVICES="4")
        ends = [process.end(120) for process in both]
    for end in ends:
        assert end.status == 0, end.out + end.err
        assert end.out.splitlines()[-1] == "done one run"
    return folder


def test_one_process_reads_what_two_have_saved(folder):
    whole = np.arange(128, dtype=np.float32).reshape(16, 8) * 8
    tree = restore(folder / "one")
    for name in ("rows", "blocks", "everywhere"):
        np.testing.assert_array_equal(tree[name], whole)
    np.testing.assert_array_equal(tree["columns"], whole.astype("bfloat16"))
    assert np.array_equal(
        weft.random.key_data(tree["keys"]),
        weft.random.key_data(weft.random.split(weft.random.key(8), 8)),
    )
    sharding = NamedSharding(Mesh(weft.devices()[:2], "x"), P(None, "x"))
    like = weft.ShapeDtypeStruct((16, 8), "float32", sharding=sharding)
    restored = restore(folder / "one", {"rows": like}, strict=False)["rows"]
    assert restored.sharding == sharding
    np.testing.assert_array_equal(restored, whole)


def test_each_process_has_written_its_parts_once(folder):
    assert sorted(os.listdir(folder / "one")) == [
        "arrays-00001.safetensors",
        "arrays.safetensors",
        "tree.json",
    ]
    first, second = (
        safetensors.numpy.load_file(folder / "one" / name)
        for name in ("arrays.safetensors", "arrays-00001.safetensors")
    )
    assert {"own", "everywhere", "empty", "rows[0:2,0:8]", "columns[0:16,0:4]"} <= first.keys()
    assert {"rows[8:10,0:8]", "columns[0:16,4:8]"} <= second.keys()
    assert not first.keys() & second.keys()
    assert sum(name.startswith("blocks") for name in (*first, *second)) == 8


def test_background_checkpoints_of_two_processes(folder):
    checkpoints = Checkpoints(folder / "run")
    assert (checkpoints.steps(), checkpoints.names()) == ([2, 3], ["model"])
    assert [n for n in os.listdir(folder / "run") if n.startswith(".")] == []
    assert json.loads((folder / "run" / "model" / "tree.json").read_text())["metadata"] == {
        "step": 5
    }


def test_damage_to_the_file_of_another_process(folder, tmp_path):
    for name in os.listdir(folder / "one"):
        (tmp_path / name).write_bytes((folder / "one" / name).read_bytes())
    file = tmp_path / "arrays-00001.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    with pytest.raises(CheckpointError, match=r"arrays-00001.safetensors is damaged.*were changed"):
        restore(tmp_path)
    file.unlink()
    with pytest.raises(CheckpointError, match=r"arrays-00001.safetensors .*the file is missing"):
        restore(tmp_path)
