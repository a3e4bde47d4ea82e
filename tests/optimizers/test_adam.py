"""Adam: the published formula in float64, values by hand, defaults, options."""

import numpy as onp
import pytest
from optimizer_steps import after_steps, after_steps_of_formula, assert_close

from weft import optimizers
from weft.fastmath import numpy as jnp, use_backend


def formula(lr, decay, b1, b2, eps):
    def update(t, g, w, slot):
        m, v = slot
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * g**2 + b2 * v
        m_hat, v_hat = m / (1 - b1 ** (t + 1)), v / (1 - b2 ** (t + 1))
        return (1 - decay) * w - lr * m_hat / (onp.sqrt(v_hat) + eps), (m, v)

    return update


def start(w):
    return onp.zeros_like(w), onp.zeros_like(w)


def as_float32(*numbers):
    return [float(onp.float32(x)) for x in numbers]


CASES = {
    "defaults": ({}, (1e-4, 1e-5, 0.9, 0.999, 1e-5)),
    "large": (
        {"learning_rate": 0.1, "weight_decay_rate": 0.01, "b1": 0.5, "b2": 0.9, "eps": 1e-3},
        (0.1, 0.01, 0.5, 0.9, 1e-3),
    ),
    "no means": (
        {"learning_rate": 0.1, "weight_decay_rate": 0.0, "b1": 0.0, "b2": 0.0, "eps": 1e-3},
        (0.1, 0.0, 0.0, 0.0, 1e-3),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_fifty_steps_follow_the_formula(case, compiled, first):
    options, numbers = CASES[case]
    tree, slots = after_steps(optimizers.Adam(**options), first, compiled)
    expected = after_steps_of_formula(formula(*numbers), start, first)
    # The optimizer has its numbers in float32, of which 1 - 0.999 has five digits.
    of_float32 = after_steps_of_formula(formula(*as_float32(*numbers)), start, first)
    assert_close((tree, slots), (expected[0], of_float32[1]))


def test_fifty_steps_on_numpy():
    with use_backend("numpy"):
        tree, slots = after_steps(optimizers.Adam())
    numbers = CASES["defaults"][1]
    expected = after_steps_of_formula(formula(*numbers), start)
    of_float32 = after_steps_of_formula(formula(*as_float32(*numbers)), start)
    assert_close((tree, slots), (expected[0], of_float32[1]))


@pytest.mark.parametrize(
    ("t", "step"),
    [
        (0, 1.0),  # m̂ = g and v̂ = g², so the step is lr in the gradient's direction
        (1, (0.1 / 0.19) / (0.001 / 0.001999) ** 0.5),  # 0.744: corrected as a second step
        (9, (0.1 / (1 - 0.9**10)) / (0.001 / (1 - 0.999**10)) ** 0.5),
    ],
)
def test_a_first_step_by_hand(t, step):
    optimizer = optimizers.Adam(learning_rate=0.5, weight_decay_rate=0.25, eps=0.0)
    w, g = jnp.array([8.0, 4.0]), jnp.array([3.0, -0.01])
    new, (m, v) = optimizer.update(t, g, w, optimizer.init(w), optimizer.opt_params)
    onp.testing.assert_allclose(new, [6 - 0.5 * step, 3 + 0.5 * step], rtol=1e-6)
    onp.testing.assert_allclose(m, [0.3, -0.001], rtol=1e-6)
    onp.testing.assert_allclose(v, [0.009, 1e-7], rtol=2e-5)
    from_zero, _ = optimizer.update(t, g, 0 * w, optimizer.init(w), optimizer.opt_params)
    onp.testing.assert_allclose(from_zero, [-0.5 * step, 0.5 * step], rtol=1e-6)


def test_eps_is_outside_of_the_root():
    optimizer = optimizers.Adam(learning_rate=1.0, weight_decay_rate=0.0, eps=3.0)
    w, g = jnp.zeros(1), jnp.ones(1)
    new, _ = optimizer.update(0, g, w, optimizer.init(w), optimizer.opt_params)
    assert float(new[0]) == pytest.approx(-1 / (1 + 3))


@pytest.mark.parametrize("option", ["b1", "b2"])
@pytest.mark.parametrize("value", [-0.1, 1.0, 1.5, "a", True, float("nan")])
def test_a_rate_out_of_its_range_is_refused(option, value):
    with pytest.raises((ValueError, TypeError), match=f"Adam: {option} must be"):
        optimizers.Adam(**{option: value})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("learning_rate", -1.0),
        ("weight_decay_rate", -0.1),
        ("weight_decay_rate", 1.1),
        ("eps", -1e-9),
        ("learning_rate", None),
        ("clip_grad_norm", 0.0),
    ],
)
def test_a_number_out_of_its_range_is_refused(option, value):
    with pytest.raises((ValueError, TypeError), match=f"Adam: {option} must be"):
        optimizers.Adam(**{option: value})


def test_the_order_of_options():
    optimizer = optimizers.Adam(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    names = ("learning_rate", "weight_decay_rate", "b1", "b2", "eps")
    assert [float(optimizer.opt_params[n]) for n in names] == pytest.approx(
        [0.1, 0.2, 0.3, 0.4, 0.5]
    )
