"""Activation functions: values by formula in float64, gradients at kinks, extremes, dtypes."""

import math

import numpy as onp
import pytest
import scipy.special

import weft.layers as tl
from weft import fastmath, shapes
from weft.fastmath import numpy as jnp

LINE = onp.concatenate([onp.linspace(-4, 4, 33), [-30.0, 30.0, -1e-3, 1e-3]]).astype("float32")


def glu(x):
    a, b = onp.split(x, 2, -1)
    return a / (1 + onp.exp(-b))


# layer, its formula
FORMULAS = {
    "Relu": (tl.Relu, lambda x: onp.maximum(x, 0)),
    "ParametricRelu": (lambda: tl.ParametricRelu(2.5), lambda x: onp.maximum(2.5 * x, 0)),
    "LeakyRelu": (lambda: tl.LeakyRelu(0.2), lambda x: onp.where(x > 0, x, 0.2 * x)),
    "Elu": (lambda: tl.Elu(1.5), lambda x: onp.where(x > 0, x, 1.5 * (onp.exp(x) - 1))),
    "Selu": (tl.Selu, lambda x: 1.0507009873554805 * onp.where(
        x > 0, x, 1.6732632423543772 * (onp.exp(x) - 1))),
    "Gelu": (tl.Gelu, lambda x: x / 2 * (1 + scipy.special.erf(x / math.sqrt(2)))),
    "FastGelu": (tl.FastGelu, lambda x: x / 2 * (
        1 + onp.tanh(0.7978845608 * (x + 0.044715 * x**3)))),
    "Sigmoid": (tl.Sigmoid, lambda x: 1 / (1 + onp.exp(-x))),
    "Tanh": (tl.Tanh, onp.tanh),
    "HardSigmoid": (tl.HardSigmoid, lambda x: onp.clip(x, 0, 1)),
    "HardTanh": (tl.HardTanh, lambda x: onp.clip(x, -1, 1)),
    "Softplus": (tl.Softplus, lambda x: onp.log1p(onp.exp(x))),
    "Exp": (tl.Exp, onp.exp),
    "Log": (tl.Log, onp.log),
    "Swish": (tl.Swish, lambda x: x / (1 + onp.exp(-x))),
    "Glu": (tl.Glu, glu),
}  # fmt: skip


def inputs(name):
    if name == "Glu":
        return LINE[:36].reshape(3, 12)
    return abs(LINE) + 0.01 if name == "Log" else LINE


def test_the_table_is_whole():
    module = tl.activation_fns
    assert {*FORMULAS, "ThresholdedLinearUnit"} == set(module.__all__)


@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize("name", FORMULAS)
def test_values_are_those_of_the_formula(name, backend):
    make, formula = FORMULAS[name]
    x = inputs(name)
    with fastmath.use_backend(backend):
        y = make()(jnp.asarray(x))
    assert str(y.dtype) == "float32"
    onp.testing.assert_allclose(y, formula(x.astype("float64")), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", FORMULAS)
def test_bfloat16_stays(name):
    make, formula = FORMULAS[name]
    x = jnp.asarray(inputs(name)[..., :12]).astype(jnp.bfloat16)
    y = make()(x)
    assert y.dtype == "bfloat16"
    exact = formula(onp.asarray(x).astype("float64"))
    onp.testing.assert_allclose(onp.asarray(y).astype("float64"), exact, rtol=2**-7, atol=2**-8)


@pytest.mark.parametrize("name", FORMULAS)
def test_structure(name):
    layer = FORMULAS[name][0]()
    weights, state = layer.init(shapes.signature(inputs(name)))
    assert weights == state == ((), (), ())
    assert (layer.n_in, layer.n_out, str(layer)) == (1, 1, f"Serial[\n  {name}\n]")


# layer, point, gradient there
KINKS = {
    "Relu": (tl.Relu, 0.0, 0.0),
    "ParametricRelu": (lambda: tl.ParametricRelu(3.0), 0.0, 1.5),
    "LeakyRelu": (lambda: tl.LeakyRelu(0.2), 0.0, 1.0),
    "Elu": (lambda: tl.Elu(1.5), 0.0, 1.5),
    "Selu": (tl.Selu, 0.0, 1.0507009873554805 * 1.6732632423543772),
    "HardSigmoid at 0": (tl.HardSigmoid, 0.0, 0.5),
    "HardSigmoid at 1": (tl.HardSigmoid, 1.0, 0.5),
    "HardTanh at -1": (tl.HardTanh, -1.0, 0.5),
    "HardTanh at 1": (tl.HardTanh, 1.0, 0.5),
    "Elu far out": (tl.Elu, 200.0, 1.0),
    "Selu far out": (tl.Selu, 200.0, 1.0507009873554805),
    "Softplus far out": (tl.Softplus, 200.0, 1.0),
    "Swish far out": (tl.Swish, -200.0, 0.0),
}


@pytest.mark.parametrize("case", KINKS)
def test_gradients_at_kinks_and_extremes(case):
    make, x, slope = KINKS[case]
    layer = make()
    found = fastmath.grad(lambda x: layer(x))(jnp.array(x))
    onp.testing.assert_allclose(found, slope, rtol=1e-6)


def test_relu_lets_nan_pass():
    assert onp.isnan(tl.Relu()(jnp.array([jnp.nan]))[0])


def test_the_logarithm_of_numbers_that_have_none():
    onp.testing.assert_array_equal(tl.Log()(jnp.array([0.0, -1.0])), [-onp.inf, onp.nan])


def test_softplus_does_not_overflow():
    onp.testing.assert_array_equal(tl.Softplus()(jnp.array([-1000.0, 1000.0])), [0, 1000])


def test_the_threshold_is_trained():
    layer = tl.ThresholdedLinearUnit()
    x = jnp.array([-2.0, 0.0, 3.0])
    weights, state = layer.init(shapes.signature(x))
    assert (weights.shape, str(weights.dtype), float(weights), state) == ((), "float32", 0.0, ())
    onp.testing.assert_array_equal(layer(x, weights=jnp.array(-1.0)), [-1, 0, 3])

    def total(x, t):
        return jnp.sum(layer.pure_fn(x, t, (), None)[0])

    of_x, of_t = fastmath.grad(total, (0, 1))(x, weights)
    onp.testing.assert_array_equal(of_x, [0, 0.5, 1])
    assert float(of_t) == 1.5


def test_glu_halves_the_last_axis_alone():
    x = onp.arange(24, dtype="float32").reshape(2, 2, 6) / 10
    assert tl.Glu()(x).shape == (2, 2, 3)
