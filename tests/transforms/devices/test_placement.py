"""Where operations run when there are several devices."""

import numpy as np
import pytest

import weft
import weft.numpy as jnp
from weft import device_put, lax

pytestmark = pytest.mark.devices(3)

DEVICES = weft.devices()
ONE, TWO = (DEVICES * 3)[1:3]  # where there are fewer than three, tests are skipped
FREE = jnp.arange(3.0)
ON_ONE = device_put(np.float32([1.0, 2.0, 3.0]), ONE)
ON_TWO = device_put(np.float32([1.0, 2.0, 3.0]), TWO)
CLASH = r"committed to different devices: .* to cpu:([12]), .* to cpu:(?!\1)[12]"


def there(x, device, committed=True):
    """Fails unless an array is on a device."""
    assert x.devices() == {device}
    assert x.device is device
    assert x.committed is committed
    return True


def test_one_process_has_all_of_them():
    assert len(DEVICES) == weft.device_count() == weft.local_device_count() >= 3
    assert weft.local_devices(0) == weft.local_devices(process_index=0) == DEVICES
    assert weft.local_devices(host_id=0) == DEVICES
    assert weft.local_devices(backend="cpu") == weft.devices("cpu")
    assert [d.process_index for d in DEVICES] == [weft.process_index()] * len(DEVICES)


def test_device_put_commits():
    there(ON_ONE, ONE)
    there(FREE, DEVICES[0], committed=False)
    there(device_put(ON_ONE, TWO), TWO)
    tree = device_put({"a": (1, FREE), "b": [ON_TWO, None]}, ONE)
    assert all(there(x, ONE) for x in weft.tree_util.tree_leaves(tree))
    np.testing.assert_array_equal(tree["b"][0], ON_TWO)


def test_device_put_without_a_device_leaves_arrays_where_they_are():
    there(device_put(ON_ONE), ONE)
    there(device_put(FREE), DEVICES[0], committed=False)
    there(device_put(np.ones(2)), DEVICES[0], committed=False)


OPERATIONS = {
    "operator": lambda x, y: x + y,
    "two outputs": lambda x, y: jnp.divmod(x, y + 1)[0],
    "NumPy function": lambda x, y: jnp.where(x > 0, y, x),
    "concatenation": lambda x, y: jnp.concatenate([x, y]),
    "update": lambda x, y: jnp.asarray(x).at[0].set(y[0]),
    "jit": weft.jit(lambda x, y: x * y),
    "vmap": weft.vmap(lambda x, y: x * y),
    "scan": lambda x, y: lax.scan(lambda c, z: (c + z, z), y[0], x)[0],
    "cond": lambda x, y: lax.cond(True, lambda x, y: x + y, lambda x, y: x, x, y),
    "jvp": lambda x, y: weft.jvp(jnp.multiply, (x, y), (y, y))[1],
    "grad": lambda x, y: weft.grad(lambda x: jnp.sum(x * x * y))(x),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_computation_follows_committed_arrays(operation):
    expected = operation(np.float32([1.0, 2.0, 3.0]), np.arange(3, dtype="f"))
    for _ in range(3):  # compiled functions take another way the second time
        out = operation(ON_ONE, FREE)
        there(out, ONE)
        np.testing.assert_allclose(out, expected, rtol=1e-6)
    there(operation(FREE, FREE), DEVICES[0], committed=False)
    there(operation(FREE, ON_TWO), TWO)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_arrays_committed_to_different_devices_dont_meet(operation):
    with pytest.raises(ValueError, match=CLASH) as caught:
        operation(ON_ONE, ON_TWO)
    assert "device_put" in str(caught.value)
    assert "float32[3] (argument" in str(caught.value)


def test_an_argument_that_nothing_needs_decides_nothing():
    there(weft.jit(lambda x, y: x * 2)(ON_ONE, ON_TWO), ONE)
    there(weft.jit(lambda x, y: x)(ON_ONE, ON_TWO), ONE)


def test_constants_that_a_function_closes_over_decide_nothing():
    there(weft.jit(lambda x: x * ON_ONE)(ON_TWO), TWO)
    there(weft.jit(lambda x: x * ON_ONE)(FREE), DEVICES[0], committed=False)


def test_results_can_be_read():
    assert np.asarray(ON_ONE + 1).tolist() == [2, 3, 4]
    assert float(ON_ONE.sum()) == 6
    assert weft.device_get({"x": ON_ONE * 2})["x"].tolist() == [2, 4, 6]


# --- jit's options ---


@pytest.mark.parametrize("x", [FREE, ON_ONE, ON_TWO, np.arange(3.0)], ids=type)
def test_jit_for_a_device(x):
    f = weft.jit(lambda x: (x * 2, x, 3.0), device=TWO)
    for _ in range(3):
        double, same, constant = f(x)
        there(double, TWO)
        there(same, TWO)
        there(constant, TWO)
        np.testing.assert_array_equal(double, 2 * np.asarray(x, "f"))
    compiled = f.lower(x).compile()
    there(compiled(x)[0], TWO)


def test_jit_for_a_platform():
    there(weft.jit(lambda x: x * 2, backend="cpu")(FREE), DEVICES[0])


def test_jit_for_a_device_inside_other_transformations():
    f = weft.jit(lambda x: jnp.sum(x * x), device=TWO)
    there(weft.jit(lambda x: f(x) + 1)(FREE), TWO)
    there(weft.jit(lambda x: f(x) + 1)(ON_ONE), TWO)
    there(weft.grad(f)(FREE), TWO)
    there(weft.jit(weft.grad(lambda x: f(x) * 2))(FREE), TWO)
    there(weft.vmap(f)(FREE), TWO)
    there(weft.jvp(f, (FREE,), (FREE,))[1], TWO)
    there(lax.scan(lambda c, x: (c + f(x), c), 0.0, FREE)[0], TWO)
    np.testing.assert_allclose(weft.grad(f)(FREE), [0, 2, 4])


def test_one_program_runs_on_one_device():
    f = weft.jit(lambda x: x * 2, device=ONE)
    g = weft.jit(lambda x: x + 1, device=TWO)
    with pytest.raises(ValueError, match=r"jit: .* one device.*cpu:[12].*cpu:[12]"):
        weft.jit(lambda x: f(x) + g(x))(FREE)
    with pytest.raises(ValueError, match=r"is to run on cpu:2.*function that it calls on cpu:1"):
        weft.jit(lambda x: f(x), device=TWO)(FREE)


def test_donation_where_the_device_is_given():
    f = weft.jit(lambda x: x + 1, device=TWO, donate_argnums=0)
    for x in (jnp.arange(3.0), device_put(np.float32([0, 1, 2]), TWO), device_put(FREE, ONE)):
        assert f(x).tolist() == [1, 2, 3]
        assert x.is_deleted()


def test_compiling_ahead_for_where_the_arguments_are():
    f = weft.jit(lambda x: x * 2)
    compiled = f.lower(ON_ONE).compile()
    assert compiled.runtime_executable().device is ONE
    there(compiled(ON_ONE), ONE)
    there(compiled(ON_TWO), TWO)
    there(compiled(FREE), DEVICES[0], committed=False)


# --- moving inside transformations ---


def moves(x):
    return jnp.sum(device_put(x * x, TWO) ** 2)


def test_derivatives_move_with_the_data_and_back():
    expected = 4 * np.float32([1, 2, 3]) ** 3
    there(moves(ON_ONE), TWO)
    gradient = weft.grad(moves)(ON_ONE)
    there(gradient, ONE)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    there(weft.jvp(moves, (ON_ONE,), (ON_ONE,))[1], TWO)
    there(weft.hessian(moves)(ON_ONE), ONE)
    mapped = weft.vmap(weft.grad(moves))(ON_ONE)
    there(mapped, ONE)
    np.testing.assert_allclose(mapped, expected, rtol=1e-6)
    there(weft.grad(weft.checkpoint(moves))(ON_ONE), ONE)


def test_a_compiled_program_stays_where_it_is():
    there(weft.jit(moves)(ON_ONE), ONE)
    gradient = weft.jit(weft.grad(moves))(ON_ONE)
    there(gradient, ONE)
    np.testing.assert_allclose(gradient, 4 * np.float32([1, 2, 3]) ** 3, rtol=1e-6)


def test_random_numbers_follow_their_key():
    draw = lambda key: weft.random.randint(key, (3,), 0, 1000)  # noqa: E731
    key = weft.random.PRNGKey(0)
    there(draw(device_put(key, ONE)), ONE)
    np.testing.assert_array_equal(draw(device_put(key, ONE)), draw(key))
