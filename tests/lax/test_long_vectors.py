"""Compiled functions of thousands of elements, which XLA computes in vectors, against NumPy."""

import numpy as np
import pytest

import weft
from weft import lax

COUNT = 4099  # more than fits into vectors, with a rest
DOMAINS = {
    (-20.0, 20.0): ("abs", "asinh", "atan", "cbrt", "ceil", "cos", "erf", "erfc", "exp", "exp2",
                    "expm1", "floor", "logistic", "neg", "sign", "sin", "sinh", "cosh", "square",
                    "tanh", "bessel_i0e", "bessel_i1e"),
    (-0.999, 0.999): ("acos", "asin", "atanh", "erf_inv", "tan"),
    (0.01, 50.0): ("digamma", "lgamma", "log", "log1p", "reciprocal", "rsqrt", "sqrt"),
    (1.01, 50.0): ("acosh",),
}  # fmt: skip


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(
    ("name", "domain"), [(n, domain) for domain, names in DOMAINS.items() for n in names]
)
def test_long_vectors(name, domain, bits):
    x = np.random.default_rng(0).uniform(*domain, COUNT).astype(f"float{bits}")
    function = getattr(lax, name)
    with weft.enable_x64(bits == 64):
        with weft.config.temporarily(eager_tier="host"):
            expected = np.asarray(function(weft.numpy.array(x)))
        got = np.asarray(weft.jit(function)(x))
    assert got.dtype == x.dtype
    eps = np.finfo(x.dtype).eps
    np.testing.assert_allclose(got, expected, rtol=40 * eps, atol=40 * eps)
