"""scaled_matmul, scaled_dot_general, lax.scaled_dot: against definitions, dtypes, derivatives,
refusals."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import enable_x64, jit, lax, nn

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


def rounded(x, mode):
    """What is kept of [batch, rows, k], by NumPy in float64: each block by itself."""
    size = {"mxfp8": 32, "nvfp4": 16}[mode]
    found = np.zeros(x.shape)
    for place in np.ndindex(*x.shape[:2]):
        for start in range(0, x.shape[2], size):
            block = x[place][start : start + size].astype(np.float64)
            most = np.abs(block).max()
            if most == 0:
                continue
            if mode == "mxfp8":
                scale = 2.0 ** (np.floor(np.log2(most)) - 8)
                kept = np.clip(block / scale, -448, 448).astype("float8_e4m3fn")
            else:
                scale = float(np.float64(most / 6).astype("float8_e4m3fn"))
                if scale == 0:  # there is none so small
                    continue
                kept = np.clip(block / scale, -6, 6).astype("float4_e2m1fn")
            found[place][start : start + size] = kept.astype(np.float64) * scale
    return found


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_operands_are_rounded_block_by_block(mode):
    a, b = (RNG.standard_normal((2, n, 40)).astype(np.float32) for n in (3, 5))
    ct = RNG.standard_normal((2, 3, 5)).astype(np.float32)
    a[0, 0, :32] = 0
    a[1, 0] *= 1e-3
    configs = [nn.get_scaled_dot_general_config(mode)] * 3
    numbers = (((0,), (2,)), ((2,), (0,)))  # sums over an axis in front

    def product(a, b):
        a = wnp.moveaxis(a, (0, 2), (2, 0))
        return nn.scaled_dot_general(a, b, numbers, configs=configs)

    wanted = rounded(a, mode) @ rounded(b, mode).swapaxes(1, 2)
    np.testing.assert_allclose(jit(product)(a, b), wanted, rtol=1e-5, atol=1e-6)
    da, db = jit(weft.grad(lambda a, b: (product(a, b) * ct).sum(), (0, 1)))(a, b)
    turned = lambda x: x.swapaxes(1, 2)  # noqa: E731
    wanted = rounded(ct, mode) @ turned(rounded(turned(b), mode))
    np.testing.assert_allclose(da, wanted, rtol=1e-4, atol=1e-5)
    wanted = rounded(turned(ct), mode) @ turned(rounded(turned(a), mode))
    np.testing.assert_allclose(db, wanted, rtol=1e-4, atol=1e-5)


def test_global_scale_and_no_configs():
    a = RNG.standard_normal((4, 16)).astype(np.float32) * 1e5  # beyond 448 * 6
    numbers = (((1,), (1,)), ((), ()))
    config = nn.get_scaled_dot_general_config("nvfp4", np.float32([100.0]))
    found = nn.scaled_dot_general(a, a, numbers, configs=[config] * 3)
    np.testing.assert_allclose(found, a @ a.T, atol=0.2 * np.abs(a @ a.T).max())
    plain = nn.scaled_dot_general(a, a, numbers, "bfloat16")
    assert plain.dtype == "bfloat16"
    np.testing.assert_allclose(plain.astype("float32"), a @ a.T, atol=0.01 * np.abs(a @ a.T).max())


def test_scaled_dot_is_the_product_of_what_the_scales_give():
    a = RNG.integers(-3, 4, (2, 3, 8)).astype(np.float32)
    b = RNG.integers(-3, 4, (2, 8, 5)).astype(np.float32)
    sa, sb = (2.0 ** RNG.integers(-2, 3, s) for s in ((2, 3, 2), (2, 4, 5)))
    wanted = (a * np.repeat(sa, 4, 2)) @ (b * np.repeat(sb, 2, 1))
    narrow = [wnp.asarray(x).astype("float8_e4m3fn") for x in (a, b)]
    scales = [wnp.asarray(x).astype("float8_e8m0fnu") for x in (sa, sb)]
    given = dict(zip(("lhs_scale", "rhs_scale"), scales, strict=True))
    found = jit(lambda: lax.scaled_dot(*narrow, **given, preferred_element_type="float32"))()
    np.testing.assert_array_equal(found, wanted)
    assert lax.scaled_dot(*narrow).dtype == "bfloat16"
    numbers = (((2,), (1,)), ((0,), (0,)))
    same = lax.scaled_dot(*narrow, **given, dimension_numbers=numbers)
    np.testing.assert_allclose(same.astype("float32"), wanted, rtol=1e-2)


ROW = np.ones((1, 4), np.float32)
SUMS = (((1,), (1,)), ((), ()))
REFUSED = [
    (lambda: nn.get_scaled_dot_general_config("fp8"), ValueError, "'nvfp4' or 'mxfp8'"),
    (lambda: nn.get_scaled_dot_general_config("mxfp8", np.float32(1)), ValueError, "global_scale"),
    (lambda: nn.get_scaled_dot_general_config("nvfp4", ROW), weft.errors.ShapeError, "a float32"),
    (lambda: nn.scaled_dot_general(ROW, ROW, SUMS, implementation="x"), ValueError, "cudnn"),
    (lambda: nn.scaled_dot_general(ROW, ROW > 0, SUMS), weft.errors.ShapeError, "rhs"),
    (lambda: nn.scaled_dot_general(ROW, ROW, SUMS, "int8"), weft.errors.ShapeError, "preferred"),
    (lambda: nn.scaled_dot_general(ROW, ROW, SUMS, configs=[1]), TypeError, "configs"),
    (lambda: lax.scaled_dot(ROW, ROW[0]), weft.errors.ShapeError, "two matrices"),
    (lambda: lax.scaled_dot(ROW, ROW.T, lhs_scale=ROW[:, :3]), weft.errors.ShapeError, "lhs_scale"),
    (lambda: lax.scaled_dot(ROW * 1j, ROW.T), weft.errors.ShapeError, "lhs must be real"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refusals_of_rounded_products(call, error, message):
    with pytest.raises(error, match=message):
        call()
