"""Arrays in files of tensorstore, by jax.experimental and by orbax, are read as they were written.

`make test-ecosystem` runs this file, since its environment has tensorstore.
"""

import asyncio
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest
from jax.experimental.array_serialization import serialization
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

ONE = SingleDeviceSharding(jax.devices()[0])
ROWS = NamedSharding(Mesh(np.array(jax.devices()[:1]), "x"), PartitionSpec("x"))


@pytest.mark.parametrize("ocdbt", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
def test_what_is_written_is_read(tmp_path, dtype, ocdbt):
    x = jax.device_put(jnp.arange(12).reshape(4, 3).astype(dtype), ROWS)
    specs = [serialization.get_tensorstore_spec(str(tmp_path / "x"), ocdbt)]
    serialization.run_serialization([x], specs)
    for sharding in (ONE, ROWS):
        [y] = serialization.run_deserialization([sharding], specs)
        assert y.dtype == x.dtype
        assert y.sharding.is_equivalent_to(sharding, y.ndim)
        np.testing.assert_array_equal(y, x)


def test_a_shape_and_a_dtype_may_be_asked_for(tmp_path):
    specs = [serialization.get_tensorstore_spec(str(tmp_path / "x"))]
    serialization.run_serialization([jnp.arange(3.0)], specs)
    for shape, expected in (((5,), [0, 1, 2, 0, 0]), ((2,), [0, 1])):
        [y] = serialization.run_deserialization([ONE], specs, [shape], ["int32"])
        assert y.dtype == "int32"
        np.testing.assert_array_equal(y, expected)


def test_the_writing_may_end_later(tmp_path):
    spec, commits = serialization.get_tensorstore_spec(str(tmp_path / "x")), []
    asyncio.run(serialization.async_serialize(jnp.ones(3), spec, commit_future=commits))
    for commit in commits:
        commit.result()
    assert len(commits) == 1
    assert "metadata" not in spec
    read = asyncio.run(serialization.async_deserialize(ONE, spec))
    np.testing.assert_array_equal(read, np.ones(3))


def tree(scale: float) -> Any:
    return {
        "w": jnp.arange(12.0).reshape(4, 3) * scale,
        "step": jnp.asarray(7),
        "b": [jnp.ones(2, "bfloat16")],
    }


def same(restored: Any, expected: Any) -> None:
    assert jax.tree_util.tree_structure(restored) == jax.tree_util.tree_structure(expected)
    leaves = zip(*map(jax.tree_util.tree_leaves, (restored, expected)), strict=True)
    for x, y in leaves:
        assert isinstance(x, jax.Array)
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


def test_orbax_restores_a_tree(tmp_path):
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "tree", tree(2.0))
    restored = ocp.StandardCheckpointer().restore(tmp_path / "tree", tree(0.0))
    same(restored, tree(2.0))


def test_orbax_manages_checkpoints(tmp_path):
    options = ocp.CheckpointManagerOptions(max_to_keep=2)
    with ocp.CheckpointManager(tmp_path, options=options) as manager:
        for step in range(4):
            manager.save(step, args=ocp.args.StandardSave(tree(step)))
        manager.wait_until_finished()
        assert list(manager.all_steps()) == [2, 3]
        for step in (2, 3):
            same(manager.restore(step, args=ocp.args.StandardRestore(tree(0.0))), tree(step))
