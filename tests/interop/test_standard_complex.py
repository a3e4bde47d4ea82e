"""The array API standard's special cases of complex functions, 2024.12, at all infinite, NaN, zero
and finite parts: its rules as rows, with the symmetries and the relations that it states."""

import cmath
import itertools
import math

import numpy as onp
import pytest

import weft
import weft.numpy as np

inf, nan = math.inf, math.nan
PARTS = (inf, -inf, nan, 0.0, -0.0, 1.0, -1.0, 1.5, -2.0)
GRID = [complex(a, b) for a, b in itertools.product(PARTS, PARTS)]

# Rows: real part, imaginary part -> both parts of the result. Sets of numbers: i, -i and n are
# the infinities and NaN; f are finite ones, p positive ones of them, x those but zeros, z both
# zeros, nz all but zeros, ii both infinities. ± before a result leaves its sign open.
RULES = {
    "acos": """z 0 pi/2 -0; z n pi/2 n; f i pi/2 -i; x n n n; -i p pi -i; i p 0 -i; -i i 3pi/4 -i;
        i i pi/4 -i; ii n n ±i; n f n n; n i n -i; n n n n""",
    "acosh": """z 0 0 pi/2; f i i pi/2; x n n n; 0 n n ±pi/2; -i p i pi; i p i 0; -i i i 3pi/4;
        i i i pi/4; ii n i n; n f n n; n i i n; n n n n""",
    "asinh": """0 0 0 0; p i i pi/2; f n n n; i p i 0; i i i pi/4; n 0 n 0; n x n n; n i ±i n;
        n n n n""",
    "atanh": """0 0 0 0; 0 n 0 n; 1 0 i 0; p i 0 pi/2; x n n n; i p 0 pi/2; i i 0 pi/2; i n 0 n;
        n f n n; n i ±0 pi/2; n n n n""",
    "cosh": """0 0 1 0; 0 i n ±0; 0 n n ±0; x i n n; x n n n; i 0 i 0; i x i*cos i*sin; i i ±i n;
        i n i n; n z n ±0; n x n n; n n n n""",
    "exp": """z 0 1 0; f i n n; f n n n; i 0 i 0; -i f 0*cos 0*sin; i x i*cos i*sin; -i i ±0 ±0;
        i i ±i n; -i n ±0 ±0; i n ±i n; n 0 n 0; n nz n n; n n n n""",
    "expm1": """z 0 ±0 0; f i n n; f n n n; i 0 i 0; -i f -1 0*sin; i x i*cos i*sin; -i i -1 ±0;
        i i ±i n; -i n -1 ±0; i n ±i n; n 0 n 0; n nz n n; n n n n""",
    "log": """-0 0 -i pi; 0 0 -i 0; f i i pi/2; f n n n; -i p i pi; i p i 0; -i i i 3pi/4;
        i i i pi/4; ii n i n; n f n n; n i i n; n n n n""",
    "log1p": """-1 0 -i 0; f i i pi/2; f n n n; -i p i pi; i p i 0; -i i i 3pi/4; i i i pi/4;
        ii n i n; n f n n; n i i n; n n n n""",
    "sinh": """0 0 0 0; 0 i ±0 n; 0 n ±0 n; p i n n; p n n n; i 0 i 0; i p i*cos i*sin; i i ±i n;
        i n ±i n; n 0 n 0; n x n n; n n n n""",
    # The lines for a positive b and an infinite a are each other's there; these are C's.
    "sqrt": """z 0 0 0; any i i i; f n n n; -i p 0 i; i p i 0; -i n n ±i; i n i n; n any n n""",
    # C's sign of the zero beside 1 is that of sin(2b); the standard has +0.
    "tanh": """0 0 0 0; x i n n; 0 i 0 n; x n n n; 0 n 0 n; i p 1 ±0; i i 1 ±0; i n 1 ±0; n 0 n 0;
        n nz n n; n n n n""",
}
ODD = ("asinh", "atanh", "sinh", "tanh")
BY_RELATION = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh", "cos": "cosh"}
OF_LOG = {"log2": math.log(2), "log10": math.log(10)}

SETS = {
    "any": lambda v: True,
    "f": math.isfinite,
    "i": lambda v: v == inf,
    "-i": lambda v: v == -inf,
    "ii": math.isinf,
    "n": math.isnan,
    "nz": lambda v: v != 0,
    "p": lambda v: 0 < v < inf,
    "x": lambda v: math.isfinite(v) and v != 0,
    "z": lambda v: v == 0,
    "0": lambda v: v == 0 and not signed(v),
    "-0": lambda v: v == 0 and signed(v),
    "1": lambda v: v == 1,
    "-1": lambda v: v == -1,
}
NUMBERS = {"i": inf, "n": nan, "pi": math.pi, "pi/2": math.pi / 2, "pi/4": math.pi / 4} | {
    "3pi/4": 3 * math.pi / 4, "0": 0.0, "1": 1.0
}  # fmt: skip
WAVES = {"cos": math.cos, "sin": math.sin}


def signed(v):
    return math.copysign(1, v) < 0


def number(word, b):
    """A part of a result, and if its sign is told."""
    factor, _, wave = word.removeprefix("±").partition("*")
    value = math.copysign(NUMBERS[factor.removeprefix("-")], -1 if factor[0] == "-" else 1)
    return (value * WAVES[wave](b) if wave else value), word[0] != "±"


def rule(name, a, b):
    """Both parts of the result at a + bj as numbers with signs told or not; None: nothing said."""
    if name in BY_RELATION:
        found = rule(BY_RELATION[name], -b, a)
        if found is None or name == "cos":
            return found
        (re, re_told), (im, im_told) = found
        return (im, im_told), (-re, re_told)
    if name in OF_LOG:
        found = rule("log", a, b)
        return found and tuple((v / OF_LOG[name], told) for v, told in found)
    flip = name in (*ODD, "cosh") and signed(a)
    if flip:
        a, b = -a, -b
    conjugate = signed(b)
    b = abs(b)
    for row in RULES[name].split(";"):
        of_a, of_b, re, im = row.split()
        if SETS[of_a](a) and SETS[of_b](b):
            (re, re_told), (im, im_told) = number(re, b), number(im, b)
            im = -im if conjugate else im
            if flip and name in ODD:
                re, im = -re, -im
            return (re, re_told), (im, im_told)
    return None


def same(found, wanted, told):
    if math.isnan(wanted):
        return math.isnan(found)
    if not told:
        found, wanted = abs(found), abs(wanted)
    return math.isclose(found, wanted, rel_tol=1e-6) and signed(found) == signed(wanted)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", [*RULES, *BY_RELATION, *OF_LOG])
def test_special_cases_of_complex_functions(name, dtype):
    function = getattr(np, name)
    rules = [(z, rule(name, z.real, z.imag)) for z in GRID]
    assert sum(r is not None for _, r in rules) > 30
    with weft.enable_x64():
        z = np.asarray(GRID, dtype)
        for results in (function(z), weft.jit(function)(z)):
            assert results.dtype == dtype
            for (at, wanted), found in zip(rules, onp.asarray(results).tolist(), strict=True):
                if wanted:
                    (re, re_told), (im, im_told) = wanted
                    good = same(found.real, re, re_told) and same(found.imag, im, im_told)
                    assert good, f"{name}({at}) is {found}, not {wanted}"


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_kinds_and_absolute_values(dtype):
    finite = [cmath.isfinite(z) for z in GRID]
    with weft.enable_x64():
        z = np.asarray(GRID, dtype)
        for wrap in (lambda f: f, weft.jit):
            assert wrap(np.isfinite)(z).tolist() == finite
            assert wrap(np.isinf)(z).tolist() == [cmath.isinf(v) for v in GRID]
            assert wrap(np.isnan)(z).tolist() == [cmath.isnan(v) for v in GRID]
            wanted = [
                inf if cmath.isinf(v) else nan if cmath.isnan(v) else math.hypot(v.real, v.imag)
                for v in GRID
            ]
            onp.testing.assert_allclose(wrap(np.abs)(z), wanted, 1e-6)
            unequal = [[cmath.isnan(v) or cmath.isnan(w) or v != w for w in GRID] for v in GRID]
            assert wrap(np.not_equal)(z[:, None], z).tolist() == unequal
            assert (~wrap(np.equal)(z[:, None], z)).tolist() == unequal
