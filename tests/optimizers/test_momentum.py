"""Momentum: the formula in float64, values by hand, defaults, options."""

import numpy as onp
import pytest
from optimizer_steps import after_steps, after_steps_of_formula, assert_close

from weft import optimizers
from weft.fastmath import numpy as jnp, use_backend


def formula(lr, mass, decay, nesterov):
    def update(t, g, w, v):
        v = mass * v + g
        u = mass * v + g if nesterov else v
        return (1 - decay) * w - lr * u, v

    return update


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ({}, (0.01, 0.9, 1e-5, True)),
        ({"nesterov": False}, (0.01, 0.9, 1e-5, False)),
        (
            {"learning_rate": 0.002, "mass": 0.99, "weight_decay_rate": 0.0},
            (0.002, 0.99, 0.0, True),
        ),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_fifty_steps_follow_the_formula(options, numbers, compiled):
    got = after_steps(optimizers.Momentum(**options), compiled=compiled)
    assert_close(got, after_steps_of_formula(formula(*numbers), onp.zeros_like))


def test_fifty_steps_on_numpy():
    with use_backend("numpy"):
        got = after_steps(optimizers.Momentum())
    assert_close(got, after_steps_of_formula(formula(0.01, 0.9, 1e-5, True), onp.zeros_like))


@pytest.mark.parametrize(
    ("nesterov", "first", "second"),
    [
        (False, 0.5 * 8 - 0.1 * 2.0, 0.5 * 3.8 - 0.1 * 3.0),
        (True, 0.5 * 8 - 0.1 * 3.0, 0.5 * 3.7 - 0.1 * 3.5),
    ],
)
def test_two_steps_by_hand(nesterov, first, second):
    optimizer = optimizers.Momentum(0.1, 0.5, 0.5, nesterov)
    w, g = jnp.array([8.0]), jnp.array([2.0])
    w1, v1 = optimizer.update(0, g, w, optimizer.init(w), optimizer.opt_params)
    w2, v2 = optimizer.update(1, g, w1, v1, optimizer.opt_params)
    assert (float(v1[0]), float(v2[0])) == (2.0, 3.0)
    assert (float(w1[0]), float(w2[0])) == pytest.approx((first, second))


def test_another_learning_rate_acts_at_once():
    optimizer = optimizers.Momentum(weight_decay_rate=0.0)
    w, g = jnp.ones(1), jnp.ones(1)
    velocity = jnp.array([5.0])
    still = {**optimizer.opt_params, "learning_rate": jnp.array(0.0)}
    assert float(optimizer.update(1, g, w, velocity, still)[0][0]) == 1.0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("mass", -0.1),
        ("mass", 1.1),
        ("weight_decay_rate", -1e-5),
        ("nesterov", 1),
        ("learning_rate", float("nan")),
        ("clip_grad_norm", -1.0),
    ],
)
def test_an_option_out_of_its_range_is_refused(option, value):
    with pytest.raises((ValueError, TypeError), match=f"Momentum: {option} must be"):
        optimizers.Momentum(**{option: value})
