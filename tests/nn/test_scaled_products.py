"""scaled_matmul: against the definition, dtypes, derivatives, refusals."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import enable_x64, jit, nn

RNG = np.random.default_rng(0)


def oracle(a, b, a_scales, b_scales):
    a, b, a_scales, b_scales = (np.asarray(x, np.float64) for x in (a, b, a_scales, b_scales))
    a = a * np.repeat(a_scales, a.shape[-1] // a_scales.shape[-1], -1)
    b = b * np.repeat(b_scales, b.shape[-1] // b_scales.shape[-1], -1)
    return np.einsum("bmk,bnk->bmn", a, b)


@pytest.mark.parametrize(
    ("dtype", "scales"),
    [("float8_e4m3fn", "float8_e5m2"), ("int8", "float32"),
     ("bfloat16", "bfloat16")],
)  # fmt: skip
def test_blocks_are_scaled(dtype, scales):
    a, b = (np.asarray(wnp.array(RNG.integers(-3, 4, (2, n, 8)), dtype)) for n in (3, 5))
    sa = np.asarray(wnp.array(2.0 ** RNG.integers(-2, 3, (2, 3, 4)), scales))
    sb = np.asarray(wnp.array(2.0 ** RNG.integers(-2, 3, (2, 5, 2)), scales))
    for run in (lambda f: f, jit):
        got = run(nn.scaled_matmul)(a, b, sa, sb)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, oracle(a, b, sa, sb), rtol=1e-6)
    assert nn.scaled_matmul(a, b, sa, sb, "bfloat16").dtype.name == "bfloat16"


def test_float64_is_computed_in_it():
    a, b, s = RNG.standard_normal((1, 3, 4)), RNG.standard_normal((1, 5, 4)), np.ones((1, 5, 2))
    with enable_x64(True):
        got = nn.scaled_matmul(a, b, s[:, :3], s, np.float64)
    np.testing.assert_allclose(got, oracle(a, b, s[:, :3], s), rtol=1e-12)


def test_derivatives_reach_scales():
    a, b = RNG.standard_normal((2, 1, 3, 4)).astype(np.float32)
    s = np.ones((1, 3, 2), np.float32)
    g = weft.grad(lambda s: nn.scaled_matmul(a, b, s, s).sum())(s)
    h = 1e-3
    for place in [(0, 0, 0), (0, 2, 1)]:
        step = np.zeros_like(s)
        step[place] = h
        slope = (oracle(a, b, s + step, s + step) - oracle(a, b, s - step, s - step)).sum() / 2 / h
        assert g[place].item() == pytest.approx(slope, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize(
    ("shapes", "part"),
    [
        (((1, 2, 4), (1, 3, 5), (1, 2, 1), (1, 3, 1)), "lhs"),
        (((1, 2, 4), (2, 3, 4), (1, 2, 1), (1, 3, 1)), "rhs"),
        (((1, 2, 4), (1, 3, 4), (1, 2, 3), (1, 3, 1)), "lhs_scales"),
        (((1, 2, 4), (1, 3, 4), (1, 2, 1), (1, 2, 1)), "rhs_scales"),
        (((2, 4), (1, 3, 4), (1, 2, 1), (1, 3, 1)), "three axes"),
    ],
)
def test_refusals(shapes, part):
    with pytest.raises(TypeError, match=part):
        nn.scaled_matmul(*[np.ones(s, np.float32) for s in shapes])
