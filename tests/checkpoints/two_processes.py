"""Two processes with four devices each save arrays that are divided among all of them."""

import os
import sys

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft.checkpoints import Checkpoints, restore, save, saving
from weft.experimental import multihost_utils
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P

folder = sys.argv[1]
weft.distributed.initialize()
rank = weft.process_index()
assert (weft.process_count(), weft.local_device_count()) == (2, 4)
row = Mesh(weft.devices(), "d")
grid = Mesh(np.array(weft.devices()).reshape(2, 4).T, ("a", "b"))  # axis b is between processes
whole = np.arange(128, dtype=np.float32).reshape(16, 8)


def spread(x, mesh, *parts):
    return weft.device_put(x, NamedSharding(mesh, P(*parts)))


def tree(factor):
    x = whole * factor
    return {
        "rows": spread(x, row, "d"),
        "blocks": spread(x, grid, "a", "b"),
        "columns": spread(x.astype("bfloat16"), grid, None, "b"),
        "everywhere": spread(x, row),
        "keys": spread(weft.random.split(weft.random.key(factor), 8), row, "d"),
        "empty": spread(np.zeros((0, 8), np.float32), row, None, "d"),
        "own": wnp.asarray([rank, factor]),
        "step": factor,
    }


def check(found, factor):
    expected = tree(factor)
    for name in ("rows", "blocks", "columns", "everywhere"):
        assert found[name].sharding == expected[name].sharding
        for mine, other in zip(
            found[name].addressable_shards, expected[name].addressable_shards, strict=True
        ):
            assert mine.index == other.index
            assert np.asarray(mine.data).tobytes() == np.asarray(other.data).tobytes()
    words, expected_words = (weft.random.key_data(t["keys"]) for t in (found, expected))
    np.testing.assert_array_equal(*map(multihost_utils.process_allgather, (words, expected_words)))
    assert found["empty"].shape == (0, 8)
    assert found["own"].tolist() == [0, factor]  # process 0's
    assert found["step"] == factor


# all wait for the end
save(f"{folder}/one", tree(1), metadata={"a": 1})
check(restore(f"{folder}/one", tree(0)), 1)
with pytest.raises(FileExistsError):
    save(f"{folder}/one", tree(1))
save(f"{folder}/one", tree(2), overwrite=True)
check(restore(f"{folder}/one", tree(0)), 2)

# in the background, while the devices of both compute together
total = weft.jit(lambda x: wnp.sum(x))
checkpoints = Checkpoints(f"{folder}/run", keep_last=2)
for step in range(4):
    state = tree(step)
    checkpoints.save(step, state)
    for _ in range(3):
        assert float(total(state["rows"])) == whole.sum() * step
checkpoints.wait()
check(checkpoints.restore(like=tree(0)), 3)
checkpoints.save(5, tree(5), name="model")
check(checkpoints.restore("model", like=tree(0)), 5)
assert checkpoints.latest(whole=True) == 3

# an error in one process is one in both, and what was there stays
original = saving.write_tensors


def full(path, tensors):
    raise OSError(28, "No space left on device")


for broken in (0, 1):
    if rank == broken:
        saving.write_tensors = full
    with pytest.raises(OSError, match="No space left on device") as raised:
        save(f"{folder}/one", tree(7), overwrite=True)
    assert (rank < broken) == ("(in process 1)" in str(raised.value))
    saving.write_tensors = original
    check(restore(f"{folder}/one", tree(0)), 2)
    multihost_utils.sync_global_devices("both have seen it")
save(f"{folder}/one", tree(8), overwrite=True)
check(restore(f"{folder}/one", tree(0)), 8)
multihost_utils.sync_global_devices("end")
print("done", *sorted(n for n in os.listdir(folder) if not n.startswith("process")))
