"""RMSProp: the formula in float64, values by hand, defaults, options."""

import numpy as onp
import pytest
from optimizer_steps import after_steps, after_steps_of_formula, assert_close

from weft import optimizers
from weft.fastmath import numpy as jnp, use_backend


def formula(lr, gamma, eps):
    def update(t, g, w, a):
        a = gamma * a + (1 - gamma) * g**2
        return w - lr * g / (onp.sqrt(a) + eps), a

    return update


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ({}, (0.001, 0.9, 1e-8)),
        ({"learning_rate": 0.05, "gamma": 0.5, "eps": 0.1}, (0.05, 0.5, 0.1)),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_fifty_steps_follow_the_formula(options, numbers, compiled):
    got = after_steps(optimizers.RMSProp(**options), compiled=compiled)
    assert_close(got, after_steps_of_formula(formula(*numbers), onp.ones_like))


def test_fifty_steps_on_numpy():
    with use_backend("numpy"):
        got = after_steps(optimizers.RMSProp())
    assert_close(got, after_steps_of_formula(formula(0.001, 0.9, 1e-8), onp.ones_like))


def test_two_steps_by_hand():
    optimizer = optimizers.RMSProp(learning_rate=1.0, gamma=0.75, eps=0.5)
    w, g = jnp.zeros(1), jnp.array([5.0])
    slot = optimizer.init(w)
    assert float(slot[0]) == 1.0
    w, slot = optimizer.update(0, g, w, slot, optimizer.opt_params)
    assert float(slot[0]) == 0.75 + 0.25 * 25  # 7
    assert float(w[0]) == pytest.approx(-5 / (7**0.5 + 0.5))
    before = float(w[0])
    w, slot = optimizer.update(1, g, w, slot, optimizer.opt_params)
    assert float(slot[0]) == 0.75 * 7 + 0.25 * 25  # 11.5
    assert float(w[0]) == pytest.approx(before - 5 / (11.5**0.5 + 0.5))


@pytest.mark.parametrize(
    ("option", "value"),
    [("gamma", -0.1), ("gamma", 1.1), ("eps", -1.0), ("learning_rate", "0.1")],
)
def test_an_option_out_of_its_range_is_refused(option, value):
    with pytest.raises((ValueError, TypeError), match=f"RMSProp: {option} must be"):
        optimizers.RMSProp(**{option: value})
