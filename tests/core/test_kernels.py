"""NumPy's warnings never leave the eager tier: overflow is infinite, as in XLA.

Warnings are errors in all tests.
"""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.core.kernels import kernel_runner, run_kernel

HUGE = onp.array([1e300, -1e300])
X = np.ones(2)

INFINITE = {
    "operator": lambda: X * 1e40,
    "operator, left": lambda: 1e41 + X,
    "power": lambda: np.power(X * 2, 1e39),
    "array": lambda: np.array(1e40),
    "array of a list": lambda: np.array([1e40, 1e300]),
    "array of NumPy's": lambda: np.array(HUGE)[:1],
    "asarray": lambda: np.asarray(onp.float64(1e300)),
    "narrow": lambda: np.asarray([1e10], "float16"),
    "narrow, of NumPy's": lambda: np.asarray(onp.ones(2) * 1e10, "float16"),
    "scalar class": lambda: np.float16(1e6),
    "float32": lambda: np.float32(1e300),
    "full": lambda: np.full(3, 1e40),
    "full_like": lambda: np.full_like(X, 1e300),
    "lax.full": lambda: lax.full((2,), 1e300, np.float32),
    "convert_element_type": lambda: lax.convert_element_type(1e300, np.float32),
    "astype": lambda: (X * 1e30).astype("float16"),
    "complex": lambda: np.asarray([1e40j]).imag,
    "jit": lambda: weft.jit(lambda v: v * 1e40)(X),
    "argument of jit": lambda: weft.jit(lambda v: v)(HUGE)[:1],
    "argument of a compiled program": lambda: sum(weft.jit(abs)(HUGE) for _ in range(3)),
    "device_put": lambda: weft.device_put(HUGE)[:1],
    "vmap": lambda: weft.vmap(lambda v: v * 1e42)(X),
    "where": lambda: np.where(X > 0, 1e40, X),
    "at": lambda: X.at[0].set(1e40)[:1],
    "pad": lambda: np.pad(X, 1, constant_values=1e300)[:1],
    # from Python 3.12 on NumPy reads the buffer, and converts by itself
    "NumPy's conversion": lambda: onp.asarray((X * 1e30).__array__("float16")),
    "arange": lambda: np.arange(0, 3e39, 1e39)[1:],
    "arange of a narrow dtype": lambda: np.arange(1e9, 3e9, 1e9, dtype="float16"),
    "linspace": lambda: np.linspace(1e39, 1e40, 3),
    "logspace": lambda: np.logspace(50, 100, 3),
    "geomspace": lambda: np.geomspace(1e50, 1e100, 3),
    "histogram": lambda: np.histogram(X, bins=onp.array([1e39, 1e40]))[1],
    "fromiter": lambda: np.fromiter([1e300], float),
    "frombuffer": lambda: np.frombuffer(HUGE.tobytes(), "float64")[:1],
    "sum": lambda: np.sum(X, initial=1e300),
    "a parameter": lambda: (
        1 / np.nan_to_num(weft.random.uniform(weft.random.PRNGKey(0), (2,), minval=-1e300), nan=0.0)
    ),
}


@pytest.mark.parametrize("name", INFINITE)
def test_overflow_is_infinite_and_silent(name):
    for _ in range(2):
        assert onp.isinf(onp.asarray(INFINITE[name]())).all()


@pytest.mark.devices(2)
def test_on_several_devices():
    mesh = weft.make_mesh((2,), ("i",), devices=weft.devices()[:2])
    where = weft.sharding.NamedSharding(mesh, weft.sharding.PartitionSpec("i"))
    assert onp.isinf(weft.device_put(HUGE, where)).all()
    assert onp.isinf(weft.jit(lambda x: x, in_shardings=where)(HUGE)).all()


def test_numpys_own_warnings_stay_outside():
    np.array(1e41)
    with pytest.warns(RuntimeWarning, match="overflow"):
        onp.float32(1) * onp.float32(1e38) * onp.float32(1e38)


def test_in_the_midst_of_a_kernel():
    inner = lambda: run_kernel(lambda: float(np.array(1e43)))  # noqa: E731
    assert kernel_runner()(inner) == onp.inf
    with pytest.raises(RuntimeError, match="its own"):
        run_kernel(_fails)


def _fails():
    raise RuntimeError("its own")
