"""Calls for which a plan is kept refuse what they refused before they had one."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.core.aval import aval
from weft.interpreters import eager_tiers
from weft.interpreters.stage import stage
from weft.numpy import plans

X = np.ones((2, 3))

CALLS = {  # a function of an argument; one that it takes, and an equal one that it refuses
    "sum": (lambda axis: np.sum(X, axis), 1, 1.0),
    "max of axes": (lambda axis: np.max(X, axis), (0, 1), (0, 1.0)),
    "mean": (lambda axis: np.mean(X, axis), 0, 0.0),
    "argmax": (lambda axis: np.argmax(X, axis), 1, 1.0),
    "reshape": (lambda shape: np.reshape(X, shape), (3, 2), (3.0, 2)),
    "reshape to one axis": (lambda shape: np.reshape(X, shape), 6, 6.0),
    "transpose": (lambda order: np.transpose(X, order), (1, 0), (1.0, 0)),
    "squeeze": (lambda axis: np.squeeze(X[None], axis), 0, 0.0),
    "expand_dims": (lambda axis: np.expand_dims(X, axis), 1, 1.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_number_that_is_equal_to_an_integer_is_none(name):
    f, good, bad = CALLS[name]
    expected = onp.asarray(f(good))
    for _ in range(3):
        onp.testing.assert_array_equal(f(good), expected)
        with pytest.raises(TypeError):
            f(bad)


@pytest.mark.parametrize(
    ("name", "axis"), [("var", None), ("std", 0), ("mean", (0, 1)), ("max", -1)]
)
def test_where_xla_has_to_work_a_plan_is_a_program(name, axis):
    x = onp.linspace(-1, 2, 12, dtype="float32").reshape(3, 4)
    f, expected = getattr(np, name), getattr(onp, name)(x, axis)
    with weft.config.temporarily(eager_tier="xla"):
        for _ in range(4):
            found = f(np.asarray(x), axis)
            assert found.dtype == onp.float32
            onp.testing.assert_allclose(found, expected, rtol=1e-6)
        with weft.disable_jit():
            onp.testing.assert_allclose(f(np.asarray(x), axis), expected, rtol=1e-6)


def test_a_kernel_that_stands_for_all_computes_where_numpy_may(monkeypatch):
    monkeypatch.setattr(eager_tiers.machine, "accelerated", False)
    twice = plans.composite(lambda x: x + x, instead=lambda aval: lambda host: host * 0 + 7)
    x = np.ones(3)
    assert [twice(x)[0].item() for _ in range(3)] == [2, 7, 7]
    for tier, expected in (("xla", 2), ("host", 7)):
        with weft.config.temporarily(eager_tier=tier):
            assert [twice(x)[0].item() for _ in range(3)][1:] == [expected] * 2


PROGRAMS = {  # a function of a large matrix: is it better done by XLA as a whole?
    "a sum": (lambda x: np.sum(x, 0), False),
    "elementwise": (lambda x: np.exp(-x * x), False),
    "a sum of squares": (lambda x: np.sum(x * x, 1), True),
    "softmax": (lambda x: np.exp(x) / np.sum(np.exp(x), 1, keepdims=True), True),
    "order": (lambda x: np.sort(-x, 1)[:, 3], False),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_better_done_as_one_program(name):
    function, expected = PROGRAMS[name]
    for n, better in ((1000, expected), (100, False)):
        jaxpr = stage(lambda x: [function(x)], [aval((n, 1000), onp.dtype("float32"))], name="f")
        assert plans.is_better_fused(jaxpr) is better
        for tier in ("host", "xla"):
            with weft.config.temporarily(eager_tier=tier):
                assert not plans.is_better_fused(jaxpr)
