"""The backends that this process tests: `jax` and `numpy`; in the process that
`test_tensorflow.py` starts, `tensorflow-numpy` alone, as loading TensorFlow takes seconds."""

import os
import warnings

import pytest

HERE = os.environ.get("FASTMATH_BACKENDS", "jax numpy").split()

if "tensorflow-numpy" in HERE:
    collect_ignore = ["test_tensorflow.py", "test_switching.py"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TensorFlow's own, on other libraries
        import tensorflow as tf

    # Two devices, for maps over them.
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


def pytest_generate_tests(metafunc):
    """A test that takes `backend` runs on each of this process; `trained`: that has derivatives."""
    for name, backends in (("backend", HERE), ("trained", [b for b in HERE if b != "numpy"])):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, backends, indirect=True)


@pytest.fixture
def backend(request):
    """The name of the backend in use."""
    from weft import fastmath

    with fastmath.use_backend(request.param):
        yield request.param


trained = backend
