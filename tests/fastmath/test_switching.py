"""The backend in use: by name, in the middle of a program, nested, and from threads."""


import pytest

from weft import fastmath
from weft.fastmath import numpy as np


def test_the_default_is_weft():
    assert fastmath.backend_name() == "jax"
    assert fastmath.is_backend(fastmath.Backend.JAX)
    assert not fastmath.is_backend(fastmath.Backend.NUMPY)
    assert type(np.ones(2)).__module__.startswith("weft")
    assert fastmath.backend()["name"] == "jax"


@pytest.mark.parametrize("use", [fastmath.use_backend, fastmath.set_backend, fastmath.backend])
def test_an_unknown_name_is_refused_with_those_that_there_are(use):
    with pytest.raises(ValueError, match="No backend with name tf: .*'numpy'") as caught:
        with use("tf") or pytest.fail("accepted"):
            pass
    assert "did you mean 'tensorflow-numpy'" in str(caught.value)
