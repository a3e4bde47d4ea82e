"""Makes arrays over the devices of two processes, in all ways, and computes with them."""

import re

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.experimental import multihost_utils
from weft.experimental.prefetch import prefetch_to_device
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P

weft.distributed.initialize()
rank = weft.process_index()
assert (weft.process_count(), weft.local_device_count()) == (2, 4)
whole = onp.arange(64, dtype=onp.float32).reshape(16, 4)
row = Mesh(weft.devices(), "d")
grid = Mesh(onp.array(weft.devices()).reshape(4, 2), ("a", "b"))
# the first axis is divided within processes, and the second one between them
turned = Mesh(onp.array(weft.devices()).reshape(2, 4).T, ("a", "b"))


def fails(call, *texts):
    """Calls a function, which must raise a ValueError that says this."""
    with pytest.raises(ValueError, match="(?s)" + ".*".join(map(re.escape, texts))):
        call()


def whole_of(x):
    """The elements of all processes, which have been checked to agree where both have them."""
    return multihost_utils.process_allgather(x)


for sharding, mine in [
    (NamedSharding(row, P("d")), onp.s_[8 * rank : 8 * rank + 8]),
    (NamedSharding(row, P(None)), onp.s_[:]),
    (NamedSharding(grid, P("a", "b")), onp.s_[8 * rank : 8 * rank + 8]),
    (NamedSharding(grid, P("b", "a")), onp.s_[:, 2 * rank : 2 * rank + 2]),
    (NamedSharding(grid, P(("a", "b"))), onp.s_[8 * rank : 8 * rank + 8]),
    (NamedSharding(grid, P("b")), onp.s_[:]),
    (NamedSharding(turned, P("a", "b")), onp.s_[:, 2 * rank : 2 * rank + 2]),
    (NamedSharding(turned, P("b", "a")), onp.s_[8 * rank : 8 * rank + 8]),
]:
    local = whole[mine].copy()
    made = {
        "device_put": weft.device_put(whole, sharding),
        "parts": weft.make_array_from_process_local_data(sharding, local),
        "parts, said": weft.make_array_from_process_local_data(sharding, local, whole.shape),
        "whole": weft.make_array_from_process_local_data(sharding, whole, whole.shape),
        "callback": weft.make_array_from_callback(whole.shape, sharding, lambda i: whole[i]),
        "devices": weft.make_array_from_single_device_arrays(
            whole.shape,
            sharding,
            [
                weft.device_put(whole[index], device)
                for device, index in reversed(sharding.devices_indices_map(whole.shape).items())
                if device in sharding.addressable_devices
            ],
        ),
    }
    local[:] = -1  # too late to matter
    indices = sharding.devices_indices_map(whole.shape)
    for name, x in made.items():
        assert x.shape == whole.shape, name
        assert x.sharding == sharding, name
        assert not x.is_fully_addressable
        assert {s.device for s in x.addressable_shards} == set(weft.local_devices())
        for shard in x.addressable_shards:
            assert shard.index == indices[shard.device]
            onp.testing.assert_array_equal(shard.data, whole[shard.index], name)
    x, y = made["parts"], made["callback"]
    if sharding.is_fully_replicated:
        onp.testing.assert_array_equal(x, whole)
    else:
        fails(x.__array__, "several processes", "addressable_shards", "process_allgather")
        assert repr(x) == str(x) == "Array(shape=(16, 4), dtype=float32)"
    onp.testing.assert_array_equal(whole_of(x), whole)
    onp.testing.assert_array_equal(whole_of(x + y), 2 * whole)
    onp.testing.assert_array_equal(whole_of(x[3:5, ::2] * 2), 2 * whole[3:5, ::2])
    assert float(np.sum(x)) == whole.sum()
    total, product = weft.jit(lambda x, y: (np.sum(x), x @ y.T))(x, y)
    assert float(total) == whole.sum()
    onp.testing.assert_allclose(whole_of(product), whole @ whole.T)
    gradient = weft.jit(weft.grad(lambda x: np.sum(x**3)))(x)
    onp.testing.assert_allclose(whole_of(gradient), 3 * whole**2)
    for other in [NamedSharding(row, P(None)), NamedSharding(grid, P("b", "a"))]:
        there = weft.device_put(x, other)
        assert there.sharding == other
        onp.testing.assert_array_equal(whole_of(there), whole)
    everywhere = weft.jit(lambda x: x + 1, out_shardings=NamedSharding(row, P()))(x)
    onp.testing.assert_array_equal(onp.asarray(everywhere), whole + 1)

divided = NamedSharding(row, P("d"))
fails(lambda: weft.make_array_from_process_local_data(divided, whole[:5], (16, 4)),
      "length 5 along axis 0; expected 8, the part of this process, or 16")  # fmt: skip
fails(lambda: weft.make_array_from_process_local_data(divided, whole[:5]), "[10,4]", "multiple")
others = NamedSharding(Mesh(weft.local_devices(1 - rank), "d"), P("d"))
fails(lambda: weft.make_array_from_process_local_data(others, whole), "no device of this process")
away = weft.local_devices(1 - rank)[0]
for call in [
    lambda: weft.device_put(whole, others),
    lambda: weft.device_put(whole, away),
    lambda: weft.jit(lambda x: x + 1, device=away)(whole),
    lambda: weft.jit(lambda: np.sin(1.0) + np.ones(3), device=away)(),
]:
    fails(call, str(away), "expected a device of this process, number", "fix: local_devices()")

# what pmap gives belongs to this process; a map over all devices takes an array that is there
own = weft.pmap(lambda x: x + lax.psum(x, "i"), axis_name="i")(onp.arange(4.0) + 4 * rank)
assert own.is_fully_addressable
onp.testing.assert_array_equal(own, onp.arange(4) + 4 * rank + 28)
summed = weft.shard_map(lambda x: lax.psum(x, "d"), mesh=row, in_specs=P("d"), out_specs=P())(
    weft.device_put(whole, divided)
)
onp.testing.assert_array_equal(summed, whole.reshape(8, 2, 4).sum(0))


# input: each process reads its part
def parts():
    for i in range(5):
        yield weft.make_array_from_process_local_data(divided, whole[8 * rank : 8 * rank + 8] + i)


for i, batch in enumerate(prefetch_to_device(parts())):
    assert float(np.sum(batch)) == whole.sum() + 64 * i

# many in flight: over all processes, over this one's devices, on one of them; in the same order
total = weft.jit(lambda x: np.sum(x, axis=0), out_shardings=NamedSharding(row, P()))
inner = weft.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=weft.local_devices())
x = weft.device_put(whole, divided)
outs = []
for i in range(60):
    outs.append((total(x), whole.sum(0)))
    for _ in range((i + rank) % 3):
        outs.append((inner(whole[:4] * i), onp.tile(whole[:4].sum(0) * i, (4, 1))))
    outs.append((total(x * i), whole.sum(0) * i))
for out, expected in outs:
    onp.testing.assert_allclose(out, expected)
print("done")
