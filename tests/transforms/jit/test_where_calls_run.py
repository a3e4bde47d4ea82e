"""Calls of one jitted function with arguments here and there, again and again."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax

pytestmark = pytest.mark.devices(2)

X = onp.float32([1, 2, 3])


def on(number, x=X):
    return weft.device_put(x, weft.devices()[number])


computed = weft.jit(lambda x: x + 0)  # in the memory of a device


def place(x):
    """The number of the device that an array is committed to; None if it may be anywhere."""
    try:
        results = [(x + on(number, onp.float32(0))).device for number in (0, 1)]
    except ValueError:  # committed to different devices
        return weft.devices().index(x.device)
    assert results == weft.devices()[:2]
    return None


def test_results_are_where_arguments_are_committed_to():
    f = weft.jit(lambda x: (x * 2, x))
    for _ in range(3):
        for number in (1, 0):
            for y in f(on(number)):
                assert y.device is weft.devices()[number]
                assert place(y) == number
        for y in f(X):
            assert place(y) is None


def test_the_default_device_commits_no_result():
    f = weft.jit(lambda x: x * 2)
    for _ in range(3):
        assert place(f(on(1))) == 1
        with weft.default_device(weft.devices()[1]):
            y = f(np.asarray(X))
        assert y.device is weft.devices()[1]
        assert place(y) is None


def test_the_default_device_commits_no_result_of_an_operation():
    with weft.config.temporarily(eager_tier="xla"):
        for _ in range(2):
            assert place(np.sin(on(1))) == 1
            with weft.default_device(weft.devices()[1]):
                y = np.sin(np.asarray(X))
            assert y.device is weft.devices()[1]
            assert place(y) is None


def test_a_device_that_was_named_has_all_results():
    f = weft.jit(lambda x, y: (x, y + 1, 3.0), device=weft.devices()[1])
    for _ in range(3):
        for x in (X, on(0), on(1)):
            assert [place(y) for y in f(x, X)] == [1, 1, 1]


def test_arguments_that_clash_are_named_by_their_numbers():
    f = weft.jit(lambda a, b, c, d: a + b + c + d)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"\(argument 1\) to .*\(argument 3\) to "):
            f(X, on(1), X, on(0))
        with pytest.raises(ValueError, match=r"\(argument 0\) to .*\(argument 2\) to "):
            f(on(0), on(0), on(1), X)


def test_one_function_with_several_options():
    f = lambda x, unused: x + 1  # noqa: E731
    plain, giving = weft.jit(f), weft.jit(f, donate_argnums=0)
    there, keeping = weft.jit(f, device=weft.devices()[1]), weft.jit(f, keep_unused=True)
    for _ in range(3):
        x, y = np.dot(np.eye(3), X), on(0)
        onp.testing.assert_array_equal(plain(x, y), X + 1)
        assert place(plain(x, y)) is None
        assert place(keeping(x, y)) == 0
        assert place(there(x, y)) == 1
        assert not x.is_deleted()
        onp.testing.assert_array_equal(giving(x, y), X + 1)
        assert x.is_deleted()
        assert not y.is_deleted()


@pytest.mark.parametrize("looks", [onp.asarray, lambda x: x], ids=["looked at", "not"])
def test_a_donated_array_is_gone_and_others_stay(looks):
    f = weft.jit(lambda unused, x, y: (x + 1, y * 2), donate_argnums=1)
    for i in range(4):
        unused, x, y = computed(X), computed(X), computed(X + i)
        looks(x)
        one, two = f(unused, x, y)
        onp.testing.assert_array_equal(one, X + 1)
        onp.testing.assert_array_equal(two, 2 * (X + i))
        assert [a.is_deleted() for a in (unused, x, y)] == [False, True, False]
        onp.testing.assert_array_equal(unused + y, X + X + i)


def test_switches_decide_on_the_program_of_every_call():
    f = weft.jit(lambda x: np.sum(x) + np.arange(2).sum() / 2)
    for x64 in (False, True, False, True, False):
        with weft.enable_x64(x64):
            assert f(np.asarray([1, 2], "int32")).dtype == ("float64" if x64 else "float32")


def aligned(x):
    """A copy in memory that XLA could use as it is."""
    memory = onp.empty(x.nbytes + 64, "uint8")
    start = -memory.ctypes.data % 64
    copy = memory[start : start + x.nbytes].view(x.dtype)
    copy[:] = x
    return copy


def test_a_numpy_array_may_be_written_to_while_the_device_is_busy():
    f = weft.jit(lambda x, late: x + late)
    busy = weft.jit(lambda x: lax.fori_loop(0, 30, lambda i, m: np.tanh(m @ m), x).sum() * 0)
    work = np.asarray(onp.eye(200, dtype="float32"))
    for i in range(4):
        x = aligned(onp.arange(1024, dtype="float32") + i)
        result = f(x, busy(work))
        x[:] = -1
        onp.testing.assert_array_equal(result, onp.arange(1024) + i)


def test_operations_with_numbers_stay_where_the_array_is():
    """Their plans are those of arrays that may be anywhere, which came first."""
    x = onp.arange(7, dtype="float32")
    for _ in range(4):
        for y in (np.asarray(x), on(0, x), on(1, x)):
            results = (y + 1.0, 1.0 - y, y * 2, np.add(y, 1), np.add(1, y), -y, y**2, y > 1)
            assert {place(z) for z in results} == {place(y)}
