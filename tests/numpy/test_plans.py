"""Calls for which a plan is kept refuse what they refused before they had one."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.interpreters import eager_tiers
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


def test_every_call_of_a_signature_runs_the_same_algorithm(monkeypatch):
    """One function, one argument, three calls: NumPy's own function is taken at the first one."""
    monkeypatch.setattr(eager_tiers.machine, "accelerated", False)
    twice = plans.composite(lambda x: x + x, evaluate=lambda aval: lambda host: host * 0 + 7)
    x = np.ones(3)
    assert [twice(x)[0].item() for _ in range(3)] == [7, 7, 7]
    for tier, expected in (("xla", 2), ("host", 7)):
        with weft.config.temporarily(eager_tier=tier):
            assert [twice(x)[0].item() for _ in range(3)] == [expected] * 3


def test_an_argument_that_is_returned_stays_itself():
    same = plans.composite(lambda x, y: x)
    both = plans.composite(lambda x, y: (y, x + y, x))
    x, y = np.ones(3), np.zeros(3)
    for _ in range(2):
        assert same(x, y) is x
        first, total, last = both(x, y)
        assert first is y
        assert last is x
        onp.testing.assert_array_equal(total, [1, 1, 1])


def test_options_are_told_apart_by_their_classes():
    @plans.composite
    def shown(x, *, option):
        return x + (10 if isinstance(option, float) else 20 if isinstance(option, bool) else 30)

    x = np.zeros(())
    found = [float(shown(x, option=option)) for option in (1, 1.0, True, 1)]
    assert found == [30, 10, 20, 30]


def test_a_pair_of_results_by_numpy_where_xla_would_do_its_steps():
    x, y = onp.arange(2_000_000, dtype="float32"), onp.float32(7)
    found = np.divmod(np.asarray(x), np.asarray(y))
    for part, expected in zip(found, onp.divmod(x, y), strict=True):
        onp.testing.assert_array_equal(part, expected)


def test_lengths_may_be_arrays_of_one_number():
    x = np.arange(6)
    for _ in range(2):
        for shape in ((-1, np.array(3)), [2, 3], np.array([2, 3])):
            assert np.reshape(x, shape).shape == (2, 3)
        assert x.reshape(-1, np.array(3)).shape == (2, 3)
        assert np.transpose(x.reshape(2, 3), [1, 0]).shape == (3, 2)
