"""Compiled functions of complex numbers at zeros, infinities, NaN and on branch cuts: as in C99,
Annex G.6, which NumPy follows; `expm1` as in the array API standard."""

import numpy as np
import pytest

import weft
from weft import numpy as wnp

PARTS = np.array([-np.inf, -3.0, -0.0, 0.0, 0.7, np.inf, np.nan])
NAMES = (
    "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin",
    "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
)  # fmt: skip


def grid(dtype):
    z = np.empty(PARTS.size**2, dtype)
    z.real, z.imag = np.repeat(PARTS, PARTS.size), np.tile(PARTS, PARTS.size)
    return z


def expected(name, z):
    """NumPy's values; its expm1 has NaN where the standard has none."""
    with np.errstate(all="ignore"):
        if name != "expm1":
            return getattr(np, name)(z)
        out, power = np.expm1(z), np.exp(z)
        astray = ~(np.isfinite(z.real) & np.isfinite(z.imag))
        out.real = np.where(astray, power.real - 1, out.real)
        out.imag = np.where(astray, power.imag, out.imag)
        return out


def wrong(got, wanted):
    """True where results differ, signs of zeros included; but for signs beside a NaN."""
    open_sign = np.isnan(wanted.real) | np.isnan(wanted.imag)
    off = np.zeros(got.shape, bool)
    for a, b in ((got.real, wanted.real), (got.imag, wanted.imag)):
        alike = (np.isnan(a) & np.isnan(b)) | (open_sign & (np.abs(a) == np.abs(b)))
        equal = (a == b) & (np.signbit(a) == np.signbit(b))
        with np.errstate(invalid="ignore"):
            near = (np.abs(a - b) <= 1e-5 * np.abs(b)) & (b != 0) & np.isfinite(b)
        off |= ~(alike | equal | near)
    return off


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_special_values(dtype):
    with weft.enable_x64(dtype == "complex128"):
        z = grid(dtype)
        outs = weft.jit(lambda z: [getattr(wnp, name)(z) for name in NAMES])(z)
        for name, out in zip(NAMES, outs, strict=True):
            wanted = expected(name, z)
            for got in (np.asarray(out), np.asarray(getattr(wnp, name)(wnp.array(z)))):
                off = wrong(got, wanted)
                assert not off.any(), (name, z[off], got[off], wanted[off])
