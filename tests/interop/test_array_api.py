"""The array API namespace, as array-api-compat, -extra, SciPy and scikit-learn use it."""

import os
import subprocess
import sys

import array_api_compat
import array_api_extra
import numpy as onp
import pytest

import weft
import weft.numpy as np

X = onp.array([[3.0, 1.0], [2.0, 4.0]], "float32")
INFO = np.__array_namespace_info__()


def test_the_namespace_is_found():
    x = np.asarray(X)
    assert array_api_compat.array_namespace(x, x) is np
    assert array_api_compat.is_array_api_obj(x)
    assert x.__array_namespace__(api_version=np.__array_api_version__) is np
    with pytest.raises(ValueError, match="unknown version"):
        x.__array_namespace__(api_version="1999.12")
    weft.jit(lambda t: array_api_compat.array_namespace(t).sum(t))(x)


def test_devices():
    x = np.asarray(X)
    assert array_api_compat.device(x) is INFO.default_device()
    for device in INFO.devices():
        moved = array_api_compat.to_device(x, device)
        assert moved.device is device
        assert x.to_device(device, stream=None).devices() == {device}
    assert np.ones(2, device=INFO.default_device()).device is INFO.default_device()
    with pytest.raises(ValueError, match="stream must be None"):
        x.to_device(INFO.default_device(), stream=1)


KINDS = {
    "bool": ["bool"],
    "signed integer": ["int8", "int16", "int32"],
    "unsigned integer": ["uint8", "uint16", "uint32"],
    "real floating": ["float32"],
    "complex floating": ["complex64"],
    ("bool", "complex floating"): ["bool", "complex64"],
}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_dtypes_of_a_kind(kind):
    found = INFO.dtypes(kind=kind)
    assert list(found) == KINDS[kind]
    assert all(getattr(np, name) == dtype for name, dtype in found.items())
    with weft.enable_x64():
        assert len(INFO.dtypes(kind=kind)) == len(onp.__array_namespace_info__().dtypes(kind=kind))


@pytest.mark.parametrize("x64", [False, True])
def test_default_dtypes_are_those_of_new_arrays(x64):
    with weft.enable_x64(x64):
        assert INFO.default_dtypes() == {
            "real floating": np.asarray(1.0).dtype,
            "complex floating": np.asarray(1j).dtype,
            "integral": np.asarray(1).dtype,
            "indexing": np.argmax(np.ones(2)).dtype,
        }


def test_capabilities_depend_on_where_they_are_asked_for():
    seen = []
    weft.jit(lambda x: seen.append(INFO.capabilities()) or x)(1.0)
    for capabilities, now in ((INFO.capabilities(), True), (seen[0], False)):
        assert capabilities["boolean indexing"] is capabilities["data-dependent shapes"] is now
        assert capabilities["max dimensions"] == 64


EXTRA = {
    "atleast_nd": lambda xp, x: array_api_extra.atleast_nd(x, ndim=3),
    "cov": lambda xp, x: array_api_extra.cov(x),
    "kron": lambda xp, x: array_api_extra.kron(x, x),
    "nunique": lambda xp, x: onp.asarray(array_api_extra.nunique(x)),
    "one_hot": lambda xp, x: array_api_extra.one_hot(xp.asarray([0, 2]), 3),
    "setdiff1d": lambda xp, x: array_api_extra.setdiff1d(x, x[:1]),
    "sinc": lambda xp, x: array_api_extra.sinc(x),
    "argpartition": lambda xp, x: array_api_extra.partition(x, 1),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", EXTRA)
def test_array_api_extra(name):
    f = EXTRA[name]
    onp.testing.assert_allclose(f(np, np.asarray(X)), f(onp, X), rtol=1e-5, atol=1e-6)


SCIPY = """
import numpy as onp, scipy.special, scipy.stats, scipy.signal
import weft, weft.numpy as np
x = onp.array([0.2, 0.5, 0.7, 0.1], "float32")
for f in (scipy.special.expit, scipy.special.logit, scipy.special.softmax, scipy.special.entr,
          scipy.stats.gmean, scipy.stats.skew, scipy.stats.kurtosis, scipy.stats.sem,
          scipy.stats.entropy, scipy.signal.detrend):
    y = f(np.asarray(x))
    assert isinstance(y, weft.Array), f
    onp.testing.assert_allclose(y, f(x), rtol=1e-4, atol=1e-5, err_msg=str(f))
import sklearn
from sklearn.metrics import accuracy_score, mean_absolute_error, mean_squared_error
with sklearn.config_context(array_api_dispatch=True):
    ours = np.asarray(x)
    assert abs(mean_squared_error(ours, ours + 2) - 4) < 1e-5
    assert abs(mean_absolute_error(ours, ours + 2) - 2) < 1e-5
    assert accuracy_score(ours > 0.3, ours > 0.6) == 0.75
print("done")
"""


def test_scipy_and_scikit_learn_compute_with_arrays():
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}  # read when they are imported
    done = subprocess.run(
        [sys.executable, "-c", SCIPY], env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == "done", done.stderr
