"""The samples of Trax's documentation of `fastmath`."""

import numpy as onp
import pytest

from weft import fastmath
from weft.fastmath import numpy as np


@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_use_like_numpy(backend):
    with fastmath.use_backend(backend):
        x = np.array([1.0, 2.0])  # Use like numpy.
        y = np.exp(x)  # Common numpy ops are available and accelerated.
        z = fastmath.logsumexp(y)  # Special operations available from fastmath.
    onp.testing.assert_allclose(y, onp.exp([1.0, 2.0]), rtol=1e-6)
    onp.testing.assert_allclose(z, onp.log(onp.sum(onp.exp(onp.exp([1.0, 2.0])))), rtol=1e-6)


def test_the_semantics_of_fori_loop():
    def fori_loop(lower, upper, body_fn, init_val):
        val = init_val
        for i in range(lower, upper):
            val = body_fn(i, val)
        return val

    def body(i, a):
        return a * 2 + i

    assert int(fastmath.fori_loop(2, 7, body, 1)) == fori_loop(2, 7, body, 1) == 120
    assert int(fastmath.fori_loop(7, 2, body, 1)) == 1
