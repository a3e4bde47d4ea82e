"""Interpreters where switches change between two runs, and where effects have nothing to act on."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.experimental import io_callback
from weft.primitives.elementwise import unary


def test_a_linear_map_runs_on_the_tier_that_is_asked_for_when_it_is_called():
    """Its kernels are kept; those for another state of the switches are others."""
    runs = []

    def evaluate(x):
        runs.append(x)
        return x / 2

    def lower(block, x, out):
        return block.elementwise("divide", (x, block.full(2, out)), out)

    half = unary(
        "half", "x / 2", evaluate=evaluate, stablehlo=lower, accepts="float",
        jvp=lambda dx, out, x: half(dx),
    )  # fmt: skip
    half.transpose(lambda ct, x: (half(ct),))
    x = np.array([0.5, 1.0])
    _, push = weft.linearize(half, x)
    _, pull = weft.vjp(half, x)
    for tier in ("host", "xla", "host", "xla"):
        for linear_map in (push, lambda t: pull(t)[0]):
            runs.clear()
            with weft.config.temporarily(eager_tier=tier):
                onp.testing.assert_array_equal(linear_map(x), [0.25, 0.5])
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


def test_the_place_of_a_nan_is_that_of_the_body_that_made_it():
    """Bodies of one program and one name, written on two lines."""
    first = lambda c, x: (c + np.log(x), None)  # noqa: E731
    second = lambda c, x: (c + np.log(x), None)  # noqa: E731
    with weft.config.temporarily(debug_nans=True):
        for body in (first, second, first):
            line = body.__code__.co_firstlineno
            with pytest.raises(FloatingPointError, match=rf"\.py:{line}, in"):
                weft.jit(lambda xs: lax.scan(body, 0.0, xs))(-np.ones(3))  # noqa: B023


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


def test_a_switch_that_is_turned_on_while_a_function_is_traced_stays_on_after_it():
    x = np.asarray(-1.0)

    def turns_it_on(x):
        weft.config.update("debug_nans", True)
        return x

    try:
        for transform, argument in ((weft.jit, x), (weft.grad, x), (weft.vmap, x[None])):
            weft.config.update("debug_nans", False)
            transform(turns_it_on)(argument)
            with pytest.raises(FloatingPointError, match="log: made a NaN"):
                np.log(x)
    finally:
        weft.config.update("debug_nans", False)
    assert onp.isnan(np.log(x))
