"""The report of a compilation counts what is in the program, and says where the time went."""

import pytest

import weft
import weft.numpy as np
from weft.compiler import disk_cache


def loop(x, xs):
    for i in range(40):
        x = np.sin(x) * (1 + i) + xs[i].sum()
    return x


@pytest.fixture
def report():
    return lambda f, *args: weft.jit(f).lower(*args).compile_report()


def test_a_loop(report):
    found = report(loop, np.ones(3), np.ones((40, 3)))
    assert found.equations == 40 * 6  # sin, mul, slice, reshape, sum, add
    assert found.numbers == 2 * 40
    (block,) = found.blocks
    assert block.calls * block.equations + 5 * 6 >= found.equations
    assert block.equations == 30
    assert 40 <= found.kernels <= 240
    assert f"{block.calls:,} ×   {block.name}: 30 equations" in str(found)


def test_a_flat_program(report):
    found = report(lambda x: np.sin(x) @ x, np.ones((8, 8)))
    assert found.equations == 2
    assert found.blocks == ()
    assert found.numbers == 0


@pytest.mark.devices(2)
def test_a_program_for_two_devices(report):
    mesh = weft.make_mesh((2,), ("d",))
    parts = weft.sharding.NamedSharding(mesh, weft.sharding.PartitionSpec("d"))
    found = report(loop, np.ones(4), weft.device_put(np.ones((40, 4)), parts))
    assert found.seconds["lower"] > 0


@pytest.mark.devices(2)
@pytest.mark.parametrize("mapped", ["shard_map", "pmap"])
def test_functions_mapped_over_devices(mapped):
    """Their text refers to a mesh, which a program for one device does not have."""
    total = lambda x: weft.lax.psum(np.sin(x) * len(unused), "d")  # noqa: E731
    unused = np.ones(7)
    if mapped == "pmap":
        lowered = weft.pmap(total, axis_name="d").lower(np.ones((2, 3)))
    else:
        mesh, parts = weft.make_mesh((2,), ("d",)), weft.sharding.PartitionSpec
        over = weft.shard_map(total, mesh=mesh, in_specs=parts("d"), out_specs=parts())
        lowered = weft.jit(lambda x, y: over(x) + y).lower(np.ones((2, 3)), 1.0)
    assert lowered.compile_report().seconds["lower"] > 0


def test_stages(report, tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    disk_cache.configure(tmp_path)
    try:
        first, second = [report(loop, np.ones(3), np.ones((40, 3))) for _ in range(2)]
    finally:
        disk_cache.configure(None)
    assert [*first.seconds] == ["lower", "compile"]
    assert [*second.seconds] == ["lower", "load"]
    assert not first.is_loaded
    assert second.is_loaded
