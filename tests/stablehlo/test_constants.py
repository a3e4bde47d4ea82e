"""Constants of compiled programs: exact, and told apart where they only compare as equal."""

import re

import ml_dtypes
import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.primitives.elementwise import unary

ZEROS = {
    "alternating": onp.array([0.0, -0.0, 0.0, -0.0], "float32"),
    "the last": onp.array([0.0, 0.0, 0.0, -0.0], "float32"),
    "the first": onp.array([-0.0, 0.0, 0.0], "float64"),
    "half": onp.array([0.0, -0.0], "float16"),
    "bfloat16": onp.array([0.0, -0.0], ml_dtypes.bfloat16),
    "all alike": onp.array([-0.0, -0.0], "float32"),
}


@pytest.mark.parametrize("name", [name for name in ZEROS if name != "all alike"])
def test_zeros_of_both_signs_in_an_array_stay_what_they_are(name):
    """In the text of a computation, which has the arrays that a function closes over."""
    with weft.config.temporarily(enable_x64=True):
        constant = np.asarray(ZEROS[name])
        text = weft.xla_computation(lambda x: x + constant)(constant).as_hlo_text()
    (written,) = re.findall(r"constant\(\{?([^{})]*)\}?\)", text)
    signs = [part.strip().startswith("-") for part in written.split(",")]
    assert signs == onp.signbit(ZEROS[name]).tolist()


@pytest.mark.parametrize("name", ZEROS)
def test_a_compiled_function_adds_the_zeros_that_it_closes_over(name):
    """-0 + 0 is 0, and -0 + -0 is -0."""
    with weft.config.temporarily(enable_x64=True):
        constant = np.asarray(ZEROS[name])
        got = weft.jit(lambda x: x + constant)(-np.zeros_like(constant))
    onp.testing.assert_array_equal(onp.signbit(onp.asarray(got)), onp.signbit(ZEROS[name]))


def plus(block, x, out):
    return block.elementwise("divide", (x, block.full(0.0, out)), out)


def minus(block, x, out):
    return block.elementwise("divide", (x, block.full(-0.0, out)), out)


over_zero = unary(
    "over_zero", "x / 0.", evaluate=lambda x: onp.divide(x, x.dtype.type(0)), stablehlo=plus,
    accepts="float",
)  # fmt: skip
over_minus_zero = unary(
    "over_minus_zero", "x / -0.", evaluate=lambda x: onp.divide(x, x.dtype.type(-0.0)),
    stablehlo=minus, accepts="float",
)  # fmt: skip


def test_lowering_rules_that_ask_for_zero_and_for_minus_zero_get_both():
    x = np.array([1.0, -2.0])
    first, second = weft.jit(lambda x: (over_zero(x), over_minus_zero(x)))(x)
    onp.testing.assert_array_equal(first, [onp.inf, -onp.inf])
    onp.testing.assert_array_equal(second, [-onp.inf, onp.inf])
