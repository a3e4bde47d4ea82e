"""Minmax: the pairs of 2018, which are the optimizers of `optimizers` without `get_params`."""

import numpy as onp
import pytest

import weft.numpy as np
from weft import grad, jit
from weft.errors import ShapeError
from weft.experimental import minmax, optimizers

PARAMS = [{"w": onp.float32([[1, 2], [3, 4]])}, (onp.float32(0.5), onp.float32([5, 6, 7]))]
CASES = {
    "sgd": {},
    "momentum": {"mass": 0.8},
    "rmsprop": {"gamma": 0.7, "eps": 1e-3},
    "adam": {"b1": 0.6, "b2": 0.9, "eps": 1e-3},
}


def loss(params):
    layer, (a, b) = params
    return np.sum(np.sin(layer["w"])) * a + np.sum(b**2)


@pytest.mark.parametrize("name", CASES)
def test_the_same_rules_as_those_of_optimizers(name):
    schedule = minmax.exponential_decay(0.1, 2, 0.5)
    opt_init, opt_update = getattr(minmax, name)(schedule, **CASES[name])
    init, update, get_params = getattr(optimizers, name)(schedule, **CASES[name])

    @jit
    def step(i, opt_state):
        return opt_update(i, grad(loss)(minmax.get_params(opt_state)), opt_state)

    state, other = opt_init(PARAMS), init(PARAMS)
    for i in range(3):
        state = step(i, state)
        other = update(i, grad(loss)(get_params(other)), other)
    (layer, (a, b)), expected = minmax.iterate(state), get_params(other)
    onp.testing.assert_allclose(layer["w"], expected[0]["w"], rtol=1e-6)
    onp.testing.assert_allclose([a, *b], [expected[1][0], *expected[1][1]], rtol=1e-6)
    assert loss(minmax.get_params(state)) < loss(PARAMS)


def test_names():
    assert minmax.get_params is minmax.iterate
    for name in ("constant", "exponential_decay", "inverse_time_decay", "make_schedule"):
        assert getattr(minmax, name) is getattr(optimizers, name)
    assert minmax.piecewise_constant is optimizers.piecewise_constant


def test_an_optimizer_of_ones_own():
    @minmax.optimizer
    def counted(rate):
        return lambda x: (x, 0), lambda i, g, x, n: (x - rate * g, n + 1)

    init, update = counted(0.5)
    state = jit(update)(0, {"a": 4.0}, init({"a": 3.0}))
    assert minmax.get_params(state) == {"a": 1.0}
    assert [float(x) for x in state.packed_state[0]] == [1.0, 1.0]


def test_wrong_uses():
    init, update = minmax.sgd(0.5)
    with pytest.raises(TypeError, match="get_params: expected the state of an optimizer"):
        minmax.get_params(PARAMS)
    with pytest.raises(ShapeError, match="sgd: the gradient must be a tree like the parameters"):
        update(0, PARAMS[0], init(PARAMS))
    with pytest.raises(ValueError, match="the step size must be finite and at least 0; got -1"):
        minmax.momentum(-1, 0.9)
    plain = minmax.optimizer(lambda: (lambda x: x, lambda i, g, x: x - g))
    with pytest.raises(TypeError, match="a tuple that begins with the parameter; got a"):
        minmax.get_params(plain()[0]([np.ones(3)]))
