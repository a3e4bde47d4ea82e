"""Constants of compiled programs: exact, and told apart where they only compare as equal."""

import ml_dtypes
import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.primitives.families import unary

ZEROS = {
    "alternating": onp.array([0.0, -0.0, 0.0, -0.0], "float32"),
    "one of them": onp.array([[0.0, 0.0], [0.0, -0.0]], "float32"),
    "first of them": onp.array([-0.0, 0.0, 0.0], "float64"),
    "half": onp.array([0.0, -0.0], "float16"),
    "bfloat16": onp.array([0.0, -0.0], ml_dtypes.bfloat16),
    "complex": onp.array([complex(0.0, -0.0), complex(0.0, 0.0)], "complex64"),
}


def bits(x):
    return onp.asarray(x).view("uint8").tolist()


@pytest.mark.parametrize("name", ZEROS)
def test_zeros_of_both_signs_in_an_array_stay_what_they_are(name):
    with weft.config.temporarily(enable_x64=True):
        constant = np.asarray(ZEROS[name])
        got = weft.jit(lambda i: lax.dynamic_slice_in_dim(constant, i, len(constant)))(0)
        assert bits(got) == bits(ZEROS[name])


def test_nans_keep_their_bits():
    payload = onp.array([0x7FC00001, 0x7FC00002, 0xFFC00000], "uint32")
    constant = np.asarray(payload.view("float32"))
    got = weft.jit(lambda i: lax.dynamic_slice_in_dim(constant, i, 3))(0)
    onp.testing.assert_array_equal(onp.asarray(got).view("uint32"), payload)


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
