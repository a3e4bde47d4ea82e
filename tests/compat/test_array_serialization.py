"""The parts of jax.experimental.array_serialization that need no tensorstore.

`tests/ecosystem/serialization.py` tests the others.
"""

import asyncio

import pytest

from weft.compat import array_serialization as files


@pytest.mark.parametrize(
    ("ocdbt", "kvstore"),
    [
        (False, {"driver": "file", "path": "/folder/x"}),
        (True, {"driver": "ocdbt", "base": "file:///folder", "path": "x"}),
    ],
)
def test_a_specification_says_where_the_file_is(ocdbt, kvstore):
    spec = files.get_tensorstore_spec("/folder/x", ocdbt)
    assert spec == {"driver": "zarr", "kvstore": kvstore}
    assert not files.has_metadata({"driver": "cast", "base": spec})
    assert files.has_metadata({"driver": "cast", "base": {**spec, "metadata": {}}})


def test_what_is_no_sharding_is_refused():
    with pytest.raises(TypeError, match="must be a sharding; got 'x'"):
        asyncio.run(files.async_deserialize("x", {}))


def test_readers_wait_until_bytes_are_free():
    order = []

    async def reader(limit, name, size, gate):
        await limit.wait_for_bytes(size)
        order.append(name)
        await gate.wait()
        await limit.release_bytes(size)
        order.append(f"{name} ends")

    async def main():
        limit, gate = files.LimitInFlightBytes(10), asyncio.Event()
        readers = [asyncio.ensure_future(reader(limit, name, 6, gate)) for name in "ab"]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert order == ["a"]
        gate.set()
        await asyncio.gather(*readers)
        with pytest.raises(ValueError, match="11 bytes are asked for; the limit is 10"):
            await limit.wait_for_bytes(11)

    asyncio.run(main())
    assert order == ["a", "a ends", "b", "b ends"]
