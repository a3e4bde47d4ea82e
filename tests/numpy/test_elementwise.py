"""Elementwise functions against NumPy: dtypes, promotion, special values, derivatives."""

import ml_dtypes
import numpy as onp
import pytest
from agreement import agree, assert_close, assert_gradient

import weft
import weft.numpy as np

RNG = onp.random.default_rng(0)
REAL = RNG.uniform(-2, 2, (3, 4)).astype(onp.float32)
OTHER = RNG.uniform(0.5, 2, (4,)).astype(onp.float32)
INTS = onp.array([[-7, -1, 0, 3], [5, 2, -4, 9]], onp.int32)
DIVISORS = onp.array([3, -2, 4, -5], onp.int32)
BYTES = onp.array([0, 1, 7, 200], onp.uint8)
FLAGS = onp.array([True, False, True, True])
COMPLEX = (RNG.standard_normal(4) + 1j * RNG.standard_normal(4)).astype(onp.complex64)
HALF = REAL.astype(onp.float16)
SPECIAL = onp.array([onp.nan, onp.inf, -onp.inf, 0.0, -0.0, 1.5, -2.5, 1e18, -1e-18], onp.float32)

EVERYWHERE = [
    "sin",
    "cos",
    "tan",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "exp",
    "expm1",
    "exp2",
    "cbrt",
    "square",
    "fabs",
    "rint",
    "trunc",
    "floor",
    "ceil",
    "sign",
    "negative",
    "positive",
    "absolute",
    "deg2rad",
    "rad2deg",
    "sinc",
    "signbit",
    "isnan",
    "isinf",
    "isfinite",
    "isposinf",
    "isneginf",
    "logical_not",
    "real",
    "conj",
    "isreal",
    "iscomplex",
]
POSITIVE = ["log", "log2", "log10", "log1p", "sqrt", "reciprocal", "i0"]
UNIT = ["arcsin", "arccos", "arctanh"]
OF_COMPLEX = [
    "sin",
    "cos",
    "exp",
    "log",
    "sqrt",
    "square",
    "negative",
    "conj",
    "real",
    "imag",
    "angle",
    "absolute",
    "isnan",
    "isfinite",
    "tanh",
    "reciprocal",
    "isreal",
    "iscomplex",
    "sinh",
    "cosh",
    "arctan",
    "arcsinh",
    "log1p",
    "expm1",
    "sign",
]


@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.parametrize("x", [REAL, HALF, SPECIAL], ids=["float32", "float16", "special"])
def test_functions_of_reals(name, x):
    agree(name, x)


@pytest.mark.parametrize("name", POSITIVE)
def test_functions_of_positive_numbers(name):
    agree(name, OTHER)


@pytest.mark.parametrize("name", UNIT)
def test_functions_of_the_unit_interval(name):
    agree(name, REAL / 2.1)


def test_arccosh():
    agree("arccosh", OTHER + 1)


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_functions_of_complex_numbers(name):
    agree(name, COMPLEX)


@pytest.mark.parametrize("name", ["sin", "sqrt", "exp", "square", "floor", "sign", "isnan", "fabs"])
@pytest.mark.parametrize("x", [BYTES % 16, INTS[0] ** 2 % 40], ids=["uint8", "int32"])
def test_functions_of_integers_give_float32_or_keep_the_dtype(name, x):
    result = agree(name, x, oracle=lambda x: getattr(onp, name)(x.astype(onp.int64)))
    assert result.dtype in (onp.float32, x.dtype, onp.bool_)


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "arctan2",
        "hypot",
        "logaddexp",
        "logaddexp2",
        "copysign",
        "power",
        "floor_divide",
        "remainder",
        "fmod",
        "float_power",
        "heaviside",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "equal",
        "not_equal",
        "logical_and",
        "logical_or",
        "logical_xor",
        "isclose",
    ],
)
@pytest.mark.parametrize(
    ("x", "y"),
    [(abs(REAL), OTHER), (abs(HALF), OTHER.astype(onp.float16)), (abs(INTS), DIVISORS**2)],
    ids=["float32", "float16", "int32"],
)
def test_functions_of_two_operands(name, x, y):
    agree(name, x, y, tolerance=6e-3 if x.dtype == onp.float16 else None)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "divmod"])
@pytest.mark.parametrize("x", [INTS, INTS.astype(onp.float32), INTS.astype(onp.int8)])
def test_division_with_remainder_has_pythons_signs(name, x):
    agree(name, x, DIVISORS.astype(x.dtype))


@pytest.mark.parametrize(
    "name", ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"]
)
def test_functions_of_integers(name):
    agree(name, INTS, abs(DIVISORS))
    agree(name, BYTES, onp.array([1, 2, 3, 4], onp.uint8))


def test_bits():
    agree("invert", INTS)
    agree("invert", FLAGS)
    agree("bitwise_count", INTS)
    agree("packbits", INTS > 0, axis=1)
    agree("packbits", FLAGS, bitorder="little")
    agree("unpackbits", BYTES)
    agree("unpackbits", BYTES[:, None], axis=1, count=5)


def test_parts_of_floats():
    agree("frexp", SPECIAL[3:])
    agree("modf", REAL)
    agree("ldexp", REAL, INTS[0])
    far = onp.array([-140, 130, 0, 3], onp.int32)  # to subnormal numbers and infinities
    agree(
        "ldexp", REAL, far, oracle=lambda x, e: onp.ldexp(x.astype(onp.float32), e), compiled=False
    )
    assert onp.array_equal(np.nextafter(REAL, OTHER), onp.nextafter(REAL, OTHER))
    agree("signbit", SPECIAL)
    assert onp.array_equal(np.spacing(abs(OTHER)), onp.spacing(OTHER))
    agree("nan_to_num", SPECIAL, nan=7.0, posinf=1.0, neginf=-1.0)
    assert np.nan_to_num(SPECIAL)[1] == onp.finfo(onp.float32).max


@pytest.mark.parametrize("decimals", [0, 1, 3, -1])
def test_round(decimals):
    agree("round", REAL * 33, decimals=decimals)
    agree("round", COMPLEX, decimals=decimals)


def test_clip():
    agree("clip", REAL, -0.5, 0.5)
    agree("clip", INTS, 0, 4)
    assert_close(np.clip(REAL, max=OTHER), onp.minimum(REAL, OTHER))
    assert np.clip(INTS, 0.5, 2.5).dtype == onp.float32
    large = onp.random.default_rng(0).standard_normal((250, 400)).astype("float32")
    large[0, :4] = onp.nan, onp.inf, -onp.inf, -0.0
    for low, high in ((-0.5, 1), (0.25, -0.25), (-onp.inf, 0.1), (onp.nan, 1.0), (-(10**30), 0.5)):
        for _ in range(3):  # by NumPy's own from the second time on
            agree("clip", large, low, high)


@pytest.mark.parametrize(
    ("x", "y", "dtype", "weak"),
    [
        (INTS[0], REAL[0], "float32", False),
        (BYTES, INTS[0], "int32", False),
        (HALF[0], INTS[0], "float16", False),
        (HALF[0], REAL[0], "float32", False),
        (HALF[0], HALF[0].astype(ml_dtypes.bfloat16), "float32", False),
        (FLAGS, BYTES, "uint8", False),
        (FLAGS, FLAGS, "bool", False),
        (HALF[0], 2.5, "float16", False),
        (BYTES, 2, "uint8", False),
        (INTS[0], 2.5, "float32", True),
        (FLAGS, 2, "int32", True),
        (INTS[0], 1j, "complex64", True),
        (2.5, BYTES, "float32", True),
    ],
)
def test_promotion_of_two_operands(x, y, dtype, weak):
    x, y = (np.asarray(v) if isinstance(v, onp.ndarray) else v for v in (x, y))
    for _ in range(3):  # by the general way, and from plans
        result = np.add(x, y)
        assert (result.dtype.name, result.weak_type) == (dtype, weak)
    traced = weft.jit(np.add)(x, y)
    assert traced.dtype.name == dtype


def test_scalars_that_do_not_fit_are_refused():
    with pytest.raises(OverflowError, match="300 does not fit uint8"):
        np.add(np.asarray(BYTES), 300)


def test_zero_and_minus_zero_are_different_scalars():
    one = np.ones(2)
    for _ in range(3):
        assert onp.signbit(onp.asarray(np.copysign(one, -0.0))).all()
        assert not onp.signbit(onp.asarray(np.copysign(one, 0.0))).any()
        assert onp.signbit(onp.asarray(one * -0.0)).all()
        assert not onp.signbit(onp.asarray(one * 0.0)).any()


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        *[
            (n, -1.5, 1.5)
            for n in [
                "sin",
                "cos",
                "tan",
                "arctan",
                "sinh",
                "cosh",
                "tanh",
                "arcsinh",
                "exp",
                "expm1",
                "exp2",
                "square",
                "sinc",
            ]
        ],
        *[
            (n, 0.5, 2.0)
            for n in [
                "log",
                "log2",
                "log10",
                "log1p",
                "sqrt",
                "cbrt",
                "reciprocal",
                "i0",
                "absolute",
            ]
        ],
        *[(n, -0.8, 0.8) for n in UNIT],
        ("arccosh", 1.5, 3.0),
    ],
)
def test_gradients_of_one_operand(name, low, high):
    assert_gradient(getattr(np, name), RNG.uniform(low, high, 5))


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "arctan2",
        "hypot",
        "logaddexp",
        "logaddexp2",
        "power",
        "remainder",
    ],
)
def test_gradients_of_two_operands(name):
    assert_gradient(getattr(np, name), RNG.uniform(0.5, 2, (2, 3)), RNG.uniform(2.2, 4, 3))


def test_sinc_has_the_right_second_derivative_at_zero():
    second = weft.grad(weft.grad(np.sinc))
    assert_close(second(0.0), onp.float32(-(onp.pi**2) / 3), 1e-4)


def test_logaddexp_at_infinities():
    inf = onp.inf
    x = onp.array([inf, -inf, inf, -inf], onp.float32)
    y = onp.array([inf, -inf, 1.0, 1.0], onp.float32)
    agree("logaddexp", x, y)
    assert not onp.isnan(weft.grad(lambda a: np.logaddexp(a, -inf))(-inf))


def test_logaddexp_where_both_are_alike_and_at_nan():
    for f, scale in ((np.logaddexp, 1.0), (np.logaddexp2, onp.log(2))):
        hessian = weft.hessian(lambda v: f(v[0], v[1]))  # noqa: B023
        assert weft.grad(f, (0, 1))(2.0, 2.0) == (0.5, 0.5)
        assert_close(hessian(onp.float32([1, 1])), onp.float32([[1, -1], [-1, 1]]) * scale / 4)
        assert onp.isnan(weft.grad(f)(onp.nan, 1.0))
        assert weft.grad(f)(1000.0, -onp.inf) == 1.0
    pair = onp.array([1 + 1j, 1 + 1j], onp.complex64)
    gradient = weft.grad(lambda z: np.logaddexp(z[0], z[1]).real)(pair)
    assert_close(gradient, onp.array([0.5, 0.5], onp.complex64))


def test_i0_is_smooth_at_zero():
    slope, bend = weft.grad(np.i0), weft.grad(weft.grad(np.i0))
    assert (slope(0.0), bend(0.0)) == (0.0, 0.5)  # I1(0), (I0(0) + I2(0)) / 2
    x = onp.linspace(-1, 1, 41, dtype=onp.float32)
    agree("i0", x, tolerance=1e-5)
    assert_gradient(np.i0, onp.delete(x, [10, 30]))  # not where its two forms meet


def test_derivatives_of_division_into_whole_and_rest():
    x, y = onp.float32([3.0, -3.0, 0.0, 5.0, onp.inf]), onp.float32([0.0, 0.0, 0.0, 2.0, 1.0])
    for place in (0, 1):
        steps = weft.grad(lambda *xy: np.floor_divide(*xy).sum(), place)(x, y)
        assert steps.tolist() == [0.0] * 5
    assert weft.grad(lambda x: np.divmod(x, 2.0)[1])(5.0) == 1.0


def test_the_mantissa_has_a_derivative():
    x = onp.float32([3.3, -0.2, 1e-30, 3e38])
    _, exponents = onp.frexp(x)
    slopes = weft.vmap(weft.grad(lambda x: np.frexp(x)[0]))(x)
    assert_close(slopes, onp.ldexp(onp.float32(1), -exponents))


def test_sinc_far_out_has_a_gradient():
    far = onp.float32([1e30, -1e30])
    assert (abs(weft.grad(lambda x: np.sinc(x).sum())(far)) < 1e-29).all()


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 2.0, 0.5, -1.5])
def test_power_of_a_python_number(exponent):
    agree("power", OTHER, exponent)
    assert_gradient(lambda x: x**exponent, OTHER)


def test_integer_powers():
    agree("power", INTS, 3)
    agree("power", INTS, abs(DIVISORS))
    with pytest.raises(TypeError, match="no negative powers"):
        np.power(np.asarray(INTS), -1)


def test_lists_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"sin: expected .* got a list\n  fix: .*np.array"):
        np.sin([1.0, 2.0])
    with pytest.raises(TypeError, match=r"add: expected .* x2; got a list"):
        np.add(np.ones(2), [1.0, 2.0])


def test_shapes_that_do_not_broadcast():
    with pytest.raises(TypeError, match="don't broadcast") as caught:
        np.add(np.ones(2), np.ones(3))
    assert "test_elementwise.py" in "".join(caught.value.__notes__)


def test_rank_promotion_can_be_refused():
    with weft.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="different ranks"):
        np.add(np.ones((2, 3)), np.ones(3))
