"""JAX documentation, parallelization: pmap, on eight devices."""

from functools import partial

import numpy as np
import pytest
from printed import prints

import weft
import weft.numpy as jnp
from weft import pmap

pytestmark = pytest.mark.devices(8)


def test_a_map_along_a_leading_axis():
    out = pmap(lambda x: x**2)(jnp.arange(8))
    prints(out, "[0, 1, 4, 9, 16, 25, 36, 49]")
    assert out.dtype == np.int32
    assert out.devices() == set(weft.local_devices()[:8])


def test_fewer_entries_than_devices():
    x = jnp.arange(3 * 2 * 2.0).reshape((3, 2, 2))
    y = jnp.arange(3 * 2 * 2.0).reshape((3, 2, 2)) ** 2
    out = pmap(jnp.dot)(x, y)
    prints(
        out,
        "[[[ 4. 9.] [ 12. 29.]] [[ 244. 345.] [ 348. 493.]] [[ 1412. 1737.] [ 1740. 2141.]]]",
    )
    assert out.shape == (3, 2, 2)
    assert len(out.devices()) == 3


def test_more_entries_than_devices():
    devices = weft.local_device_count()
    words = rf"requires {devices + 1} replicas, but only {devices} XLA devices are available"
    with pytest.raises(ValueError, match=words) as caught:
        pmap(lambda x: x**2)(jnp.arange(devices + 1))
    if devices == 8:
        assert "requires 9 replicas, but only 8 XLA devices are available" in str(caught.value)


def test_none_in_in_axes_gives_every_replica_the_whole_argument():
    x, y = jnp.arange(2.0), 4.0
    out = pmap(lambda x, y: (x + y, y * 2.0), in_axes=(0, None))(x, y)
    assert type(out) is tuple
    prints(out[0], "[4., 5.]")
    prints(out[1], "[8., 8.]")


def test_a_collective():
    f = lambda x: x / weft.lax.psum(x, axis_name="i")  # noqa: E731
    out = pmap(f, axis_name="i")(jnp.arange(4.0))
    prints(out, "[ 0. 0.16666667 0.33333334 0.5 ]")
    prints(out.sum(), "1.0")


@pytest.mark.parametrize(
    "name", ["i", 7, frozenset("x"), object()], ids=lambda name: type(name).__name__
)
def test_a_name_is_any_hashable_object(name):
    out = pmap(lambda x: x / weft.lax.psum(x, axis_name=name), axis_name=name)(jnp.arange(4.0))
    prints(out, "[ 0. 0.16666667 0.33333334 0.5 ]")


def test_collectives_over_distinct_axes():
    @partial(pmap, axis_name="rows")
    @partial(pmap, axis_name="cols")
    def normalize(x):
        row_normed = x / weft.lax.psum(x, "rows")
        col_normed = x / weft.lax.psum(x, "cols")
        doubly_normed = x / weft.lax.psum(x, ("rows", "cols"))
        return row_normed, col_normed, doubly_normed

    x = jnp.arange(8.0).reshape((4, 2))
    row_normed, col_normed, doubly_normed = normalize(x)
    prints(row_normed.sum(0), "[ 1. 1.]")
    prints(col_normed.sum(1), "[ 1. 1. 1. 1.]")
    prints(doubly_normed.sum((0, 1)), "1.0")
    plain = np.arange(8.0).reshape(4, 2)
    np.testing.assert_allclose(row_normed, plain / plain.sum(0), rtol=1e-6)
    np.testing.assert_allclose(col_normed, plain / plain.sum(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(doubly_normed, plain / plain.sum(), rtol=1e-6)


def test_devices_of_two_computations():
    devices = weft.devices()[:8]

    @partial(pmap, axis_name="i", devices=devices[:6])
    def f1(x):
        return x / weft.lax.psum(x, axis_name="i")

    @partial(pmap, axis_name="i", devices=devices[-2:])
    def f2(x):
        return weft.lax.psum(x**2, axis_name="i")

    first, second = f1(jnp.arange(6.0)), f2(jnp.array([2.0, 3.0]))
    prints(first, "[0. 0.06666667 0.13333333 0.2 0.26666667 0.33333333]")
    prints(second, "[ 13. 13.]")
    assert first.devices() == set(devices[:6])
    assert second.devices() == set(devices[-2:])


def test_the_mapped_axis_must_be_as_long_as_devices():
    f = pmap(lambda x: x + 1, devices=weft.devices()[:6])
    with pytest.raises(ValueError, match=r"devices"):
        f(jnp.arange(5.0))


def test_keywords_are_mapped_over_axis_0():
    out = pmap(lambda x, *, k: x + k, in_axes=1)(jnp.ones((2, 3)), k=jnp.arange(3.0))
    prints(out, "[[1. 1.] [2. 2.] [3. 3.]]")


def test_static_arguments_compile_again():
    seen = []

    @partial(pmap, static_broadcasted_argnums=1)
    def f(x, power):
        seen.append(power)
        return x**power

    x = jnp.arange(1.0, 4.0)
    for power in (2, 3, 2):
        np.testing.assert_allclose(f(x, power), np.arange(1.0, 4.0) ** power, rtol=1e-6)
    assert seen == [2, 3]
    with pytest.raises(ValueError, match="static_broadcasted_argnums"):
        f(x)
    with pytest.raises((TypeError, ValueError), match=r"hashable"):
        f(x, [2])


def test_donated_arguments_are_gone():
    x = weft.device_put_sharded([np.float32([i, i]) for i in range(4)], weft.devices()[:4])
    out = pmap(lambda x: x + 1, donate_argnums=0)(x)
    prints(out, "[[1. 1.] [2. 2.] [3. 3.] [4. 4.]]")
    assert x.is_deleted()


def test_results_stay_on_their_devices():
    devices = weft.local_devices()[:8]
    x = weft.device_put_sharded(list(range(8)), devices)
    y = pmap(lambda x: x * 2)(x)
    assert [shard.device for shard in y.addressable_shards] == devices
    assert [int(np.asarray(shard.data).reshape(())) for shard in y.addressable_shards] == [
        2 * i for i in range(8)
    ]
    prints(pmap(lambda x: x + 1)(y), "[1 3 5 7 9 11 13 15]")


def test_differentiate_through_the_whole_thing():
    def loss(w, x):
        return pmap(lambda w, x: jnp.tanh(w * x), in_axes=(None, 0))(w, x).sum()

    x = np.float32([0.1, -0.4, 0.7, 1.0])
    w = np.float32(0.6)
    expected = (x / np.cosh(w * x) ** 2).sum()
    np.testing.assert_allclose(weft.grad(loss)(w, x), expected, rtol=1e-5)
