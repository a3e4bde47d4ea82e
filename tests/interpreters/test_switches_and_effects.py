"""Interpreters where switches change between two runs, and where effects have nothing to act on."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.experimental import io_callback
from weft.primitives.arithmetic import mul
from weft.primitives.families import unary


def test_derivatives_run_on_the_tier_that_is_asked_for_now():
    """The kernels of a derivative are kept; another state of the switches needs others."""
    runs = []

    def evaluate(x):
        runs.append(x)
        return onp.exp(-x)

    def lower(block, x, out):
        return block.elementwise("exponential", (block.elementwise("negate", (x,), out),), out)

    decay = unary(
        "decay", "exp(-x)", evaluate=evaluate, stablehlo=lower, accepts="float",
        jvp=lambda dx, out, x: mul(dx, decay(mul(x, 1.0))),
    )  # fmt: skip
    x = np.array([0.5, 1.0])
    for tier in ("host", "xla", "host", "xla"):
        runs.clear()
        with weft.config.temporarily(eager_tier=tier):
            slope = weft.grad(lambda x: np.sum(decay(x)))(x)
        onp.testing.assert_allclose(slope, onp.exp(-onp.asarray(x)), rtol=1e-6)
        assert bool(runs) == (tier == "host")


def shows_tangents(x):
    io_callback(lambda v: None, None, x)
    return x * 2


def test_a_callback_that_gets_a_tangent_is_refused_in_reverse_mode_even_if_its_result_is_unused():
    x = onp.ones(2, "float32")
    with pytest.raises(TypeError, match=r"called with a tangent.*\n.*forward mode"):
        weft.linear_transpose(shows_tangents, x)(x)
    with pytest.raises(TypeError, match="called with a tangent"):
        weft.jit(lambda ct: weft.linear_transpose(shows_tangents, x)(ct))(x)


def test_the_place_of_a_nan_is_that_of_the_function_that_made_it():
    """Two functions of one program, written on two lines."""
    first = weft.jit(lambda x: np.log(x) + 1)
    second = weft.jit(lambda x: np.log(x) + 1)
    line = test_the_place_of_a_nan_is_that_of_the_function_that_made_it.__code__.co_firstlineno
    with weft.config.temporarily(debug_nans=True):
        for f, offset in [(first, 2), (second, 3), (first, 2)]:
            with pytest.raises(FloatingPointError, match=rf"\.py:{line + offset}, in"):
                f(-1.0)


def steps(x):
    """2 ** ceil(x): no value of the loop is computed from x, but how often it runs."""
    return lax.while_loop(lambda c: c[0] < x, lambda c: (c[0] + 1, c[1] * 2), (0.0, 1.0))[1]


def test_what_decides_how_often_a_loop_runs_is_no_linear_argument_of_it():
    @weft.custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda primals, tangents: (square(*primals), steps(tangents[0]) + tangents[0]))
    x = onp.float32(3)
    for transformed in (weft.grad(square), weft.jit(weft.grad(square))):
        with pytest.raises(TypeError, match="must be linear in the tangents"):
            transformed(x)
    with pytest.raises(TypeError, match="reverse-mode differentiation"):
        weft.linear_transpose(lambda x: steps(x) + x, x)(x)
