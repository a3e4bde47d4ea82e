"""reciprocal, sign and prod of infinite complex numbers, eager and compiled."""

import itertools

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.config import eager_tier

inf, nan = onp.inf, onp.nan
PARTS = (inf, -inf, 0.0, -0.0, nan, 1.5, -2.0)
Z = onp.array([complex(a, b) for a, b in itertools.product(PARTS, PARTS)])


def expected(name):
    with onp.errstate(all="ignore"):
        out = getattr(onp, name)(Z)
    if name == "sign":  # the array API standard: NaN, if a part is
        out[onp.isnan(Z.real) | onp.isnan(Z.imag)] = complex(nan, nan)
    return out


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_values_are_numpys(dtype):
    with weft.enable_x64(dtype == "complex128"):
        z = Z.astype(dtype)
        compiled = weft.jit(lambda z: (np.reciprocal(z), np.sign(z)))(z)
        with eager_tier("host"):
            eager = np.reciprocal(np.array(z)), np.sign(np.array(z))
    for found in (compiled, eager):
        for name, out in zip(("reciprocal", "sign"), found, strict=True):
            assert out.dtype == dtype
            wanted = expected(name)
            for part in ("real", "imag"):
                got, exact = onp.real(getattr(onp.asarray(out), part)), getattr(wanted, part)
                onp.testing.assert_allclose(got, exact, rtol=1e-6, err_msg=name)
                if name == "reciprocal":
                    zero = exact == 0
                    onp.testing.assert_array_equal(onp.signbit(got[zero]), onp.signbit(exact[zero]))


def test_derivative_of_a_reciprocal():
    z = onp.complex64(0.4 - 1.5j)
    for f in (np.reciprocal, weft.jit(np.reciprocal)):
        slope = weft.grad(f, holomorphic=True)(z)
        onp.testing.assert_allclose(slope, -1 / z**2, rtol=1e-6)


@pytest.mark.parametrize("tier", ["host", "xla"])
def test_a_product_of_one_number_is_the_number(tier):
    z = Z.astype("complex64")
    with eager_tier(tier):
        for found in (np.prod(z[:, None], axis=1), lax.reduce_prod(z, ())):
            onp.testing.assert_array_equal(onp.asarray(found), z)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("flipped", [False, True])
def test_running_results_begin_with_the_number_itself(name, flipped):
    rows = onp.stack([Z, onp.roll(Z, 5), onp.roll(Z, 11)], 1).astype("complex64")
    with onp.errstate(all="ignore"):
        wanted = getattr(onp, name)(rows, axis=1)
    onp.testing.assert_array_equal(wanted[:, 0], rows[:, 0])
    if flipped:
        of = lambda x: getattr(lax, name)(x[::-1], 0, reverse=True)[::-1]  # noqa: E731
    else:
        of = getattr(np, name)
    with eager_tier("host"):
        eager = onp.stack([of(np.array(row)) for row in rows[:9]])
    compiled = weft.jit(of)
    for found in (
        eager,
        onp.stack([compiled(row) for row in rows[:9]]),
        weft.vmap(of)(rows),
        weft.jit(weft.vmap(of))(rows),
    ):
        found = onp.asarray(found)
        onp.testing.assert_array_equal(found.real, wanted.real[: len(found)])
        onp.testing.assert_array_equal(found.imag, wanted.imag[: len(found)])


def test_signs_of_zeros_are_kept():
    z = onp.array([complex(a, b) for a in (0.0, -0.0) for b in (0.0, -0.0)], "complex64")
    for f in (np.sign, weft.jit(np.sign)):
        out = onp.asarray(f(np.array(z)))
        assert out.tobytes() == z.tobytes()
