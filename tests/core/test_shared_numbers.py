"""Arrays that are kept for Python numbers, and for a program's constants, are never given away."""

import operator

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.core.array import as_value, is_shared, unshared

NUMBERS = [3, 2.5, True, 1.5 - 2j, -0.0]


pytestmark = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")

same = weft.jit(lambda y: y, donate_argnums=0)
next_and_same = weft.jit(lambda y: (y + 1, y), donate_argnums=0)
following = weft.jit(lambda y: y + 1, donate_argnums=0)
added = weft.jit(lambda x: x + 1)
times_one = weft.jit(lambda x: x * 1)


def destroy_by_delete(x):
    x.delete()


def destroy_by_donation(x):
    same(x)
    next_and_same(x)


def destroy_by_repeated_donation(x):
    # the third call of a signature takes the short way
    following(following(following(np.zeros_like(x))))
    following(x)


def destroy_ahead_of_time(x):
    following.lower(x).compile()(x)


GIVERS = {
    "the number": lambda number: number,
    "device_put": weft.device_put,
    "device_put to a device": lambda number: weft.device_put(number, weft.devices()[0]),
    "array": np.array,
    "asarray": np.asarray,
    "positive": np.positive,
    "jit of the identity": weft.jit(lambda x: x),
    "eager identity": lambda number: weft.vjp(lambda x: x, number)[0],
    "real": np.real,
    "full": lambda number: lax.full((), number),
}


def whole(number):
    """Checks that programs, compiled and eager, still have the number."""
    for value in (
        times_one(number),
        weft.jit(lambda: np.zeros(()) + number)(),
        np.asarray(number) * 1,
        np.add(number, 0),
        as_value(number),
    ):
        assert complex(value) == number


@pytest.mark.parametrize(
    "destroy",
    [destroy_by_delete, destroy_by_donation, destroy_by_repeated_donation, destroy_ahead_of_time],
)
@pytest.mark.parametrize("giver", GIVERS)
def test_a_number_outlives_what_was_made_of_it(destroy, giver):
    number = 2.5
    given = GIVERS[giver](number)
    if destroy is destroy_by_delete:
        given = weft.device_put(given)
    added(given)  # so that it has a buffer
    destroy(given)
    whole(number)


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_every_kind_of_number_can_be_donated_again_and_again(number):
    step = weft.jit(lambda i, x: (i + 1, x), donate_argnums=0)
    for _ in range(3):
        assert complex(step(number, np.ones(2))[0]) == number + 1
    whole(number)


def test_a_training_loop_counts_from_a_literal():
    step = weft.jit(lambda i, x: (i + 1, x * 2.0), donate_argnums=(0, 1))
    i, x = 0, np.ones(3)
    for _ in range(4):
        i, x = step(i, x)
    assert int(i) == 4
    assert np.arange(2).tolist() == [0, 1]
    assert x.tolist() == [16.0] * 3


def test_one_number_may_be_donated_twice():
    f = weft.jit(operator.add, donate_argnums=(0, 1))
    assert [int(f(2, 2)) for _ in range(3)] == [4] * 3
    whole(2)


def test_a_deleted_copy_of_a_number_says_so():
    x = weft.device_put(6.5)
    x.delete()
    assert x.is_deleted()
    whole(6.5)


def test_unshared_copies_shared_arrays_only():
    kept, other = as_value(4.5), np.asarray(4.5)
    assert is_shared(kept)
    assert not is_shared(unshared(kept))
    assert unshared(kept).weak_type
    assert unshared(other) is other


def test_the_elements_of_a_kept_array_cannot_be_written_to():
    shared = as_value(8.5).host()
    assert not shared.flags.writeable
    copied = onp.from_dlpack(np.positive(8.5))
    if copied.flags.writeable:
        copied[...] = 1
    whole(8.5)


@pytest.mark.parametrize("large", [False, True])
def test_constants_of_a_program_outlive_its_results(large):
    closed = np.arange(3.0) if not large else weft.jit(lambda: np.arange(3.0) * 1)()
    f = weft.jit(lambda x: (x + 1, closed, np.array([1.0, 2.0]), 3.0))
    donating = weft.jit(lambda tree: tree, donate_argnums=0)
    for _ in range(3):
        outs = f(1.0)
        assert [onp.asarray(o).tolist() for o in outs] == [2.0, [0, 1, 2], [1, 2], 3.0]
        donating(outs)
        [out.delete() for out in f(1.0)]
    assert closed.tolist() == [0, 1, 2]


@pytest.mark.devices(2)
def test_a_number_donated_to_several_devices_stays():
    two = weft.devices()[:2]
    f = weft.pmap(lambda i, x: (i + 1, x), in_axes=(None, 0), donate_argnums=(0, 1), devices=two)
    for _ in range(2):
        f(5, np.ones((2, 1)))
    whole(5)
    mesh = weft.make_mesh((2,), ("i",), devices=two)
    everywhere = weft.sharding.NamedSharding(mesh, weft.sharding.PartitionSpec())
    x = weft.device_put(5.5, everywhere)
    g = weft.jit(lambda i: i + 1, donate_argnums=0, in_shardings=everywhere)
    g(5.5), g(5.5), g(x)
    x.delete()
    whole(5.5)


@pytest.mark.devices(2)
def test_constants_on_several_devices_outlive_results():
    mesh = weft.make_mesh((2,), ("i",), devices=weft.devices()[:2])
    where = weft.sharding.NamedSharding(mesh, weft.sharding.PartitionSpec("i"))
    closed = weft.device_put(np.arange(4.0), where)
    f = weft.jit(lambda x: (x + closed, closed))
    for _ in range(2):
        out = f(1.0)[1]
        assert out.tolist() == [0, 1, 2, 3]
        assert out.sharding == where
        out.delete()
    assert closed.tolist() == [0, 1, 2, 3]
