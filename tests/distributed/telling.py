"""All functions of multihost_utils among several processes; prints what is different in each."""

import ml_dtypes
import numpy

import weft
import weft.numpy as np
from weft.experimental import multihost_utils as multihost
from weft.sharding import Mesh, NamedSharding, PartitionSpec

weft.distributed.initialize()
rank, count = weft.process_index(), weft.process_count()


def made_by(rank):
    """A tree that another process can make too, to compare with."""
    draw = numpy.random.default_rng(rank)
    return {
        "float64": draw.normal(size=(3, 5)),
        "bfloat16": draw.normal(size=7).astype(ml_dtypes.bfloat16),
        "bool": draw.random(9) < 0.5,
        "complex": draw.normal(size=2) + 1j * draw.normal(size=2),
        "large": draw.normal(size=300_000).astype("f4"),
        "nothing": numpy.zeros((0, 4), "i4"),
        "scalar": rank + 10,
        "weft": [np.full((2, 2), rank + 0.5)],
    }


def check(got, expected):
    got, expected = weft.tree_util.tree_leaves(got), weft.tree_util.tree_leaves(expected)
    for a, b in zip(got, expected, strict=True):
        b = numpy.asarray(b)
        assert isinstance(a, numpy.ndarray), a
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()


def error(kind, function, *args):
    try:
        function(*args)
    except kind as error:
        return str(error).splitlines()[0]


multihost.sync_global_devices("the start")
check(multihost.broadcast_one_to_all(made_by(rank)), made_by(0))
check(multihost.broadcast_one_to_all(made_by(rank), rank == count - 1), made_by(count - 1))

trees = [made_by(each) for each in range(count)]
tree_map = weft.tree_util.tree_map
check(multihost.process_allgather(made_by(rank)), tree_map(lambda *xs: numpy.stack(xs), *trees))
multihost.CHUNK = 1 << 16  # several pieces
joined = tree_map(lambda *xs: numpy.concatenate([numpy.atleast_1d(x) for x in xs]), *trees)
check(multihost.process_allgather(made_by(rank), tiled=True), joined)

mesh = Mesh(numpy.array(weft.devices()), ("x",))
x = numpy.arange(2.0 * weft.device_count(), dtype="f4")
spread = weft.jit(np.sin, out_shardings=NamedSharding(mesh, PartitionSpec("x")))(x)
assert not spread.is_fully_addressable
numpy.testing.assert_allclose(multihost.process_allgather(spread), numpy.sin(x), 1e-6)

multihost.assert_equal({"a": [1, numpy.ones(3)]})
different = {"a": [1, numpy.array([1.0, rank])]}
print(error(AssertionError, multihost.assert_equal, different, "the seeds differ"))
print(error(ValueError, multihost.broadcast_one_to_all, 1, True))
print(error(ValueError, multihost.process_allgather, {"x": numpy.zeros(2 + rank)}))
print(error(ValueError, multihost.sync_global_devices, f"barrier {rank}"))
first = multihost.sync_global_devices if rank == 0 else multihost.process_allgather
print(error(ValueError, first, "x" if rank == 0 else 1))
multihost.sync_global_devices("the end")
print("told")
