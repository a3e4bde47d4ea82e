"""weft.typing: the class of arrays and tracers, and the unions that libraries take apart."""

import typing

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.core.array import Array as Concrete, Tracer

TRANSFORMED = {
    "jit": weft.jit,
    "grad": weft.grad,
    "vmap": lambda f: lambda x: weft.vmap(f)(np.ones(2) * x),
    "jvp": lambda f: lambda x: weft.jvp(f, (x,), (x,)),
    "linearize": lambda f: lambda x: weft.linearize(f, x),
    "checkpoint": lambda f: weft.grad(weft.checkpoint(f)),
    "scan": lambda f: lambda x: weft.lax.scan(lambda c, _: (f(c), None), x, None, 2),
    "pmap": lambda f: lambda x: weft.pmap(f)(np.ones(1) * x),
    "eval_shape": lambda f: lambda x: weft.eval_shape(f, x),
    "nothing": lambda f: f,
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_arrays_and_tracers_are_arrays(name):
    seen = []

    def f(x):
        seen.append((isinstance(x, weft.Array), isinstance(x, np.ndarray)))
        return x * 2

    TRANSFORMED[name](f)(np.ones(()))
    assert seen
    assert set(seen) == {(True, True)}


def test_nothing_else_is_an_array():
    for x in (1.0, onp.ones(2), onp.float32(1), [1], None, weft.ShapeDtypeStruct((2,), "f4")):
        assert not isinstance(x, weft.Array)


def test_one_class_with_three_names():
    assert weft.Array is np.ndarray is weft.typing.Array
    assert issubclass(Concrete, weft.Array)
    assert issubclass(Tracer, weft.Array)
    assert type(weft.pmap(lambda x: x)(np.ones((1, 2)))) is type(np.ones(1))
    assert repr(weft.Array) == "<class 'weft.typing.Array'>"


def test_unions_have_classes():
    parts = typing.get_args(weft.typing.ArrayLike)
    assert all(isinstance(part, type) for part in parts)
    assert {weft.Array, onp.ndarray, bool, int, float, complex} <= set(parts)
    assert isinstance(np.ones(1), weft.typing.ArrayLike)
    assert not isinstance("text", weft.typing.ArrayLike)


TAKEN = {
    "array": np.array,
    "asarray": np.asarray,
    "nested": lambda m: np.array([m, m]),
    "function": np.sin,
    "operator": lambda m: np.ones(2) + m,
    "operator of NumPy's": lambda m: m + np.ones(2),
    "comparison": lambda m: np.ones(2) == m,
    "jit": weft.jit(lambda x: x),
    "closure": lambda m: weft.jit(lambda x: x + m)(np.ones(2)),
    "grad": weft.grad(np.sum),
    "vmap": weft.vmap(lambda x: x),
    "scan": lambda m: weft.lax.scan(lambda c, x: (c, x), 0.0, m),
    "device_put": weft.device_put,
    "update": lambda m: np.ones(2).at[:].set(m),
}


@pytest.mark.parametrize("take", TAKEN.values(), ids=TAKEN)
def test_masked_arrays_are_refused_since_their_masks_would_be_lost(take):
    with pytest.raises(TypeError, match=r"(?i)masked.?array"):
        take(onp.ma.array([1.0, 2.0], mask=[False, True]))
    assert take(onp.ma.array([1.0, 2.0]).filled(0.0)) is not None
